// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package namespacedeletion

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	gardener   = "/apis/core.gardener.cloud/v1beta1"
	kubernikus = "/apis/kubernikus.sap.cc/v1"
	gimbal     = "/apis/gimbal.heptio.com/v1"
)

// api responds to paths with JSON, or with a status code; other paths are not found.
type api map[string]any

func (a api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	result, ok := a[r.URL.Path]
	if selector := r.URL.Query().Get("fieldSelector"); ok && selector != "" {
		result, ok = a[r.URL.Path+"?"+selector]
	}
	w.Header().Set("Content-Type", "application/json")
	if !ok {
		result = http.StatusNotFound
	}
	if code, isCode := result.(int); isCode {
		w.WriteHeader(code)
		reasons := map[int]metav1.StatusReason{404: metav1.StatusReasonNotFound, 400: metav1.StatusReasonBadRequest, 503: metav1.StatusReasonServiceUnavailable, 403: metav1.StatusReasonForbidden}
		result = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: int32(code), Reason: reasons[code]}
	}
	_ = json.NewEncoder(w).Encode(result)
}

func resources(names ...string) metav1.APIResourceList {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}}
	for _, name := range names {
		list.APIResources = append(list.APIResources, metav1.APIResource{Name: name, Namespaced: true})
	}
	return list
}

func objects(names ...string) metav1.PartialObjectMetadataList {
	list := metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadataList", APIVersion: "meta.k8s.io/v1"}}
	for _, name := range names {
		list.Items = append(list.Items, *object(name))
	}
	return list
}

func object(name string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: "PartialObjectMetadata", APIVersion: "meta.k8s.io/v1"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func contentsOf(t *testing.T, a api) Contents {
	t.Helper()
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	contents, err := NewContents(&rest.Config{Host: server.URL, QPS: -1}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	return contents
}

func TestOccupants(t *testing.T) {
	full := func() api {
		return api{
			gardener: resources("projects", "shoots"), kubernikus: resources("klusters"), gimbal: resources("discoverybackends"),
			kubernikus + "/namespaces/n/klusters": objects("a", "b"), gimbal + "/namespaces/n/discoverybackends": objects("c"), gardener + "/namespaces/n/shoots": objects("d"),
		}
	}
	for name, tc := range map[string]struct {
		change  func(api)
		project bool
		want    []string
		err     string
	}{
		"of a project":            {func(api) {}, true, []string{"Kluster a", "Kluster b", "DiscoveryBackend c", "Shoot d"}, ""},
		"unused":                  {func(api) {}, false, []string{"Kluster a", "Kluster b"}, ""},
		"no shoots":               {func(a api) { a[gardener] = resources("projects") }, true, []string{"Kluster a", "Kluster b", "DiscoveryBackend c"}, ""},
		"no Klusters":             {func(a api) { delete(a, kubernikus) }, false, nil, ""},
		"Klusters do not respond": {func(a api) { a[kubernikus] = 503 }, false, nil, "kubernikus.sap.cc/v1 is unavailable"},
		"Klusters are not listed": {func(a api) { a[kubernikus+"/namespaces/n/klusters"] = 403 }, false, nil, "check whether namespace \"n\" contains Klusters"},
		"backends do not respond": {func(a api) { a[gimbal] = 503 }, true, nil, "gimbal.heptio.com/v1 is unavailable"},
		"backends are others'":    {func(a api) { a[gimbal] = 503 }, false, []string{"Kluster a", "Kluster b"}, ""},
	} {
		a := full()
		tc.change(a)
		got, err := contentsOf(t, a).Occupants(t.Context(), "n", tc.project, 11)
		if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
}

// TestAKindThatDisappears checks that a kind that is no longer served may still have objects.
func TestAKindThatDisappears(t *testing.T) {
	a := api{kubernikus: resources("klusters"), kubernikus + "/namespaces/n/klusters": objects()}
	contents := contentsOf(t, a)
	if _, err := contents.Occupants(t.Context(), "n", false, 1); err != nil {
		t.Fatal(err)
	}
	delete(a, kubernikus)
	if _, err := contents.Occupants(t.Context(), "n", false, 1); err == nil || !strings.Contains(err.Error(), "no longer served") {
		t.Errorf("got %v", err)
	}
}

func TestProject(t *testing.T) {
	namespace := func(labels ...string) *metav1.PartialObjectMetadata {
		n := object("garden-x")
		for i := 0; i < len(labels); i += 2 {
			metav1.SetMetaDataLabel(&n.ObjectMeta, labels[i], labels[i+1])
		}
		return n
	}
	marked := namespace("gardener.cloud/role", "project", "project.gardener.cloud/name", "x")
	const byField = gardener + "/projects?spec.namespace=garden-x"
	for name, tc := range map[string]struct {
		responses api
		namespace *metav1.PartialObjectMetadata
		want, err string
	}{
		"found":                           {api{gardener: resources("projects"), gardener + "/projects": 500, byField: objects("y")}, marked, "y", ""},
		"found without labels":            {api{gardener: resources("projects"), gardener + "/projects": 500, byField: objects("y")}, namespace(), "y", ""},
		"none":                            {api{gardener: resources("projects"), gardener + "/projects": 500, byField: objects()}, marked, "", ""},
		"no response":                     {api{gardener: resources("projects"), gardener + "/projects": 500, byField: 503}, marked, "", "check whether namespace \"garden-x\" belongs to a project"},
		"not selectable, found by label":  {api{gardener: resources("projects"), gardener + "/projects": 500, byField: 400, gardener + "/projects/x": object("x")}, marked, "x", ""},
		"not selectable, deleted":         {api{gardener: resources("projects"), gardener + "/projects": 500, byField: 400}, marked, "", ""},
		"not selectable, no label":        {api{gardener: resources("projects"), gardener + "/projects": 500, byField: 400}, namespace(), "", ""},
		"not selectable, no response":     {api{gardener: resources("projects"), gardener + "/projects": 500, byField: 400, gardener + "/projects/x": 503}, marked, "", "project \"x\""},
		"not served, namespace labeled":   {api{}, marked, "", "core.gardener.cloud/v1beta1 is not served"},
		"not served, namespace unlabeled": {api{}, namespace(), "", ""},
		"whether it is served is unknown": {api{gardener: 503}, namespace(), "", "core.gardener.cloud/v1beta1 is unavailable"},
	} {
		got, err := contentsOf(t, tc.responses).Project(t.Context(), tc.namespace)
		if (err != nil) != (tc.err != "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%s: %v", name, err)
		}
		if (got != nil) != (tc.want != "") || got != nil && got.Name != tc.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
