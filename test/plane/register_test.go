// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestServedBy(t *testing.T) {
	registrations, err := manifests(filepath.Join(artifacts, "apiservice"))
	if err != nil {
		t.Fatal(err)
	}
	want := []schema.GroupVersion{
		{Group: "core.gardener.cloud", Version: "v1beta1"}, {Group: "gimbal.heptio.com", Version: "v1"},
		{Group: "kubernikus.sap.cc", Version: "v1"}, {Group: "midonet.org", Version: "v1"},
	}
	got := servedBy(registrations)
	slices.SortFunc(got, func(a, b schema.GroupVersion) int { return strings.Compare(a.Group, b.Group) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOnLoopback(t *testing.T) {
	objects, err := manifests(filepath.Join(artifacts, "apiservice"))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, object := range objects {
		if err := onLoopback(object, 4711, []byte("authority")); err != nil {
			t.Fatal(err)
		}
		switch object.GetKind() {
		case "Service":
			want := map[string]any{"type": "ExternalName", "externalName": "localhost"}
			if diff := cmp.Diff(want, object.Object["spec"]); diff != "" {
				t.Errorf("Service (-want +got):\n%s", diff)
			}
		case "APIService":
			names[object.GetName()] = true
			service := map[string]any{"namespace": systemNamespace, "name": apiserverName, "port": int64(4711)}
			spec := object.Object["spec"].(map[string]any)
			if diff := cmp.Diff(service, spec["service"]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", object.GetName(), diff)
			}
			if spec["caBundle"] != "YXV0aG9yaXR5" {
				t.Errorf("%s: caBundle %v", object.GetName(), spec["caBundle"])
			}
		}
	}
	want := map[string]bool{"v1beta1.core.gardener.cloud": true, "v1.kubernikus.sap.cc": true, "v1.midonet.org": true, "v1.gimbal.heptio.com": true}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("APIServices (-want +got):\n%s", diff)
	}
	if err := onLoopback(&unstructured.Unstructured{Object: map[string]any{"kind": "Deployment"}}, 1, nil); err == nil {
		t.Error("a Deployment was taken for a part of the registration")
	}
}

func TestCondition(t *testing.T) {
	object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{
		map[string]any{"type": "Other", "status": "True"},
		map[string]any{"type": "Available", "status": "False", "message": "no response"},
	}}}}
	if ok, message := condition(object, "Available"); ok || message != "no response" {
		t.Errorf("Available: %v, %q", ok, message)
	}
	if ok, _ := condition(object, "Other"); !ok {
		t.Error("Other is not True")
	}
	if ok, message := condition(object, "Missing"); ok || !strings.Contains(message, "Missing") {
		t.Errorf("Missing: %v, %q", ok, message)
	}
}

func TestProbe(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   string // in the error; empty: none
	}{
		"ready":           {200, "ok", ""},
		"failed checks":   {500, "[+]ping ok\n[-]etcd failed: away\n[-]crds failed: one\n", "500 Internal Server Error: [-]etcd failed: away; [-]crds failed: one"},
		"no checks in it": {403, "forbidden\n", "403 Forbidden: forbidden"},
		"nothing there":   {404, "", "404 Not Found"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				w.Write([]byte(test.body)) //nolint:errcheck // the client reports it
			}))
			defer server.Close()
			err := probe(t.Context(), server.Client(), server.URL)
			if (err != nil) != (test.want != "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
