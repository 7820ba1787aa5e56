// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"

	"groundskeeper.io/groundskeeper/test/plane"
)

// rejectsRival puts a CustomResourceDefinition of one of Groundskeeper's group versions into a host: the commands that install
// Groundskeeper fail, and a server that starts reports the definition but is ready for the other group versions. The plane cannot be
// used afterwards.
func rejectsRival(t *testing.T, p *plane.Plane, options plane.Options) {
	t.Helper()
	const name = "hosts.midonet.org"
	schema := map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}}
	definition := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": name},
		"spec": map[string]any{
			"group": "midonet.org", "scope": "Namespaced", "names": map[string]any{"plural": "hosts", "singular": "host", "kind": "Host", "listKind": "HostList"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": schema}},
		},
	}}
	if err := clientOf(t, p.Config()).Create(t.Context(), definition); err != nil {
		t.Fatal(err)
	}
	server := p.APIServers[0]
	if err := server.Stop(t.Context()); err != nil { // the result is cached for half a minute
		t.Fatal(err)
	}
	if err := server.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(p.DirectConfig(0))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if response, err := client.RESTClient().Get().AbsPath("/readyz").DoRaw(ctx); err != nil {
			return fmt.Errorf("/readyz responds %q: %w", response, err)
		}
		log, err := os.ReadFile(server.LogFile())
		if err == nil && !strings.Contains(string(log), "group versions that groundskeeper-apiserver serves: "+name) {
			err = fmt.Errorf("the log does not name %s", name)
		}
		return err
	})
	if _, err := plane.Start(t.Context(), options); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
		t.Errorf("what registers Groundskeeper's server ends with %v, want a line that names %s", err, name)
	}
}
