// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// leftovers returns what two planes in the directory left behind on the machine when they were stopped.
func leftovers(dir string) error {
	var found []error
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	if bytes.Contains(mounts, []byte(dir)) {
		found = append(found, errors.New("mounts in "+dir))
	}
	links, err := net.Interfaces()
	if err != nil {
		return err
	}
	for _, link := range links {
		addresses, err := link.Addrs()
		if err != nil {
			return err
		}
		for _, address := range addresses {
			if strings.HasPrefix(address.String(), here.Address()+"/") {
				found = append(found, fmt.Errorf("link %s with %s", link.Name, address))
			}
		}
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return err
	}
	for _, process := range processes {
		// One that ends meanwhile is not left behind.
		if line, err := os.ReadFile(process); err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, fmt.Errorf("process %s", bytes.ReplaceAll(line, []byte{0}, []byte(" "))))
		}
	}
	if err := errors.Join(found...); err != nil {
		return fmt.Errorf("left behind: %w", err)
	}
	return nil
}
