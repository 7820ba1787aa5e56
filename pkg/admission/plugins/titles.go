// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"fmt"
	"slices"
	"strings"
)

// maxTitles is how many objects a warning names.
const maxTitles = 3

// Titles names some objects of many, in their order, and counts the others; "" for none.
func Titles(all []string) string {
	slices.Sort(all)
	if len(all) <= maxTitles {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:maxTitles], ", "), len(all)-maxTitles)
}
