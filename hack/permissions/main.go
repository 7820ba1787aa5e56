// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command permissions writes docs/permissions.md: the permissions that the roles in artifacts/ grant, with their reasons. Run it at
// the root of the repository.
package main

import (
	"fmt"
	"os"

	"groundskeeper.io/groundskeeper/test/permissions"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	all, err := permissions.Load("artifacts")
	if err != nil {
		return err
	}
	return os.WriteFile("docs/permissions.md", []byte(permissions.Page(all)), 0o644)
}
