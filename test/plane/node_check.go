// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// cniPlugins is the directory in which Debian has the plugins of the container network.
const cniPlugins = "/usr/lib/cni"

// nodePackages are Debian's packages that a node needs, with a program of each.
var nodePackages = map[string]string{
	"containerd":                  "containerd",
	"runc":                        "runc",
	"containernetworking-plugins": filepath.Join(cniPlugins, "bridge"),
	"iptables":                    "iptables",
	"iproute2":                    "ip",
}

// hiddenDirectories are those that are private to the node.
var hiddenDirectories = []string{"/run", "/var/run", "/var/lib", "/var/log"}

// nodeImpossible returns why a user of a machine with these programs cannot run a node, nil when it is possible.
func nodeImpossible(uid int, has func(program string) bool) error {
	if uid != 0 {
		return errors.New("a node needs root: it makes namespaces, mounts and network links")
	}
	var missing []string
	for name, program := range nodePackages {
		if !has(program) {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return fmt.Errorf("a node needs Debian packages that are missing: apt-get install --no-install-recommends %s", strings.Join(missing, " "))
	}
	return nil
}

// checkNode reports immediately what the node would find out later.
func (o Options) checkNode() error {
	installed := func(program string) bool {
		_, err := exec.LookPath(program)
		return err == nil
	}
	return errors.Join(nodeImpossible(os.Geteuid(), installed), o.checkNodeFiles())
}

func (o Options) checkNodeFiles() error {
	if len(o.Images) == 0 {
		return errors.New("a node needs at least the pause image (Options.Images): \"make images\" builds it")
	}
	for _, path := range append([]string{o.Dir, o.BinDir}, o.Images...) {
		for _, hidden := range hiddenDirectories {
			if strings.HasPrefix(path, hidden+"/") {
				return fmt.Errorf("%s lies below %s, which a dedicated node has: use another directory", path, hidden)
			}
		}
	}
	for _, image := range o.Images {
		if strings.ContainsAny(image, ", ") {
			return fmt.Errorf("%q: the name of an archive may have no comma and no space", image)
		}
		if _, err := os.Stat(image); err != nil {
			return fmt.Errorf("%w: \"make images\" builds the images", err)
		}
	}
	return nil
}
