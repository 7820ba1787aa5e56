// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// checkBinaries reports immediately what else would be found out process by process.
func (o Options) checkBinaries() error {
	names := []string{etcdName, kubeAPIServerName, controllerManagerName}
	if o.APIServers > 0 {
		names = append(names, apiserverName)
	}
	if o.Managers > 0 {
		names = append(names, managerName)
	}
	if o.MidoNet {
		names = append(names, midonetName)
	}
	if o.OVN {
		names = append(names, ovnName)
	}
	build := "make build kubernetes"
	if o.Node {
		names, build = append(names, nodeProcessName, schedulerName, "kubelet", "kube-proxy"), build+" node"
	}
	var missing []string
	for _, name := range names {
		if _, err := os.Stat(filepath.Join(o.BinDir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s has no %s: \"%s\" builds them", o.BinDir, strings.Join(missing, ", "), build)
	}
	return nil
}
