// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"slices"
	"strings"
)

// checkSettings checks whether this machine can run a plane, and with Groundskeeper's programs whether they accept the configuration
// and the flags, before anything that runs is stopped.
func (p *Plane) checkSettings(ctx context.Context) error {
	if p.options.APIServers > 0 && !p.options.Spread {
		if addresses, err := net.DefaultResolver.LookupHost(ctx, "localhost"); ctx.Err() == nil {
			if err := checkLocalhost(addresses, err); err != nil {
				return err
			}
		}
	}
	if p.options.Managers > 0 {
		config, err := p.managerConfig()
		if err != nil {
			return fmt.Errorf("configuration of %s: %w", managerName, err)
		}
		args := append([]string{"--print-config"}, p.options.ManagerFlags...)
		if config != "" {
			args = append(args, "--config="+config)
		}
		if err := accepts(ctx, p.binary(managerName), args); err != nil {
			return err
		}
	}
	if p.options.APIServers > 0 && len(p.options.APIServerFlags) > 0 {
		// It reads the flags in their order, so that an unknown one or a wrong value counts more than the request for help.
		return accepts(ctx, p.binary(apiserverName), append(append([]string{}, p.options.APIServerFlags...), "--help"))
	}
	return nil
}

// checkLocalhost checks the addresses of the name under which kube-apiserver reaches Groundskeeper's API server. A machine without
// /etc/hosts queries its DNS server for them, which may not know the name.
func checkLocalhost(addresses []string, err error) error {
	if slices.Contains(addresses, "127.0.0.1") {
		return nil
	}
	found := strings.Join(addresses, ", ")
	if err != nil {
		found = err.Error()
	}
	return fmt.Errorf("localhost is not 127.0.0.1 on this machine (%s): add the line \"127.0.0.1 localhost\" to /etc/hosts", found)
}

// accepts runs a program that only checks its arguments, and returns what it reports.
func accepts(ctx context.Context, binary string, args []string) error {
	out, err := exec.CommandContext(ctx, binary, args...).CombinedOutput()
	if err == nil || ctx.Err() != nil {
		return ctx.Err()
	}
	reported := strings.TrimPrefix(strings.TrimSpace(string(out)), "error: ")
	if reported == "" {
		reported = err.Error()
	}
	return fmt.Errorf("the settings are rejected, and nothing was changed: %s", reported)
}
