// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bufio"
	"errors"
	"strings"
)

// errDeclined ends a command that was not confirmed.
var errDeclined = errors.New("nothing was changed")

// confirm prompts for confirmation, unless the user has already confirmed.
func (c *command) confirm(question string, given bool) error {
	if given {
		return nil
	}
	c.out.print("%s [y/N] ", question)
	response, err := bufio.NewReader(c.in).ReadString('\n')
	if response = strings.ToLower(strings.TrimSpace(response)); response == "y" || response == "yes" {
		return nil
	}
	if err != nil {
		c.out.print("\n")
	}
	return errDeclined
}
