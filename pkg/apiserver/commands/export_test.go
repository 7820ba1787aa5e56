// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package commands

import "testing"

// TestExportToDirectory checks that both names of the flag select the directory: CronJobs of users have the one of earlier versions.
func TestExportToDirectory(t *testing.T) {
	for _, flag := range []string{"--directory=/backups", "--folder=/backups"} {
		t.Run(flag, func(t *testing.T) {
			command := Export(t.Context())
			command.SetErr(t.Output())
			if err := command.ParseFlags([]string{flag}); err != nil {
				t.Fatal(err)
			}
			if got := command.Flag("directory").Value.String(); got != "/backups" {
				t.Errorf("the directory is %q, want /backups", got)
			}
		})
	}
}
