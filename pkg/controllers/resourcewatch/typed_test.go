// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

var slicesV1 = discoveryv1.SchemeGroupVersion.WithResource("endpointslices")

// typedKind caches the type of the addresses of EndpointSlices.
func typedKind() Kind {
	return Kind{
		GroupResource: slicesV1.GroupResource(), Versions: []string{slicesV1.Version},
		Typed: As(&discoveryv1.EndpointSlice{}, func(slice *discoveryv1.EndpointSlice) any { return slice.AddressType }),
	}
}

func endpointSlice(addresses discoveryv1.AddressType, version string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "s", UID: "1", ResourceVersion: version}, AddressType: addresses}
}

// protobufServer serves one EndpointSlice, as protobuf only, and its changes.
type protobufServer struct {
	*testing.T
	scheme  *runtime.Scheme
	info    runtime.SerializerInfo
	codecs  serializer.CodecFactory
	changes chan *discoveryv1.EndpointSlice
}

func newProtobufServer(t *testing.T) *protobufServer {
	t.Helper()
	s := &protobufServer{T: t, scheme: runtime.NewScheme(), changes: make(chan *discoveryv1.EndpointSlice)}
	if err := discoveryv1.AddToScheme(s.scheme); err != nil {
		t.Fatal(err)
	}
	s.codecs = serializer.NewCodecFactory(s.scheme)
	s.info, _ = runtime.SerializerInfoForMediaType(s.codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	return s
}

func (s *protobufServer) encode(object runtime.Object) []byte {
	text, err := runtime.Encode(s.codecs.EncoderForVersion(s.info.Serializer, slicesV1.GroupVersion()), object)
	if err != nil {
		s.Error(err)
	}
	return text
}

func (s *protobufServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	accept := r.Header.Get("Accept")
	all, in := "/apis/discovery.k8s.io/v1/endpointslices", "/apis/discovery.k8s.io/v1/namespaces/a/endpointslices"
	if r.URL.Path != all && r.URL.Path != in || !strings.HasPrefix(accept, runtime.ContentTypeProtobuf) {
		s.Errorf("request for %s, Accept %q", r.URL.Path, accept)
		http.Error(w, "not acceptable", http.StatusNotAcceptable)
		return
	}
	first := endpointSlice(discoveryv1.AddressTypeIPv4, "7")
	if r.URL.Query().Get("watch") == "" {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_, _ = w.Write(s.encode(&discoveryv1.EndpointSliceList{ListMeta: metav1.ListMeta{ResourceVersion: "7"}, Items: []discoveryv1.EndpointSlice{*first}}))
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeProtobuf+";stream=watch")
	events := streaming.NewEncoder(s.info.StreamSerializer.NewFrameWriter(w), s.codecs.EncoderForVersion(s.info.StreamSerializer.Serializer, slicesV1.GroupVersion()))
	send := func(what apiwatch.EventType, slice *discoveryv1.EndpointSlice) {
		if err := events.Encode(&metav1.WatchEvent{Type: string(what), Object: runtime.RawExtension{Raw: s.encode(slice)}}); err != nil {
			s.Error(err)
		}
		_ = http.NewResponseController(w).Flush()
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		send(apiwatch.Added, first)
		end := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7", Annotations: map[string]string{metav1.InitialEventsAnnotationKey: "true"}}}
		send(apiwatch.Bookmark, end)
	}
	for {
		select {
		case slice := <-s.changes:
			send(apiwatch.Modified, slice)
		case <-r.Context().Done():
			return
		}
	}
}

// Objects of a kind with a Go type are requested as protobuf, by watches and by live lists.
func TestTypedKindsAreReadAsProtobuf(t *testing.T) {
	s := newProtobufServer(t)
	server := httptest.NewServer(s)
	defer server.Close()
	source := Source{Typed: func(example runtime.Object) (rest.Interface, error) {
		kind, err := apiutil.GVKForObject(example, s.scheme)
		if err != nil {
			return nil, err
		}
		return apiutil.RESTClientForGVK(kind, false, false, &rest.Config{Host: server.URL}, s.codecs, server.Client())
	}}
	find := func(context.Context, *Kind) (*schema.GroupVersionResource, error) { return &slicesV1, nil }
	set := NewSet(find, source, clock.RealClock{}, time.Hour, typedKind())
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = set.Start(ctx) })
	defer group.Wait()
	defer cancel()
	if err := set.Settled(ctx, slicesV1.GroupResource()); err != nil {
		t.Fatal(err)
	}
	value := func(reader Reader) any {
		t.Helper()
		found, err := reader.Find(ctx, slicesV1.GroupResource(), Query{Namespace: "a", Name: "s"})
		if err != nil || len(found) != 1 {
			t.Fatalf("found %v, %v, want one EndpointSlice", found, err)
		}
		return found[0].Value
	}
	for name, reader := range map[string]Reader{"watched": set.Watched(), "live": set.Live(0)} {
		if got := value(reader); got != discoveryv1.AddressTypeIPv4 {
			t.Errorf("%s: value = %v, want %s", name, got, discoveryv1.AddressTypeIPv4)
		}
	}
	s.changes <- endpointSlice(discoveryv1.AddressTypeIPv6, "8")
	eventually(t, func() bool { return value(set.Watched()) == discoveryv1.AddressTypeIPv6 })
}

// An object of a kind with a Go type that was read as JSON has the same value, and none if it is not of the type.
func TestTypedKindsFromJSON(t *testing.T) {
	kind := typedKind()
	object := &unstructured.Unstructured{Object: map[string]any{"addressType": "IPv4"}}
	if got := kind.object(object).Value; got != discoveryv1.AddressTypeIPv4 {
		t.Errorf("value = %v, want %s", got, discoveryv1.AddressTypeIPv4)
	}
	object.Object["endpoints"] = "none"
	for _, other := range []metav1.Object{object, &metav1.PartialObjectMetadata{}} {
		if got := kind.object(other).Value; got != nil {
			t.Errorf("value of %v = %v, want none", other, got)
		}
	}
}
