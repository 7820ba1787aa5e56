// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const hold = "example.com/hold"

// kinds, mayList and listed are the holders of a cluster, which serves ConfigMaps.
func (c *cluster) kinds(context.Context) ([]*metav1.APIResourceList, error) {
	return []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Verbs: []string{"list", "delete"}},
	}}}, c.servedErr
}

func (c *cluster) mayList(context.Context, schema.GroupVersionResource, string) (bool, error) {
	return !c.forbidden, nil
}

func (c *cluster) listed(ctx context.Context, _ schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := c.followed.live.List(ctx, list, client.InNamespace(namespace))
	return list.Items, err
}

// configMap returns one with finalizers.
func configMap(namespace, name string, finalizers ...string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: finalizers}}
}

func TestHolders(t *testing.T) {
	everything := []string{"list", "delete"}
	served := []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Verbs: everything}, {Name: "bindings", Kind: "Binding", Verbs: []string{"create"}},
		}},
		{GroupVersion: "example.com/v2", APIResources: []metav1.APIResource{{Name: "widgets", Kind: "Widget", Verbs: everything}}},
	}
	withoutList := []*metav1.APIResourceList{{GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Verbs: everything}, {Name: "secretive", Kind: "Secretive", Verbs: []string{"delete"}},
	}}}
	objects := map[string][]metav1.PartialObjectMetadata{
		"configmaps": {{ObjectMeta: configMap("", "b", hold, "orphan", "z").ObjectMeta}, {ObjectMeta: configMap("", "a").ObjectMeta}},
		"widgets":    {{ObjectMeta: configMap("", "w", "example.com/other").ObjectMeta}},
	}
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "widgets"}, "", errors.New("no"))
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "widgets"}, "")
	failure, widget := errors.New("no response"), "Widget w (example.com/other)"
	only, unseen := []string{"ConfigMap b (example.com/hold, z)"}, []string{"widgets.example.com"}
	for name, test := range map[string]struct {
		kinds               []*metav1.APIResourceList
		kindsErr            error
		missing             bool // the permission for widgets
		reviewErr, widgetEr error
		want                holding
		wantErr             string
	}{
		"all known":                       {kinds: served, want: holding{held: append(only, widget)}},
		"a kind without permission":       {kinds: served, missing: true, want: holding{only, unseen}},
		"a list that is denied":           {kinds: served, widgetEr: denied, want: holding{only, unseen}},
		"a review that is denied":         {kinds: served, reviewErr: denied, want: holding{only, unseen}},
		"a kind that cannot be listed":    {kinds: withoutList, want: holding{only, []string{"secretive"}}},
		"a list that fails":               {kinds: served, widgetEr: failure, wantErr: "no response"},
		"a kind that is no longer served": {kinds: served, widgetEr: gone, wantErr: "not found"},
		"a review that fails":             {kinds: served, reviewErr: failure, wantErr: "no response"},
		"discovery that fails in part":    {kinds: served, kindsErr: failure, wantErr: "no response"},
	} {
		t.Run(name, func(t *testing.T) {
			h := holders{
				func(context.Context) ([]*metav1.APIResourceList, error) { return test.kinds, test.kindsErr },
				func(_ context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
					if namespace != "garden-a" {
						t.Errorf("reviews namespace %q, want %q", namespace, "garden-a")
					}
					if resource.Resource != "widgets" {
						return true, nil
					}
					return !test.missing && test.reviewErr == nil, test.reviewErr
				},
				func(_ context.Context, resource schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
					isWidget := resource == schema.GroupVersionResource{Group: "example.com", Version: "v2", Resource: "widgets"}
					if namespace != "garden-a" || isWidget && test.missing || !isWidget && resource.Group != "" {
						t.Errorf("lists %s in namespace %q", resource, namespace)
					}
					if isWidget && test.widgetEr != nil {
						return nil, test.widgetEr
					}
					return objects[resource.Resource], nil
				},
			}
			got, err := h.current(t.Context(), "garden-a")
			if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(holding{})); diff != "" {
				t.Error(diff)
			}
			message := ""
			if err != nil {
				message = err.Error()
			}
			if (test.wantErr != "") != (err != nil) || !strings.Contains(message, test.wantErr) ||
				err != nil && !strings.HasPrefix(message, `find the objects with finalizers in namespace "garden-a": `) {
				t.Errorf("error = %v, want %q", err, test.wantErr)
			}
		})
	}
}

