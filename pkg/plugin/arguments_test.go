// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/client-go/tools/clientcmd"
)

// TestArguments checks that the error of wrong arguments says what the command takes.
func TestArguments(t *testing.T) {
	for args, want := range map[string]string{
		"why":                     "name an object: kubectl groundskeeper why KIND/NAME",
		"why kluster a b":         `"kluster a b" are several objects, name one: kubectl groundskeeper why KIND/NAME`,
		"drain":                   "name an object: kubectl groundskeeper drain [discoverybackend/]NAME",
		"restore-references":      "name an object: kubectl groundskeeper restore-references [discoverybackend/]NAME",
		"deorbit":                 "name an object: kubectl groundskeeper deorbit [kluster/]NAME",
		"status kluster/web":      `kubectl groundskeeper status has no arguments, remove "kluster/web"`,
		"check a":                 `kubectl groundskeeper check has no arguments, remove "a"`,
		"uninstall a --dry-run":   `kubectl groundskeeper uninstall has no arguments, remove "a"`,
		"uninstall -o json":       "--output: a removal shows its progress as text: add --dry-run",
		"convert":                 "name a file: kubectl groundskeeper convert -f FILE",
		"version a":               `kubectl groundskeeper version has no arguments, remove "a"`,
		"completion a":            `kubectl groundskeeper completion has no arguments, remove "a"`,
		"console a":               `kubectl groundskeeper console has no arguments, remove "a"`,
		"status -n missing":       "namespace missing (-n) does not exist: kubectl get namespaces",
		"why kluster/a -nmissing": "namespace missing (-n) does not exist: kubectl get namespaces",
	} {
		t.Run(args, func(t *testing.T) {
			if err := execute(t, nil, strings.Fields(args)...); err == nil || err.Error() != want {
				t.Errorf("error = %v, want %q", err, want)
			}
		})
	}
	for name, response := range map[string]string{
		"exists":          `{"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "shop"}}`,
		"may not be read": forbidden,
	} {
		t.Run("a namespace that "+name, func(t *testing.T) {
			err := execute(t, cluster{"/api/v1/namespaces/shop": response}, "why", "kluster/web", "-n", "shop")
			if err == nil || strings.Contains(err.Error(), "(-n)") {
				t.Errorf("error = %v, want that of the Kluster", err)
			}
		})
	}
}

// execute runs the plugin in a cluster.
func execute(t *testing.T, paths cluster, args ...string) error {
	t.Helper()
	c, _ := fakeCluster(t, paths, ofGroundskeeper)
	config, err := c.config.RawConfig()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(config, file); err != nil {
		t.Fatal(err)
	}
	root := New(strings.NewReader(""), os.Stdout)
	root.SetArgs(append(args, "--kubeconfig", file))
	root.SetOut(&bytes.Buffer{})
	root.SetErr(&bytes.Buffer{})
	return root.ExecuteContext(t.Context())
}

// TestOptions checks that the flags of all commands are in one place.
func TestOptions(t *testing.T) {
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]struct {
		text    []string
		options bool
	}{
		"options":       {[]string{"All commands have these flags:"}, true},
		"status --help": {[]string{"--output", `Use "kubectl groundskeeper options" for the flags of all commands.`}, false},
		"--help":        {[]string{"why ", "options "}, true},
	} {
		t.Run(args, func(t *testing.T) {
			if err := out.Truncate(0); err != nil {
				t.Fatal(err)
			}
			root := New(strings.NewReader(""), out)
			root.SetArgs(strings.Fields(args))
			var printed bytes.Buffer
			root.SetOut(&printed)
			if err := root.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			file, err := os.ReadFile(out.Name())
			if err != nil {
				t.Fatal(err)
			}
			text := printed.String() + string(file)
			for _, want := range want.text {
				if !strings.Contains(text, want) {
					t.Errorf("printed %s, want %q in it", text, want)
				}
			}
			if options := strings.Contains(text, "--as-group"); options != want.options {
				t.Errorf("printed %s, want the flags of all commands: %t", text, want.options)
			}
		})
	}
}

// TestCompletionOfFlags checks that the values of flags are completed.
func TestCompletionOfFlags(t *testing.T) {
	c, _ := on(t, nil, namespaceOf("1", nil))
	if got, _ := c.completeNamespaces(&cobra.Command{}, nil, ""); strings.Join(got, " ") != "garden-shop" {
		t.Errorf("namespaces = %q, want garden-shop", got)
	}
	for path, want := range map[string]string{
		"uninstall --projects": "keep delete", "uninstall --klusters": "detach deorbit", "uninstall --abandon": "translations klusters",
		"status --color": "auto always never",
	} {
		cmd, args, err := New(strings.NewReader(""), os.Stdout).Find(strings.Fields(path))
		if err != nil {
			t.Fatal(err)
		}
		complete, ok := cmd.GetFlagCompletionFunc(strings.TrimPrefix(args[0], "--"))
		if !ok {
			t.Errorf("%s: no completion", path)
			continue
		}
		if got, _ := complete(cmd, nil, ""); strings.Join(got, " ") != want {
			t.Errorf("completions of %s = %q, want %q", path, got, want)
		}
	}
}
