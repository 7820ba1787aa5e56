// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestLinks checks that the discoverer of a backend links only the clients, schemas and parsers that it needs, because linked
// packages stay in memory.
func TestLinks(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	heavy := []string{
		"k8s.io/client-go/kubernetes", "k8s.io/client-go/discovery", "k8s.io/client-go/openapi", "k8s.io/client-go/informers",
		"k8s.io/client-go/gentype", "k8s.io/client-go/testing", "k8s.io/client-go/applyconfigurations", "k8s.io/client-go/tools/leaderelection",
		"k8s.io/apimachinery/pkg/util/managedfields", "k8s.io/kube-openapi/pkg/schemaconv", "github.com/google/gnostic-models",
		"groundskeeper.io/groundskeeper/pkg/generated",
	}
	for line := range strings.Lines(string(out)) {
		linked := strings.TrimSpace(line)
		if slices.ContainsFunc(heavy, func(path string) bool { return linked == path || strings.HasPrefix(linked, path+"/") }) {
			t.Errorf("%s is linked: use pkg/remote/client, and see `go mod why`", linked)
		}
	}
	if !strings.Contains(string(out), "groundskeeper.io/groundskeeper/pkg/remote/client\n") {
		t.Error("this is not the list of what is linked")
	}
}
