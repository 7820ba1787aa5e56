// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command metrics writes docs/metrics.md: all metrics of Groundskeeper's binaries, as the code registers them. Call it in the
// root of the repository.
package main

import (
	"fmt"
	"os"
)

// page is where the page is, from the root of the repository.
const page = "docs/metrics.md"

func main() {
	content, err := render(sources())
	if err == nil {
		err = os.WriteFile(page, []byte(content), 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
