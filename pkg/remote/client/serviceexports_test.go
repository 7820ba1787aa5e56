// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// ServiceExports are read in the newest version that is served, as JSON: custom resources have no other form.
func TestServiceExports(t *testing.T) {
	const list = `{"apiVersion": "multicluster.x-k8s.io/VERSION", "kind": "ServiceExportList", "metadata": {"resourceVersion": "7"}, "items": [
		{"apiVersion": "multicluster.x-k8s.io/VERSION", "kind": "ServiceExport", "metadata": {"namespace": "shop", "name": "web"}, "spec": {"exportedLabels": {"a": "b"}}}]}`
	for name, test := range map[string]struct {
		served []string
		want   []string
	}{
		"both":      {[]string{"v1beta1", "v1alpha1"}, []string{"v1beta1"}},
		"the older": {[]string{"v1alpha1"}, []string{"v1beta1", "v1alpha1"}},
		"none":      {nil, []string{"v1beta1", "v1alpha1"}},
	} {
		t.Run(name, func(t *testing.T) {
			var requested []string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				version := ""
				for _, each := range []string{"v1beta1", "v1alpha1"} {
					if request.URL.Path == "/apis/multicluster.x-k8s.io/"+each+"/namespaces/shop/serviceexports" {
						version = each
					}
				}
				requested = append(requested, version)
				if accept := request.Header.Get("Accept"); accept != runtime.ContentTypeJSON {
					t.Errorf("Accept: %s", accept)
				}
				w.Header().Set("Content-Type", runtime.ContentTypeJSON)
				if !slices.Contains(test.served, version) {
					w.WriteHeader(http.StatusNotFound)
					_ = json.NewEncoder(w).Encode(apierrors.NewNotFound(schema.GroupResource{}, "").Status())
					return
				}
				_, _ = w.Write([]byte(strings.ReplaceAll(list, "VERSION", version)))
			}))
			t.Cleanup(server.Close)
			c, err := New(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeProtobuf, AcceptContentTypes: runtime.ContentTypeProtobuf}})
			if err != nil {
				t.Fatal(err)
			}
			found, err := c.ServiceExports("shop").List(t.Context(), metav1.ListOptions{})
			if !slices.Equal(requested, test.want) {
				t.Errorf("requested %q, want %q", requested, test.want)
			}
			if test.served == nil {
				if !apierrors.IsNotFound(err) {
					t.Errorf("err = %v", err)
				}
				return
			}
			if err != nil || len(found.Items) != 1 || found.Items[0].Name != "web" || found.ResourceVersion != "7" {
				t.Errorf("found %+v, %v", found, err)
			}
		})
	}
}
