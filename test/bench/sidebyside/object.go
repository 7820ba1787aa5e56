// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/scheme"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
)

// The object of the comparison is the Translation of a pod: the kind of which there are most. It has the finalizer that
// Groundskeeper's server gives each of them, so that the same two requests delete it on either side.
const (
	finalizer = "midonet.org/deleter"
	plural    = "translations"
	// crdGroup serves the same kind by a CustomResourceDefinition.
	crdGroup = "bench.groundskeeper.io"
	// crdPrefix and ownPrefix are those of their keys in etcd.
	crdPrefix = "/registry/" + crdGroup + "/" + plural + "/"
	ownPrefix = "/registry-groundskeeper/" + midonetv1.GroupName + "/" + plural + "/"
)

// newTranslation returns the i-th object: a port and its binding, as for a pod. The value is stored in an annotation.
func newTranslation(namespace, name string, i int, value string) *midonetv1.Translation {
	port, bridge, host := portID(namespace, i), bridgeID(i), fakemidonet.HostID(hostName(i))
	t := &midonetv1.Translation{}
	t.Namespace, t.Name = namespace, name
	t.Labels = map[string]string{"app.kubernetes.io/managed-by": "bench", "midonet.org/owner-uid": uuid(4, i)}
	t.Annotations = map[string]string{"bench.groundskeeper.io/value": value}
	t.Finalizers = []string{finalizer}
	t.Resources = []midonetv1.BackendResource{
		{Kind: "Port", Parent: bridge, Body: fmt.Sprintf(`{"adminStateUp":true,"id":%q,"type":"Bridge"}`, port)},
		{Kind: "HostInterfacePort", Parent: host, Body: fmt.Sprintf(`{"hostId":%q,"interfaceName":"veth%08x","portId":%q}`, host, i, port)},
	}
	return t
}

// portID returns the i-th port of a namespace: a port is of one Translation alone, which Groundskeeper's server sees to.
func portID(namespace string, i int) string {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(namespace))
	return fmt.Sprintf("%08x-0000-5000-8000-%012x", sum.Sum32(), i)
}

// devices is how many hosts, and bridges, the ports are on.
const devices = 20

// hostName returns the host of the i-th port, in a fake of MidoNet, and bridgeID its bridge.
func hostName(i int) string { return fmt.Sprintf("bench-%d", i%devices) }
func bridgeID(i int) string { return uuid(2, i%devices) }

// uuid returns the i-th id of a kind of things.
func uuid(kind, i int) string { return fmt.Sprintf("%08x-0000-5000-8000-%012x", kind, i) }

// encoder makes the body of a request.
type encoder func(*midonetv1.Translation) ([]byte, error)

// jsonAs encodes objects in JSON, as of a group.
func jsonAs(group string) encoder {
	return func(t *midonetv1.Translation) ([]byte, error) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(t)
		if err != nil {
			return nil, err
		}
		delete(content, "status")
		unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
		content["apiVersion"], content["kind"] = group+"/v1", "Translation"
		return json.Marshal(content)
	}
}

// asProtobuf encodes objects of Groundskeeper's group in protobuf.
func asProtobuf(t *midonetv1.Translation) ([]byte, error) {
	serializer := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme)
	t = t.DeepCopy()
	t.SetGroupVersionKind(midonetv1.SchemeGroupVersion.WithKind("Translation"))
	var out strings.Builder
	if err := serializer.Encode(t, &out); err != nil {
		return nil, err
	}
	return []byte(out.String()), nil
}

// decode reads a response in either encoding.
func decode(response []byte) (*midonetv1.Translation, error) {
	t := &midonetv1.Translation{}
	if strings.HasPrefix(string(response), "{") {
		return t, json.Unmarshal(response, t)
	}
	_, _, err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Decode(response, nil, t)
	return t, err
}
