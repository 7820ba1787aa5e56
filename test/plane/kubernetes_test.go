// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestKubeControllers checks that a plane runs the requested controllers in addition to its own.
func TestKubeControllers(t *testing.T) {
	dir := t.TempDir()
	c, err := loadCredentials(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := &Plane{dir: dir, ports: map[string]int{}, credentials: c, options: Options{KubeControllers: []string{"statefulset-controller"}}}
	if err := os.Mkdir(filepath.Join(dir, "kubeconfigs"), 0o700); err != nil {
		t.Fatal(err)
	}
	built, err := p.controllerManagerCommand()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(built.args, func(arg string) bool { return strings.HasPrefix(arg, "--controllers=") })
	names := strings.Split(strings.TrimPrefix(built.args[i], "--controllers="), ",")
	if !slices.Contains(names, "statefulset-controller") || !slices.Contains(names, "namespace-controller") || len(names) != len(controllers)+1 {
		t.Errorf("it runs %v", names)
	}
}

// TestEnvironment checks which processes have the variables that the options request.
func TestEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		options                   Options
		kubernetes, groundskeeper []string
	}{
		"default": {Options{}, nil, nil},
		"all":     {Options{GOGC: 400}, []string{"GOGC=400"}, []string{"GOGC=400"}},
		"shipped": {Options{GOGC: 400, ShippedGOGC: true}, []string{"GOGC=400"}, nil},
		"FIPS":    {Options{FIPS: true}, nil, []string{"GODEBUG=fips140=only"}},
	} {
		p := &Plane{options: test.options}
		if got := p.kubernetesEnv(); !slices.Equal(got, test.kubernetes) {
			t.Errorf("%s: Kubernetes' processes have %q", name, got)
		}
		if got := p.groundskeeperEnv(); !slices.Equal(got, test.groundskeeper) {
			t.Errorf("%s: Groundskeeper's processes have %q", name, got)
		}
	}
}

// TestCheckSettings checks that invalid settings of Groundskeeper's programs are found before a running program is stopped.
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

// TestCheckLocalhost checks that a start fails early where localhost is not 127.0.0.1: kube-apiserver reaches Groundskeeper by this name, for which it would otherwise wait until its start times out.
func TestCheckLocalhost(t *testing.T) {
	for name, test := range map[string]struct {
		addresses []string
		err       error
		want      string
	}{
		"both families": {[]string{"::1", "127.0.0.1"}, nil, ""},
		"only IPv6":     {[]string{"::1"}, nil, "localhost is not 127.0.0.1 on this machine (::1): add the line"},
		"no hosts file": {nil, errors.New("lookup localhost: no such host"), "(lookup localhost: no such host): add the line \"127.0.0.1 localhost\" to /etc/hosts"},
	} {
		err := checkLocalhost(test.addresses, test.err)
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error = %v, want %q", name, err, test.want)
		}
	}
}

// TestForeignDirectoriesAreRejected checks that a directory that no plane created is neither used nor deleted.
func TestForeignDirectoriesAreRejected(t *testing.T) {
	tests := map[string]struct {
		files map[string]string // nil: the directory does not exist
		owned bool
	}{
		"absent":                        {owned: true},
		"empty":                         {files: map[string]string{}, owned: true},
		"of a plane":                    {files: map[string]string{"state.json": `{"ports": {"etcd": 1}, "processes": null}`, "data": ""}, owned: true},
		"of a plane that never started": {files: map[string]string{"state.json": `{"ports": {}, "processes": null}`}, owned: true},
		"with files of another program": {files: map[string]string{"thesis.txt": "chapter 1"}},
		"with another program's state":  {files: map[string]string{"state.json": `{"version": 4, "serial": 12}`, "thesis.txt": "chapter 1"}},
		"with a state that is no JSON":  {files: map[string]string{"state.json": "chapter 1"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "dir")
			if test.files != nil {
				if err := os.Mkdir(dir, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for file, content := range test.files {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			p := &Plane{dir: dir}
			started := p.prepare()
			removed := Remove(t.Context(), dir, func(string) {})
			for action, err := range map[string]error{"prepare": started, "Remove": removed} {
				if test.owned && err != nil {
					t.Errorf("%s: %v", action, err)
				}
				if !test.owned && (err == nil || !strings.Contains(err.Error(), dir)) {
					t.Errorf("%s: error = %v, want one that names %s", action, err, dir)
				}
			}
			for file, content := range test.files {
				if got, err := os.ReadFile(filepath.Join(dir, file)); !test.owned && (err != nil || string(got) != content) {
					t.Errorf("%s = %q (%v), want %q", file, got, err, content)
				}
			}
			if _, err := os.Stat(dir); test.owned && !os.IsNotExist(err) {
				t.Errorf("%s exists after Remove: %v", dir, err)
			}
		})
	}
}
