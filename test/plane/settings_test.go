// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What Groundskeeper's programs reject is found before anything that runs is stopped.
func TestCheckSettings(t *testing.T) {
	dir := t.TempDir()
	// Programs that reject the flag --wrong, and report so as Groundskeeper's do.
	const program = "#!/bin/sh\nfor flag; do [ \"$flag\" != --wrong ] || { echo 'error: unknown flag: --wrong' >&2; exit 1; }; done\n"
	for _, name := range []string{apiserverName, managerName} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(program), 0o700); err != nil { //nolint:gosec // it is run
			t.Fatal(err)
		}
	}
	config := filepath.Join(dir, "config.yaml")
	if err := os.WriteFile(config, []byte("apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers: {translation: {midonet: {url: http://x}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"fine":                     {Options{APIServers: 1, Managers: 1, APIServerFlags: []string{"--v=2"}}, ""},
		"flag of the manager":      {Options{APIServers: 1, Managers: 1, ManagerFlags: []string{"--wrong"}}, "the settings are rejected, and nothing was changed: unknown flag: --wrong"},
		"flag of the API server":   {Options{APIServers: 1, APIServerFlags: []string{"--wrong"}}, "unknown flag: --wrong"},
		"configuration with a URL": {Options{APIServers: 1, Managers: 1, MidoNet: true, ManagerConfig: config}, "controllers.translation.midonet.url is set"},
	} {
		test.options.BinDir = dir
		err := (&Plane{options: test.options, dir: dir, ports: map[string]int{}}).checkSettings(t.Context())
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
	}
}
