// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

func TestMapping(t *testing.T) {
	translation := func(edits ...func(*midonetv1.Translation)) *midonetv1.Translation {
		made := made("x.4.y", edits...)
		made.Namespace = "shop"
		return made
	}
	host := testPod("host", "a")
	host.Spec.HostNetwork = true
	w := newWorld(t, testPod("web-0", "a"), testPod("web-1", "b"), testPod("idle", ""), host)
	to := mapper{cache: w.Server}
	for name, tc := range map[string]struct {
		of     func(context.Context, client.Object) []unit
		object client.Object
		want   []unit
	}{
		"node":              {ofNode, testNode("a"), []unit{nodeA}},
		"pod":               {ofPod, testPod("web-0", "a"), []unit{podWeb}},
		"service":           {ofService, testService("front"), []unit{front}},
		"slice":             {ofSlice, testSlice("front", "1"), []unit{front}},
		"slice of nothing":  {ofSlice, &discoveryv1.EndpointSlice{}, nil},
		"pods of a node":    {to.podsOf, testNode("a"), []unit{podWeb}},
		"no pods":           {to.podsOf, testNode("c"), []unit{}},
		"of a node":         {ofTranslation, translation(ownedBy("Node", "a", "x")), []unit{nodeA}},
		"of a pod":          {ofTranslation, translation(ownedBy("Pod", "web-0", "x")), []unit{podWeb}},
		"of a service":      {ofTranslation, translation(ownedBy("Service", "front", "x")), []unit{front}},
		"of endpoints":      {ofTranslation, translation(ownedBy("Endpoints", "front", "x")), []unit{front}},
		"of something else": {ofTranslation, translation(ownedBy("ConfigMap", "front", "x")), nil},
		"of another API's service": {ofTranslation, translation(ownedBy("Service", "front", "x"), func(t *midonetv1.Translation) {
			t.OwnerReferences[0].APIVersion = "serving.knative.dev/v1"
		}), nil},
		"of nothing": {ofTranslation, translation(unowned), nil},
		"global":     {ofTranslation, translation(labelled(midonetv1.LabelGlobal, ""), unowned), []unit{{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.of(t.Context(), tc.object), cmp.AllowUnexported(unit{})); diff != "" {
				t.Error(diff)
			}
		})
	}
	broken := mapper{cache: interceptor.NewClient(w.Server, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("no cache")
		},
	})}
	if got := broken.podsOf(t.Context(), testNode("a")); got != nil {
		t.Errorf("found %v", got)
	}
}

// TestChanged checks that an update triggers a reconciliation only if it changes a field that is read.
func TestChanged(t *testing.T) {
	ready := func(ready bool) func(client.Object) {
		return func(o client.Object) {
			o.(*discoveryv1.EndpointSlice).Endpoints[0].Conditions.Ready = &ready
		}
	}
	label := func(o client.Object) { o.SetLabels(map[string]string{"app": "x"}) }
	for name, tc := range map[string]struct {
		object client.Object
		edit   func(client.Object)
		want   bool
	}{
		"heartbeat": {testNode("a"), func(o client.Object) {
			o.(*corev1.Node).Status.Conditions = []corev1.NodeCondition{{LastHeartbeatTime: metav1.Now()}}
		}, false},
		"label of a node": {testNode("a"), label, false},
		"other annotation": {testNode("a"), func(o client.Object) {
			o.GetAnnotations()["other"] = "x"
		}, false},
		"host-id": {testNode("a"), func(o client.Object) {
			o.SetAnnotations(map[string]string{midonetv1.AnnotationHostID: hostB})
		}, true},
		"tunnel zone": {testNode("a"), func(o client.Object) { o.GetAnnotations()[midonetv1.AnnotationTunnelZoneID] = "" }, true},
		"address": {testNode("a"), func(o client.Object) {
			o.(*corev1.Node).Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1"}}
		}, true},
		"pod address":  {testPod("p", "a"), func(o client.Object) { o.(*corev1.Pod).Status.PodIP = "10.1.0.9" }, true},
		"pod ends":     {testPod("p", "a"), func(o client.Object) { o.(*corev1.Pod).Status.Phase = corev1.PodSucceeded }, true},
		"pod is ready": {testPod("p", "a"), func(o client.Object) { o.(*corev1.Pod).Status.Conditions = []corev1.PodCondition{{}} }, false},
		"pod label":    {testPod("p", "a"), label, true},
		"port without a name": {testPod("p", "a"), func(o client.Object) {
			o.(*corev1.Pod).Spec.Containers = []corev1.Container{{Image: "x", Ports: []corev1.ContainerPort{{ContainerPort: 80}}}}
		}, false},
		"port with a name": {testPod("p", "a"), func(o client.Object) {
			o.(*corev1.Pod).Spec.Containers = []corev1.Container{{Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 80}}}}
		}, true},
		"deletion":            {testPod("p", "a"), func(o client.Object) { o.SetDeletionTimestamp(new(metav1.Unix(1, 0))) }, true},
		"label of a service":  {testService("s"), label, false},
		"port":                {testService("s"), func(o client.Object) { o.(*corev1.Service).Spec.Ports[0].Port = 81 }, true},
		"session affinity":    {testService("s"), func(o client.Object) { requesting(o.(*corev1.Service)) }, true},
		"target port":         {testService("s"), func(o client.Object) { o.(*corev1.Service).Spec.Ports[0].TargetPort.IntVal = 81 }, false},
		"endpoint is deleted": {testSlice("s", "1", "10.1.0.1"), ready(false), true},
		"endpoint is terminating": {testSlice("s", "1", "10.1.0.1"), func(o client.Object) {
			o.(*discoveryv1.EndpointSlice).Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Terminating: new(true)}
		}, true},
		"endpoint is ready": {testSlice("s", "1", "10.1.0.1"), ready(true), false},
		"slice moves": {testSlice("s", "1"), func(o client.Object) {
			o.SetLabels(map[string]string{discoveryv1.LabelServiceName: "other"})
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			tc.object.SetResourceVersion("1")
			after := tc.object.DeepCopyObject().(client.Object)
			after.SetResourceVersion("2")
			tc.edit(after)
			if got := changed().Update(event.UpdateEvent{ObjectOld: tc.object, ObjectNew: after}); got != tc.want {
				t.Errorf("passes: %v", got)
			}
			if !changed().Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after}) {
				t.Error("a resync does not pass")
			}
			if after.GetResourceVersion() != "2" {
				t.Error("the object in the cache was changed")
			}
		})
	}
}

