// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
)

// fakeAPI is as much of an API server as a manager talks to: discovery, one Lease, one ConfigMap to list and to watch, and no
// Project. It remembers who requested what.
type fakeAPI struct {
	t  *testing.T
	mu sync.Mutex
	// lease is what the last write left.
	lease *coordinationv1.Lease
	// requests are the headers of the first request for each path.
	requests map[string]http.Header
}

func newFakeAPI(t *testing.T) (*fakeAPI, http.Handler) {
	f := &fakeAPI{t: t, requests: map[string]http.Header{}}
	mux := http.NewServeMux()
	respond := func(pattern string, object any) {
		mux.HandleFunc("GET "+pattern, func(w http.ResponseWriter, _ *http.Request) { f.respond(w, object) })
	}
	group := func(name, version string) metav1.APIGroup {
		v := metav1.GroupVersionForDiscovery{GroupVersion: name + "/" + version, Version: version}
		return metav1.APIGroup{Name: name, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v}
	}
	resources := func(groupVersion string, resources ...metav1.APIResource) *metav1.APIResourceList {
		return &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList"}, GroupVersion: groupVersion, APIResources: resources}
	}
	respond("/version", struct{}{})
	respond("/api", &metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	respond("/apis", &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList"}, Groups: []metav1.APIGroup{
		group("coordination.k8s.io", "v1"), group("core.gardener.cloud", "v1beta1"),
	}})
	respond("/api/v1", resources("v1",
		metav1.APIResource{Name: "configmaps", Namespaced: true, Kind: "ConfigMap"},
		metav1.APIResource{Name: "secrets", Namespaced: true, Kind: "Secret"}))
	respond("/apis/core.gardener.cloud/v1beta1", resources("core.gardener.cloud/v1beta1", metav1.APIResource{Name: "projects", Kind: "Project"}))
	respond("/apis/core.gardener.cloud/v1beta1/projects", map[string]any{
		"apiVersion": "core.gardener.cloud/v1beta1", "kind": "ProjectList", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{},
	})
	mux.HandleFunc("GET /api/v1/configmaps", f.configMaps)
	mux.HandleFunc("/apis/coordination.k8s.io/v1/namespaces/", f.leases)
	mux.HandleFunc("POST /api/v1/namespaces/", func(w http.ResponseWriter, _ *http.Request) { f.respond(w, struct{}{}) }) // events
	return f, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		if f.requests[r.URL.Path] == nil {
			f.requests[r.URL.Path] = r.Header.Clone()
		}
		f.mu.Unlock()
		mux.ServeHTTP(w, r)
	})
}

// headersOf returns the headers of the first request for a path, nil when there was none.
func (f *fakeAPI) headersOf(path string) http.Header {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.requests[path]
}

// holder returns who holds the Lease, "" when it is not held.
func (f *fakeAPI) holder() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lease == nil || f.lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *f.lease.Spec.HolderIdentity
}

func (f *fakeAPI) respond(w http.ResponseWriter, object any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	if err := json.NewEncoder(w).Encode(object); err != nil {
		f.t.Error(err)
	}
}

func (f *fakeAPI) configMaps(w http.ResponseWriter, r *http.Request) {
	switch query := r.URL.Query(); {
	case query.Get("sendInitialEvents") == "true": // an old server, which cannot stream a list
		w.WriteHeader(http.StatusUnprocessableEntity)
		f.respond(w, &metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonInvalid, Code: http.StatusUnprocessableEntity,
		})
	case query.Get("watch") == "true":
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		f.respond(w, &corev1.ConfigMapList{
			TypeMeta: metav1.TypeMeta{Kind: "ConfigMapList", APIVersion: "v1"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"},
			Items: []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "a", ResourceVersion: "1",
				ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "somebody"}},
			}}},
		})
	}
}

func (f *fakeAPI) leases(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.Method != http.MethodGet {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			f.t.Error(err)
		}
		object, _, err := clientgoscheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			f.t.Error(err)
		}
		lease, ok := object.(*coordinationv1.Lease)
		if !ok {
			f.t.Errorf("%s %s of a %T", r.Method, r.URL.Path, object)
			return
		}
		version := 1
		if f.lease != nil {
			version, _ = strconv.Atoi(f.lease.ResourceVersion)
		}
		lease.ResourceVersion = strconv.Itoa(version + 1)
		lease.TypeMeta = metav1.TypeMeta{Kind: "Lease", APIVersion: "coordination.k8s.io/v1"}
		f.lease = lease
	}
	if f.lease == nil {
		status(w, http.StatusNotFound)
		return
	}
	f.respond(w, f.lease)
}
