// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// binaries makes a directory with empty files of these names.
func binaries(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestOptions(t *testing.T) {
	t.Setenv(ovnserver.RootVariable, installedOVN(t))
	kubernetes := binaries(t, "etcd", "kube-apiserver", "kube-controller-manager")
	all := binaries(t, "etcd", "kube-apiserver", "kube-controller-manager", "groundskeeper-apiserver", "groundskeeper-controller-manager")
	for name, test := range map[string]struct {
		options Options
		fails   string
	}{
		"no directory":              {Options{BinDir: all}, "Options.Dir"},
		"webhooks without manager":  {Options{Dir: "d", BinDir: all, APIServers: 1, Webhooks: true}, "Options.Managers"},
		"webhook with a node":       {Options{Dir: "d", BinDir: all, APIServers: 1, Node: true, ProjectWebhook: true}, "Options.ProjectWebhook"},
		"webhook without server":    {Options{Dir: "d", BinDir: all, ProjectWebhook: true}, "Options.ProjectWebhook"},
		"servers without one store": {Options{Dir: "d", BinDir: all, APIServers: 2}, "Options.SharedEtcd"},
		"a manager without server":  {Options{Dir: "d", BinDir: all, Managers: 1}, "Options.APIServers"},
		"no binaries":               {Options{Dir: "d", BinDir: t.TempDir()}, "no etcd, kube-apiserver, kube-controller-manager:"},
		"no server binary":          {Options{Dir: "d", BinDir: kubernetes, APIServers: 1}, "no groundskeeper-apiserver:"},
		"no manager binary":         {Options{Dir: "d", BinDir: kubernetes, APIServers: 1, Managers: 1}, "groundskeeper-controller-manager"},
		"a node elsewhere":          {Options{Dir: "d", BinDir: all, Node: true, Address: "10.0.0.1"}, "Options.Address"},
		"a node without images":     {Options{Dir: "d", BinDir: all, Node: true}, "make images"},
		"discoverers alone":         {Options{Dir: "d", BinDir: all, DiscovererImage: "a"}, "Options.Managers"},
		"no fake of MidoNet":        {Options{Dir: "d", BinDir: all, MidoNet: true}, "no fake-midonet:"},
		"no OVN program":            {Options{Dir: "d", BinDir: all, OVN: true}, "no localovn:"},
		"two backends":              {Options{Dir: "d", BinDir: all, OVN: true, MidoNet: true}, "Options.MidoNet"},
		"OVN with another node":     {Options{Dir: "d", BinDir: all, OVN: true, Node: true}, "Options.Node"},
		"OVN too deep":              {Options{Dir: strings.Repeat("d", 100), BinDir: all, OVN: true}, "at most 107 bytes"},
		"no configuration":          {Options{Dir: "d", BinDir: all, ManagerConfig: "nowhere.yaml"}, "nowhere.yaml"},
		"control plane alone":       {Options{Dir: "d", BinDir: kubernetes}, ""},
		"all":                       {Options{Dir: "d", BinDir: all, APIServers: 2, Managers: 2, SharedEtcd: true, ManagerConfig: "options.go"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			o, err := test.options.complete()
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("error %v does not name %s", err, test.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, path := range []string{o.Dir, o.BinDir, o.Artifacts} {
				if !filepath.IsAbs(path) {
					t.Errorf("path %q depends on the working directory of a process", path)
				}
			}
			if test.options.ManagerConfig != "" && !filepath.IsAbs(o.ManagerConfig) {
				t.Errorf("configuration %q depends on the working directory of a process", o.ManagerConfig)
			}
			o.Progress("no process listens")
		})
	}
}

// installedOVN makes a directory that has a schema of OVN.
func installedOVN(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	schema := filepath.Join(root, "usr/share/ovn/ovn-nb.ovsschema")
	if err := errors.Join(os.MkdirAll(filepath.Dir(schema), 0o700), os.WriteFile(schema, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	return root
}

func TestOVNIsNotInstalled(t *testing.T) {
	t.Setenv(ovnserver.RootVariable, t.TempDir())
	_, err := (Options{Dir: "d", BinDir: binaries(t, "localovn"), OVN: true}).complete()
	if err == nil || !strings.Contains(err.Error(), "make up OVN=real") {
		t.Errorf("error %v does not name what unpacks OVN", err)
	}
}

func TestOptionsOutsideTheRepository(t *testing.T) {
	bin := binaries(t, "etcd", "kube-apiserver", "kube-controller-manager")
	t.Chdir(t.TempDir())
	if _, err := (Options{Dir: "d"}).complete(); err == nil || !strings.Contains(err.Error(), "BinDir") {
		t.Errorf("complete: %v", err)
	}
	if _, err := (Options{Dir: "d", BinDir: bin, Artifacts: "a"}).complete(); err != nil {
		t.Error(err)
	}
}
