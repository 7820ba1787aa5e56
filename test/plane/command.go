// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
)

// command is one process of a plane: what it runs, and how it reports that it is ready.
type command struct {
	name   string
	binary string
	args   []string
	// env are variables that it gets besides those of this process, as name=value.
	env []string
	// inputs are the files it reads at its start: certificates, kubeconfigs, its configuration.
	inputs []string
	// address is where it serves, as host:port.
	address string
	// health is the URL that responds 200 when it does its work.
	health string
}

// fingerprint changes whenever the process, started now, would be another one than before.
func (c command) fingerprint(args []string) (string, error) {
	sum := sha256.New()
	fmt.Fprintf(sum, "%q %q\n", args, c.env)
	for _, path := range append([]string{c.binary}, c.inputs...) {
		if err := copyFile(sum, path); err != nil {
			return "", fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func copyFile(to io.Writer, path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	size, err := io.Copy(to, file)
	fmt.Fprintf(to, "\n%d\n", size)
	return err
}