// TestHoldersOfAnAPIServer checks the requests: the preferred kinds, a review of each, and the metadata of those that are allowed.
func TestHoldersOfAnAPIServer(t *testing.T) {
	responses := map[string]string{
		"/api":  `{"kind":"APIVersions","versions":["v1"]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[
			{"name":"configmaps","kind":"ConfigMap","namespaced":true,"verbs":["list","delete"]},
			{"name":"secrets","kind":"Secret","namespaced":true,"verbs":["list","delete"]},
			{"name":"nodes","kind":"Node","namespaced":false,"verbs":["list","delete"]}]}`,
		"/api/v1/namespaces/garden-a/configmaps": `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[
			{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1",
			"metadata":{"namespace":"garden-a","name":"a","finalizers":["example.com/hold"]}}]}`,
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		response, served := responses[r.URL.Path]
		if r.URL.Path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" {
			body, _ := io.ReadAll(r.Body)
			served = true
			response = fmt.Sprintf(`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","status":{"allowed":%t}}`,
				bytes.Contains(body, []byte(`configmaps`)) && bytes.Contains(body, []byte(`garden-a`)))
		}
		w.Header().Set("Content-Type", "application/json")
		if !served && r.URL.Path == "/apis/example.com/v2" {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		if !served {
			t.Errorf("unexpected request %s %s", r.Method, r.URL)
			w.WriteHeader(http.StatusNotFound)
			response = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
		}
		_, _ = io.WriteString(w, response)
	}))
	defer server.Close()
	h, err := newHolders(&rest.Config{Host: server.URL}, server.Client())
	if err != nil {
		t.Fatal(err)
	}
	want := holding{held: []string{"ConfigMap a (example.com/hold)"}, unseen: []string{"secrets"}}
	got, err := h.current(t.Context(), "garden-a")
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(holding{})); diff != "" || err != nil {
		t.Errorf("error = %v, %s", err, diff)
	}
	// What a group that is unavailable has is unknown.
	responses["/apis"] = `{"kind":"APIGroupList","apiVersion":"v1","groups":[{"name":"example.com",
		"versions":[{"groupVersion":"example.com/v2","version":"v2"}],
		"preferredVersion":{"groupVersion":"example.com/v2","version":"v2"}}]}`
	if got, err := h.current(t.Context(), "garden-a"); err == nil || !strings.Contains(err.Error(), "example.com/v2") {
		t.Errorf("found %+v, error = %v, want an error that names %s", got, err, "example.com/v2")
	}
}

func TestForeignFinalizers(t *testing.T) {
	for name, test := range map[string]struct{ finalizers, want []string }{
		"none":            {},
		"of Kubernetes":   {finalizers: []string{"foregroundDeletion", "orphan", "batch.kubernetes.io/job-tracking"}},
		"of volumes":      {finalizers: []string{"kubernetes.io/pvc-protection", "resource.kubernetes.io/delete-protection"}},
		"of a cloud":      {finalizers: []string{"service.kubernetes.io/load-balancer-cleanup"}},
		"own":             {finalizers: []string{"kubernikus.sap.cc/deorbiter", "groundskeeper.io/in-use", "midonet.org/deleter"}},
		"foreign":         {[]string{"orphan", hold, "snapshot.storage.kubernetes.io/x"}, []string{hold, "snapshot.storage.kubernetes.io/x"}},
		"with our domain": {[]string{"groundskeeper.io/unknown"}, []string{"groundskeeper.io/unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			object := configMap("", "a", test.finalizers...)
			if got := foreignFinalizers(object); strings.Join(got, " ") != strings.Join(test.want, " ") {
				t.Errorf("foreign finalizers = %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.finalizers, object.Finalizers); diff != "" {
				t.Errorf("the object was changed:\n%s", diff)
			}
		})
	}
}

func TestHeldMessage(t *testing.T) {
	got := heldMessage("garden-a", holding{[]string{"Widget w (example.com/hold)"}, []string{"events", "secrets"}})
	want := `objects with finalizers would hold namespace "garden-a", to which the members have no access any more when it is being ` +
		`deleted: delete these objects (you or their controllers have to remove the finalizers), or annotate the project with ` +
		`confirmation.gardener.cloud/force-deletion=true: Widget w (example.com/hold); ` +
		`could not be looked at for finalizers, because the controller manager is not allowed to list them: events, secrets`
	if got != want {
		t.Errorf("message = %q, want %q", got, want)
	}
}
