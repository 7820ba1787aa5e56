// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// A group that does not respond is an error: it is not treated as a group that does not exist.
func TestFinder(t *testing.T) {
	group := func(preferred string, versions ...string) *metav1.APIGroup {
		g := &metav1.APIGroup{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIGroup"}, Name: "example.com"}
		for _, version := range versions {
			g.Versions = append(g.Versions, metav1.GroupVersionForDiscovery{GroupVersion: "example.com/" + version, Version: version})
		}
		g.PreferredVersion = metav1.GroupVersionForDiscovery{GroupVersion: "example.com/" + preferred, Version: preferred}
		return g
	}
	list := func(version string, resources ...string) *metav1.APIResourceList {
		l := &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "APIResourceList"}, GroupVersion: version}
		for _, resource := range resources {
			l.APIResources = append(l.APIResources, metav1.APIResource{Name: resource})
		}
		return l
	}
	tree, strict := Kind{GroupResource: trees}, Kind{GroupResource: trees, Versions: []string{"v1"}, OnlyVersions: true}
	pinned, either := Kind{GroupResource: trees, Versions: []string{"v1"}}, Kind{GroupResource: trees, Versions: []string{"v3", "v1"}}
	for name, test := range map[string]struct {
		kind      Kind
		responses map[string]any // an object or a status code; 404 if absent
		want      string
		wantErr   string
	}{
		"served":                        {pinned, map[string]any{"/apis/example.com/v1": list("example.com/v1", "others", "trees")}, "v1", ""},
		"a group without the kind":      {pinned, map[string]any{"/apis/example.com/v1": list("example.com/v1", "others", "trees/status")}, "", ""},
		"no group":                      {pinned, nil, "", ""},
		"the server does not respond":   {pinned, map[string]any{"/apis/example.com/v1": http.StatusServiceUnavailable}, "", "discover example.com/v1: "},
		"forbidden":                     {pinned, map[string]any{"/apis/example.com/v1": http.StatusForbidden}, "", "discover example.com/v1: "},
		"the preferred of two versions": {either, map[string]any{"/apis/example.com/v1": list("example.com/v1", "trees"), "/apis/example.com/v3": list("example.com/v3", "trees")}, "v3", ""},
		"the second of two versions":    {either, map[string]any{"/apis/example.com/v1": list("example.com/v1", "trees"), "/apis/example.com/v2": list("example.com/v2", "trees")}, "v1", ""},
		"no group, any version":         {tree, nil, "", ""},
		"the preferred version":         {tree, map[string]any{"/apis/example.com": group("v2", "v1", "v2"), "/apis/example.com/v1": list("example.com/v1", "trees"), "/apis/example.com/v2": list("example.com/v2", "trees")}, "v2", ""},
		"only in another version":       {tree, map[string]any{"/apis/example.com": group("v2", "v1", "v2"), "/apis/example.com/v1": list("example.com/v1", "trees"), "/apis/example.com/v2": list("example.com/v2")}, "v1", ""},
		"one version does not respond":  {tree, map[string]any{"/apis/example.com": group("v2", "v1", "v2"), "/apis/example.com/v1": list("example.com/v1", "trees"), "/apis/example.com/v2": http.StatusServiceUnavailable}, "", "discover example.com/v2: "},
		"the group does not respond":    {tree, map[string]any{"/apis/example.com": http.StatusInternalServerError}, "", "discover example.com: "},
		"only in an unknown version":    {strict, map[string]any{"/apis/example.com": group("v2", "v2"), "/apis/example.com/v2": list("example.com/v2", "trees")}, "", "trees.example.com is served as v2 only, and this controller manager reads v1: update it"},
		"unknown version, not queried":  {pinned, map[string]any{"/apis/example.com": group("v2", "v2"), "/apis/example.com/v2": list("example.com/v2", "trees")}, "", ""},
		"another version without it":    {strict, map[string]any{"/apis/example.com": group("v2", "v1", "v2"), "/apis/example.com/v2": list("example.com/v2", "others")}, "", ""},
		"strict, no group":              {strict, nil, "", ""},
		"strict, no response":           {strict, map[string]any{"/apis/example.com": http.StatusServiceUnavailable}, "", "discover example.com: "},
		"strict, known version":         {strict, map[string]any{"/apis/example.com/v1": list("example.com/v1", "trees")}, "v1", ""},
		"a kind of Kubernetes' own":     {Kind{GroupResource: schema.GroupResource{Resource: "secrets"}}, map[string]any{"/api/v1": list("v1", "secrets")}, "v1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				response, found := test.responses[r.URL.Path]
				if !found {
					response = http.StatusNotFound
				}
				if code, isCode := response.(int); isCode {
					w.WriteHeader(code)
					return
				}
				if err := json.NewEncoder(w).Encode(response); err != nil {
					t.Error(err)
				}
			}))
			defer server.Close()
			client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL})
			if err != nil {
				t.Fatal(err)
			}
			found, err := NewFinder(client)(t.Context(), &test.kind)
			got := ""
			if found != nil {
				got = found.Version
			}
			if got != test.want || (err != nil) != (test.wantErr != "") || err != nil && !strings.HasPrefix(err.Error(), test.wantErr) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
