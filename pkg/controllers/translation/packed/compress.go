// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package packed

import (
	"bytes"
	"compress/flate"
	"io"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// deflater compresses. One is enough: it takes more than a megabyte, and some 30 µs for a Translation.
type deflater struct {
	mu     sync.Mutex
	writer *flate.Writer
	out    bytes.Buffer
}

var theDeflater = sync.OnceValue(func() *deflater {
	d := &deflater{}
	var err error
	if d.writer, err = flate.NewWriterDict(&d.out, flate.DefaultCompression, dictionary()); err != nil {
		panic(err) // there is such a level
	}
	return d
})

func deflate(text []byte) string {
	d := theDeflater()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out.Reset()
	d.writer.Reset(&d.out)
	_, err := d.writer.Write(text)
	if err == nil {
		err = d.writer.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return d.out.String()
}

// inflater decompresses into a dedicated buffer.
type inflater struct {
	in     strings.Reader
	reader io.ReadCloser
	out    bytes.Buffer
}

var inflaters = sync.Pool{New: func() any {
	i := &inflater{}
	i.reader = flate.NewReaderDict(&i.in, dictionary())
	return i
}}

// inflate has a function read a decompressed text, which that must not keep.
func inflate(packed string, read func([]byte) error) error {
	i := inflaters.Get().(*inflater)
	defer inflaters.Put(i)
	i.in.Reset(packed)
	i.out.Reset()
	if err := i.reader.(flate.Resetter).Reset(&i.in, dictionary()); err != nil {
		return err
	}
	if _, err := i.out.ReadFrom(i.reader); err != nil {
		return err
	}
	return read(i.out.Bytes())
}

// dictionary is what Translations have in common: the text of some, those of a Service, of its endpoints and of a Pod, unchanged
// when they are in the backend. The ones that there are most of come last, where they are found best.
var dictionary = sync.OnceValue(func() []byte {
	config := convert.Config{Tenant: "midonetkube", TunnelZoneName: "DefaultTunnelZone",
		ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP}}
	meta := func(name string, annotations map[string]string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: "default", Name: name, UID: "f3c5a4e8-7d21-4b96-a0ce-5b9d1e8f2476", Annotations: annotations}
	}
	node := &corev1.Node{ObjectMeta: meta("node", map[string]string{midonetv1.AnnotationHostID: "8a1e3f70-92c4-4d5b-b6a7-c05d8e9f1b23"})}
	service := &corev1.Service{ObjectMeta: meta("service", nil), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, ClusterIP: "10.96.0.10",
		Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
	}}
	endpoints := []*discoveryv1.EndpointSlice{{
		ObjectMeta: meta("service-x", nil), AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.1.17"}}},
		Ports:     []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}}
	pod := &corev1.Pod{
		ObjectMeta: meta("pod", map[string]string{midonetv1.AnnotationMACAddress: "ac:ca:ba:00:15:2b"}),
		Spec:       corev1.PodSpec{NodeName: node.Name},
		Status:     corev1.PodStatus{PodIP: "10.244.1.17", PodIPs: []corev1.PodIP{{IP: "10.244.1.17"}}},
	}
	var text bytes.Buffer
	for _, result := range []convert.Result{
		convert.Service(service, config), convert.Endpoints(service, endpoints, config), convert.Pod(pod, node, config),
	} {
		for i := range result.Translations {
			settle(&result.Translations[i])
			one, err := result.Translations[i].Marshal()
			if err != nil {
				panic(err) // it has nothing that has no form in protobuf
			}
			text.Write(one)
		}
	}
	return text.Bytes()
})

// settle fills in what the API server and the pusher add to a Translation.
func settle(translation *midonetv1.Translation) {
	at := metav1.NewTime(time.Unix(1767323045, 0))
	translation.UID, translation.ResourceVersion, translation.Generation = "1c9b7d52-e04f-4a86-93b1-7f6a2d8c5e90", "1", 1
	translation.CreationTimestamp = at
	translation.Status.ObservedGeneration = 1
	translation.Status.Conditions = []metav1.Condition{{
		Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue, ObservedGeneration: 1, LastTransitionTime: at, Reason: "Synced",
		Message: "The backend has all resources.",
	}}
	for _, resource := range translation.Resources {
		status := midonetv1.BackendResourceStatus{
			Kind: resource.Kind, Parent: resource.Parent, State: midonetv1.BackendResourceSynced,
			BodyHash: "5d41402abc4b2a76b9719d911017c592", LastTransitionTime: &at,
		}
		if ref, err := midonet.NewResource(resource.Kind, resource.Parent, resource.Body); err == nil {
			status.ID = ref.ID
		}
		translation.Status.Resources = append(translation.Status.Resources, status)
	}
}
