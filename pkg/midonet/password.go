// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"fmt"
	"os"
	"strings"
)

// PasswordFile returns a function for Options.Password that reads the password from a file, without the line break at
// its end. It reads at each login, so that a new password counts as soon as the old token does not.
func PasswordFile(path string) func() (string, error) {
	return func() (string, error) {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("password file: %w", err)
		}
		password := strings.TrimRight(string(content), "\r\n")
		if password == "" {
			return "", fmt.Errorf("password file %s: it is empty", path)
		}
		return password, nil
	}
}
