// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A plane runs the controllers that it was requested besides its own.
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
