// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// fixedServer is an API server that always returns one response, and records the last request.
type fixedServer struct {
	mu       sync.Mutex
	status   int
	response runtime.Object
	// request is the method and the URL, body what was sent.
	request, contentType, body string
}

func (a *fixedServer) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	body, _ := io.ReadAll(request.Body)
	a.request, a.contentType, a.body = request.Method+" "+request.URL.String(), request.Header.Get("Content-Type"), string(body)
	mediaType := runtime.ContentTypeJSON
	if strings.HasPrefix(request.Header.Get("Accept"), runtime.ContentTypeProtobuf) {
		mediaType = runtime.ContentTypeProtobuf
	}
	info, _ := runtime.SerializerInfoForMediaType(codecs.SupportedMediaTypes(), mediaType)
	kinds, _, _ := scheme.ObjectKinds(a.response)
	w.Header().Set("Content-Type", mediaType)
	w.WriteHeader(a.status)
	_ = codecs.EncoderForVersion(info.Serializer, kinds[0].GroupVersion()).Encode(a.response, w)
}

func newServer(t *testing.T, contentType string) (*fixedServer, *Client) {
	t.Helper()
	server := &fixedServer{status: http.StatusOK}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	c, err := New(&rest.Config{Host: listening.URL, ContentConfig: rest.ContentConfig{ContentType: contentType, AcceptContentTypes: contentType}})
	if err != nil {
		t.Fatal(err)
	}
	return server, c
}

// TestRequests checks that each kind has the correct path and each verb the correct request, and that objects are read as
// sent, in both encodings.
func TestRequests(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web", ResourceVersion: "7", UID: "u"}
	ctx := t.Context()
	for _, contentType := range []string{runtime.ContentTypeProtobuf, runtime.ContentTypeJSON} {
		t.Run(contentType, func(t *testing.T) {
			server, c := newServer(t, contentType)
			for want, test := range map[string]struct {
				response runtime.Object
				do       func() (metav1.Object, error)
			}{
				"GET /api/v1/namespaces/shop/services/web": {&corev1.Service{ObjectMeta: meta}, func() (metav1.Object, error) {
					return c.Services("shop").Get(ctx, "web", metav1.GetOptions{})
				}},
				"GET /api/v1/namespaces/web": {&corev1.Namespace{ObjectMeta: meta}, func() (metav1.Object, error) {
					return c.Namespaces().Get(ctx, "web", metav1.GetOptions{})
				}},
				"POST /apis/discovery.k8s.io/v1/namespaces/shop/endpointslices?fieldManager=me": {&discoveryv1.EndpointSlice{ObjectMeta: meta}, func() (metav1.Object, error) {
					return c.EndpointSlices("shop").Create(ctx, &discoveryv1.EndpointSlice{ObjectMeta: meta}, metav1.CreateOptions{FieldManager: "me"})
				}},
				"PUT /apis/coordination.k8s.io/v1/namespaces/shop/leases/web": {&coordinationv1.Lease{ObjectMeta: meta}, func() (metav1.Object, error) {
					return c.Leases("shop").Update(ctx, &coordinationv1.Lease{ObjectMeta: meta}, metav1.UpdateOptions{})
				}},
				"PATCH /apis/gimbal.heptio.com/v1/namespaces/shop/discoverybackends/web/status?fieldManager=me&force=true": {&gimbalv1.DiscoveryBackend{ObjectMeta: meta}, func() (metav1.Object, error) {
					return c.DiscoveryBackends("shop").Patch(ctx, "web", types.ApplyPatchType, []byte("{}"), metav1.PatchOptions{FieldManager: "me", Force: new(true)}, "status")
				}},
			} {
				server.response = test.response
				got, err := test.do()
				if err != nil || got.GetName() != "web" || got.GetUID() != "u" || got.GetResourceVersion() != "7" {
					t.Errorf("%s: %+v, %v", want, got, err)
				}
				if server.request != want {
					t.Errorf("%s, want %s", server.request, want)
				}
			}
		})
	}
}

func TestList(t *testing.T) {
	server, c := newServer(t, runtime.ContentTypeProtobuf)
	server.response = &corev1.ServiceList{ListMeta: metav1.ListMeta{Continue: "more"}, Items: []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}}
	list, err := c.Services("").List(t.Context(), metav1.ListOptions{LabelSelector: "a=b", Limit: 5, TimeoutSeconds: new(int64(9))})
	if err != nil || len(list.Items) != 1 || list.Continue != "more" || server.request != "GET /api/v1/services?labelSelector=a%3Db&limit=5&timeout=9s&timeoutSeconds=9" {
		t.Errorf("%s: %+v, %v", server.request, list, err)
	}
}

// TestDelete checks that the preconditions of a deletion are sent, and that a rejection is returned.
func TestDelete(t *testing.T) {
	server, c := newServer(t, runtime.ContentTypeJSON)
	server.status, server.response = http.StatusConflict, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonConflict, Code: http.StatusConflict}
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: new(types.UID("u")), ResourceVersion: new("7")}}
	if err := c.Services("shop").Delete(t.Context(), "web", options); !apierrors.IsConflict(err) {
		t.Error(err)
	}
	if server.request != "DELETE /api/v1/namespaces/shop/services/web" || !strings.Contains(server.body, `"preconditions":{"uid":"u","resourceVersion":"7"}`) {
		t.Errorf("%s: %s", server.request, server.body)
	}
}

// All kinds share the limit of a client.
func TestLimit(t *testing.T) {
	c, err := New(&rest.Config{Host: "http://localhost", QPS: 3, Burst: 4})
	if err != nil {
		t.Fatal(err)
	}
	if limiter := c.core.GetRateLimiter(); limiter == nil || limiter.QPS() != 3 || limiter != c.gimbal.GetRateLimiter() {
		t.Errorf("%v", limiter)
	}
}