func TestSwitchChanged(t *testing.T) {
	before, after := testNode("a"), testNode("a")
	p := switchChanged()
	if p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) || p.Create(event.CreateEvent{Object: after, IsInInitialList: true}) ||
		p.Delete(event.DeleteEvent{Object: after}) {
		t.Error("the pods of a node come for nothing")
	}
	delete(after.Annotations, midonetv1.AnnotationHostID)
	if !p.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) || !p.Create(event.CreateEvent{Object: after}) {
		t.Error("the pods of a node do not come")
	}
	for name, edit := range map[string]func(*corev1.Node){
		"podCIDR":     func(n *corev1.Node) { n.Spec.PodCIDR = "10.9.0.0/24" },
		"podCIDRs":    func(n *corev1.Node) { n.Spec.PodCIDRs = []string{"10.9.0.0/24", "fd01::/64"} },
		"chassis":     func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationOVNChassis] = "c" },
		"gateway":     func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationOVNGatewayNetwork] = "physnet1" },
		"MAC address": func(n *corev1.Node) { n.Annotations[midonetv1.AnnotationMACAddress] = "02:00:00:00:00:01" },
	} {
		t.Run(name, func(t *testing.T) {
			changed := testNode("a")
			edit(changed)
			if !p.Update(event.UpdateEvent{ObjectOld: testNode("a"), ObjectNew: changed}) {
				t.Error("the pods of the node are not reconciled")
			}
		})
	}
}

func TestTranslationChanged(t *testing.T) {
	for name, tc := range map[string]struct {
		edit func(*midonetv1.Translation)
		want bool
	}{
		"status":     {func(t *midonetv1.Translation) { t.Status.ObservedGeneration = 1 }, false},
		"resources":  {func(t *midonetv1.Translation) { t.Generation++ }, true},
		"label":      {func(t *midonetv1.Translation) { t.Labels = nil }, true},
		"owner":      {func(t *midonetv1.Translation) { t.OwnerReferences = nil }, true},
		"finalizer":  {func(t *midonetv1.Translation) { t.Finalizers = nil }, true},
		"deletion":   {going, true},
		"another":    {func(t *midonetv1.Translation) { t.UID = "x" }, true},
		"annotation": {func(t *midonetv1.Translation) { t.Annotations = map[string]string{"a": "b"} }, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := made("x.4.y"), made("x.4.y")
			after.ResourceVersion = "8"
			tc.edit(after)
			if got := translationChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
				t.Errorf("passes: %v", got)
			}
		})
	}
	p, object := translationChanged(), made("x.4.y")
	if p.Create(event.CreateEvent{Object: object, IsInInitialList: true}) || !p.Create(event.CreateEvent{Object: object}) || !p.Delete(event.DeleteEvent{Object: object}) {
		t.Error("creations and deletions")
	}
}

// TestIndexes checks that the indexes are those that the reconciler lists by.
func TestIndexes(t *testing.T) {
	indexer := &indexes{}
	if err := addIndexes(t.Context(), indexer, true); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"*v1.EndpointSlice translation-convert/service", "*v1.NetworkPolicy translation-convert/across", "*v1.Node translation-convert/nodeAddress",
		"*v1.Pod translation-convert/node", "*v1.Pod translation-convert/podAddress", "*v1.Service translation-convert/address",
	}
	slices.Sort(indexer.added)
	if diff := cmp.Diff(want, indexer.added); diff != "" {
		t.Error(diff)
	}
	if err := addIndexes(t.Context(), &indexes{err: errors.New("there already")}, false); err == nil {
		t.Error("an index that cannot be added is no error")
	}
}

type indexes struct {
	added []string
	err   error
}

// IndexField implements client.FieldIndexer.
func (i *indexes) IndexField(_ context.Context, object client.Object, field string, _ client.IndexerFunc) error {
	i.added = append(i.added, fmt.Sprintf("%T %s", object, field))
	return i.err
}

func TestUnitNames(t *testing.T) {
	for want, u := range map[string]unit{"globals": {}, "Node a": nodeA, "Pod shop/web-0": podWeb} {
		if u.String() != want {
			t.Errorf("%q, want %q", u, want)
		}
	}
	if labelOf(unit{}) != "global" || labelOf(unit{kind: convert.KindPod}) != "pod" {
		t.Error("labels of kinds")
	}
}
