// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package rivalcrd

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
)

var served = []schema.GroupVersion{{Group: "midonet.org", Version: "v1"}, {Group: "core.gardener.cloud", Version: "v1beta1"}}

func definition(name, group, version string, isServed bool) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"group": group, "versions": []any{map[string]any{"name": version, "served": isServed}}},
	}}
}

func finder(t *testing.T, objects ...*unstructured.Unstructured) (*Finder, *metadatafake.FakeMetadataClient) {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var names, contents []runtime.Object
	for _, object := range objects {
		contents = append(contents, object)
		names = append(names, &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: object.GetAPIVersion(), Kind: object.GetKind()},
			ObjectMeta: metav1.ObjectMeta{Name: object.GetName()},
		})
	}
	client := metadatafake.NewSimpleMetadataClient(scheme, names...)
	return &Finder{names: client, served: served, contents: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(),
		map[schema.GroupVersionResource]string{definitions: "CustomResourceDefinitionList"}, contents...)}, client
}

func TestFind(t *testing.T) {
	f, _ := finder(t,
		definition("translations.midonet.org", "midonet.org", "v1", true),
		definition("shoots.core.gardener.cloud", "core.gardener.cloud", "v1beta1", true),
		definition("seeds.core.gardener.cloud", "core.gardener.cloud", "v1beta1", false),         // not served
		definition("quotas.core.gardener.cloud", "core.gardener.cloud", "v1", true),              // another version
		definition("projects.notcore.gardener.cloud", "notcore.gardener.cloud", "v1beta1", true), // another group
	)
	rivals, err := f.Find(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"shoots.core.gardener.cloud", "translations.midonet.org"}; !slices.Equal(rivals, want) {
		t.Errorf("found %v, want %v", rivals, want)
	}
}

// TestFindIsConsistent checks that a definition is found immediately after its creation, before the watch cache of kube-apiserver has it:
// otherwise Groundskeeper would be registered beside it.
func TestFindIsConsistent(t *testing.T) {
	created := definition("translations.midonet.org", "midonet.org", "v1", true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var response any = created.Object
		if strings.HasSuffix(r.URL.Path, "/customresourcedefinitions") {
			list := map[string]any{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList", "metadata": map[string]any{}}
			if r.URL.Query().Get("resourceVersion") == "" {
				list["items"] = []any{created.Object}
			}
			response = list
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(response); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	f, err := NewFinder(&rest.Config{Host: server.URL}, served)
	if err != nil {
		t.Fatal(err)
	}
	if rivals, err := f.Find(t.Context()); err != nil || len(rivals) != 1 {
		t.Errorf("found %v, %v", rivals, err)
	}
}

func TestReadyCheck(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), "GET", "/readyz", nil)
	translations, shoots := definition("translations.midonet.org", "midonet.org", "v1", true), definition("shoots.core.gardener.cloud", "core.gardener.cloud", "v1beta1", true)
	f, _ := finder(t, translations, shoots)
	if err := f.ReadyCheck().Check(request); err == nil || !strings.Contains(err.Error(), "translations.midonet.org") || !strings.Contains(err.Error(), "docs/migration.md") {
		t.Errorf("with rivals for all: %v", err)
	}
	f, _ = finder(t, translations, definition("hosts.midonet.org", "midonet.org", "v1", true))
	if err := f.ReadyCheck().Check(request); err != nil {
		t.Errorf("with rivals for one of two group versions: %v", err)
	}
	f, _ = finder(t)
	if err := f.ReadyCheck().Check(request); err != nil {
		t.Errorf("without one: %v", err)
	}
	f, client := finder(t)
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("forbidden")
	})
	if err := f.ReadyCheck().Check(request); err != nil {
		t.Errorf("when it cannot be found out: %v", err)
	}
}
