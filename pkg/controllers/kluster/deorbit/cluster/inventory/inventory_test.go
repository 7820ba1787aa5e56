// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// TestForeignVolumeOf checks that a volume of another CSI driver keeps the id under which that has it.
func TestForeignVolumeOf(t *testing.T) {
	v := VolumeOf(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: "nfs.manila.csi.openstack.org", VolumeHandle: "share-1"},
	}}})
	if v.ID != "" || v.Driver != "nfs.manila.csi.openstack.org" || v.Handle != "share-1" {
		t.Errorf("got %+v, want the handle share-1 of the driver, and no volume of Cinder", v)
	}
}

func TestVolumeOf(t *testing.T) {
	bound := &corev1.ObjectReference{Namespace: "shop", Name: "data", UID: "u"}
	for name, c := range map[string]struct {
		source     corev1.PersistentVolumeSource
		reclaim    corev1.PersistentVolumeReclaimPolicy
		claim      *corev1.ObjectReference
		id, policy string
	}{
		"share": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "nfs.manila.csi.openstack.org", VolumeHandle: "v",
			VolumeAttributes: map[string]string{"shareID": "v", "shareAccessID": "a"}}}, "Delete", bound, "v", "Delete"},
		"share under the name of the driver alone": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "manila.csi.openstack.org",
			VolumeHandle: "v", VolumeAttributes: map[string]string{"shareID": "v"}}}, "Retain", bound, "v", "Retain"},
		"share under another handle": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "nfs.manila.csi.openstack.org",
			VolumeHandle: "by-hand", VolumeAttributes: map[string]string{"shareID": "v"}}}, "Delete", bound, "", "Delete"},
		"a driver with such a name": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "notmanila.csi.openstack.org",
			VolumeHandle: "v", VolumeAttributes: map[string]string{"shareID": "v"}}}, "Delete", bound, "", "Delete"},
		"csi":          {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: DriverCinder, VolumeHandle: "v"}}, "Delete", bound, "v", "Delete"},
		"in-tree":      {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "Delete", bound, "v", "Delete"},
		"kept":         {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "Retain", bound, "v", "Retain"},
		"recycled":     {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "Recycle", bound, "v", "Retain"},
		"unclaimed":    {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "Delete", nil, "v", ""},
		"reserved":     {corev1.PersistentVolumeSource{Cinder: &corev1.CinderPersistentVolumeSource{VolumeID: "v"}}, "Delete", &corev1.ObjectReference{Name: "data"}, "v", ""},
		"other driver": {corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "other", VolumeHandle: "v"}}, "Delete", bound, "", "Delete"},
		"local":        {corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}, "Delete", bound, "", "Delete"},
	} {
		v := VolumeOf(&corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: c.source, PersistentVolumeReclaimPolicy: c.reclaim, ClaimRef: c.claim}})
		isShare := v.ID != "" && c.source.CSI != nil && c.source.CSI.Driver != DriverCinder
		if v.ID != c.id || v.Policy() != c.policy || v.Share != isShare {
			t.Errorf("%s: %+v, %s", name, v, v.Policy())
		}
	}
}

func TestOwnClaims(t *testing.T) {
	now := time.Now()
	claim := func(change func(*corev1.PersistentVolumeClaim)) Claim {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "u", Annotations: map[string]string{}}}
		change(c)
		return ClaimOf(c)
	}
	class := func(name, provisioner string, age time.Duration, annotation string) Class {
		return ClassOf(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age)),
			Annotations: map[string]string{annotation: "true"}}, Provisioner: provisioner})
	}
	const usual, betaUsual = "storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"
	classes := []Class{class("csi", DriverCinder, time.Hour, ""), class("tree", ProvisionerInTree, time.Hour, ""), class("other", "other", time.Hour, "")}
	cinderIsUsual := append([]Class{class("usual", DriverCinder, time.Minute, usual), class("old", "other", time.Hour, usual)}, classes...)
	otherIsUsual := append([]Class{class("usual", "other", time.Minute, betaUsual), class("old", DriverCinder, time.Hour, usual)}, classes...)
	named := func(name string) func(*corev1.PersistentVolumeClaim) {
		return func(c *corev1.PersistentVolumeClaim) { c.Spec.StorageClassName = &name }
	}
	volumes := []Volume{{Meta: Meta{Name: "ours"}, ID: "v"}, {Meta: Meta{Name: "others"}}, {Meta: Meta{Name: "new"}, ID: "n", Claim: Reference{UID: "new"}}, {Meta: Meta{Name: "new-other"}, Claim: Reference{UID: "new-other"}}}
	for name, c := range map[string]struct {
		classes []Class
		change  func(*corev1.PersistentVolumeClaim)
		own     bool
		id      string
	}{
		"bound":                        {classes, func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "ours" }, true, "v"},
		"bound, another's class":       {classes, func(c *corev1.PersistentVolumeClaim) { named("other")(c); c.Spec.VolumeName = "ours" }, true, "v"},
		"bound to another's":           {classes, func(c *corev1.PersistentVolumeClaim) { c.Spec.VolumeName = "others" }, false, ""},
		"bound to another's, in class": {classes, func(c *corev1.PersistentVolumeClaim) { named("csi")(c); c.Spec.VolumeName = "others" }, false, ""},
		"being bound":                  {classes, func(c *corev1.PersistentVolumeClaim) { named("csi")(c); c.UID = "new" }, true, "n"},
		"being bound to another's":     {classes, func(c *corev1.PersistentVolumeClaim) { named("csi")(c); c.UID = "new-other" }, false, ""},
		"volume is lost":               {classes, func(c *corev1.PersistentVolumeClaim) { named("csi")(c); c.Spec.VolumeName = "lost" }, true, ""},
		"volume is lost, another's":    {classes, func(c *corev1.PersistentVolumeClaim) { named("other")(c); c.Spec.VolumeName = "lost" }, false, ""},
		"pending, CSI":                 {classes, named("csi"), true, ""},
		"pending, in-tree":             {classes, named("tree"), true, ""},
		"pending, another's":           {classes, named("other"), false, ""},
		"pending, by annotation": {classes, func(c *corev1.PersistentVolumeClaim) {
			named("other")(c)
			c.Annotations[corev1.BetaStorageClassAnnotation] = "csi"
		}, true, ""},
		"no class, Cinder is usual":  {cinderIsUsual, func(*corev1.PersistentVolumeClaim) {}, true, ""},
		"no class, another is usual": {otherIsUsual, func(*corev1.PersistentVolumeClaim) {}, false, ""},
		"no class, none is usual":    {classes, func(*corev1.PersistentVolumeClaim) {}, false, ""},
		"explicitly without class":   {cinderIsUsual, named(""), false, ""},
		"class has been deleted": {classes, func(c *corev1.PersistentVolumeClaim) {
			named("gone")(c)
			c.Annotations["volume.kubernetes.io/storage-provisioner"] = DriverCinder
		}, true, ""},
		"class has been deleted, old annotation": {classes, func(c *corev1.PersistentVolumeClaim) {
			named("gone")(c)
			c.Annotations["volume.beta.kubernetes.io/storage-provisioner"] = ProvisionerInTree
		}, true, ""},
		"class has been deleted, not queried": {classes, named("gone"), false, ""},
		"another's class, Cinder queried before": {classes, func(c *corev1.PersistentVolumeClaim) {
			named("other")(c)
			c.Annotations["volume.kubernetes.io/storage-provisioner"] = DriverCinder
		}, false, ""},
	} {
		w := World{Volumes: volumes, Classes: c.classes, Claims: []Claim{claim(c.change)}}
		found := w.OwnClaims()
		if (len(found) == 1) != c.own || c.own && found[0].ID != c.id {
			t.Errorf("%s: %+v", name, found)
		}
	}
}

func TestHasOwn(t *testing.T) {
	for name, c := range map[string]struct {
		world World
		want  bool
	}{
		"nothing":     {World{}, false},
		"others":      {World{Volumes: []Volume{{Meta: Meta{Name: "a"}}}, Claims: []Claim{{Volume: "a"}}}, false},
		"volume only": {World{Volumes: []Volume{{ID: "v"}}}, true},
		"claim only":  {World{Claims: []Claim{{Provisioner: DriverCinder}}}, true},
	} {
		if got := c.world.HasOwn(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestPodOf(t *testing.T) {
	deleted := metav1.Now()
	p := PodOf(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", DeletionTimestamp: &deleted, DeletionGracePeriodSeconds: new(int64(0)), Annotations: map[string]string{corev1.MirrorPodAnnotationKey: ""}},
		Spec: corev1.PodSpec{NodeName: "n", Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}},
			{Name: "tmp", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
			{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		}},
	})
	if !p.Mirror || !p.Killed || !p.Deleting() || p.Node != "n" || len(p.Claims) != 2 || p.Claims[0] != (Use{Claim: "data"}) || p.Claims[1] != (Use{Claim: "p-tmp", Own: true}) {
		t.Errorf("%+v", p)
	}
}

func TestIsReady(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: true, corev1.ConditionFalse: false, corev1.ConditionUnknown: false} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: status}}}}
		if IsReady(node) != want {
			t.Errorf("%s", status)
		}
	}
	if IsReady(&corev1.Node{}) {
		t.Error("nothing reports that it is")
	}
}

func TestServiceOf(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Service)
		ok     bool
		want   Service
	}{
		"plain":    {func(*corev1.Service) {}, false, Service{}},
		"balancer": {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }, true, Service{LoadBalancer: true}},
		"with class": {func(s *corev1.Service) {
			s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeLoadBalancer, new("c")
		}, true, Service{LoadBalancer: true, Class: "c"}},
		"was one": {func(s *corev1.Service) { s.Finalizers = []string{LoadBalancerFinalizer} }, true, Service{}},
		"keeps it": {func(s *corev1.Service) {
			s.Spec.Type, s.Annotations[KeepFloatingIPAnnotation] = corev1.ServiceTypeLoadBalancer, "true"
		}, true, Service{LoadBalancer: true, Keep: true}},
		"not keeping": {func(s *corev1.Service) {
			s.Spec.Type, s.Annotations[KeepFloatingIPAnnotation] = corev1.ServiceTypeLoadBalancer, "false"
		}, true, Service{LoadBalancer: true}},
	} {
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
		c.change(s)
		got, ok := ServiceOf(s)
		if ok != c.ok || ok && (got.LoadBalancer != c.want.LoadBalancer || got.Class != c.want.Class || got.Keep != c.want.Keep) {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
}

// TestAddressOf checks which address of a Service identifies its load balancer.
func TestAddressOf(t *testing.T) {
	with := func(entries ...corev1.LoadBalancerIngress) []corev1.LoadBalancerIngress { return entries }
	for name, c := range map[string]struct {
		status     []corev1.LoadBalancerIngress
		annotation string
		want       string
	}{
		"nothing":                        {nil, "", ""},
		"an IP":                          {with(corev1.LoadBalancerIngress{IP: "1.2.3.4"}), "", "1.2.3.4"},
		"the IP counts":                  {with(corev1.LoadBalancerIngress{IP: "1.2.3.4"}), "1.2.3.5", "1.2.3.4"},
		"an IP next to a hostname":       {with(corev1.LoadBalancerIngress{Hostname: "web.example.com"}, corev1.LoadBalancerIngress{IP: "1.2.3.4"}), "", "1.2.3.4"},
		"a hostname":                     {with(corev1.LoadBalancerIngress{Hostname: "web.example.com"}), "", "web.example.com"},
		"a hostname and the annotation":  {with(corev1.LoadBalancerIngress{Hostname: "web.example.com"}), "1.2.3.4", "1.2.3.4"},
		"not an address":                 {with(corev1.LoadBalancerIngress{Hostname: "web.example.com"}), "front", "web.example.com"},
		"a hostname with the address":    {with(corev1.LoadBalancerIngress{Hostname: "1.2.3.4.nip.io"}), "", "1.2.3.4"},
		"a hostname with digits":         {with(corev1.LoadBalancerIngress{Hostname: "1.2.3.400.nip.io"}), "", "1.2.3.400.nip.io"},
		"an address of another domain":   {with(corev1.LoadBalancerIngress{Hostname: "1.2.3.4.example.com"}), "", "1.2.3.4.example.com"},
		"only the annotation, no status": {nil, "1.2.3.4", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
			s.Spec.Type, s.Status.LoadBalancer.Ingress = corev1.ServiceTypeLoadBalancer, c.status
			if c.annotation != "" {
				s.Annotations[LoadBalancerAddressAnnotation] = c.annotation
			}
			if got, _ := ServiceOf(s); got.Address != c.want {
				t.Errorf("address: got %q, want %q", got.Address, c.want)
			}
		})
	}
}

func TestSnapshotsOf(t *testing.T) {
	u := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "c", "uid": "u", "deletionTimestamp": "2026-11-22T12:00:00Z"},
		"spec": map[string]any{"driver": DriverCinder, "deletionPolicy": "Delete", "source": map[string]any{"snapshotHandle": "static", "volumeHandle": "v"},
			"volumeSnapshotRef": map[string]any{"namespace": "shop", "name": "s", "uid": "su"}},
	}}
	want := Reference{types.NamespacedName{Namespace: "shop", Name: "s"}, "su"}
	if c := ContentOf(u); c.Driver != DriverCinder || c.Policy() != "Delete" || c.Handle != "static" || c.Volume != "v" || c.Snapshot != want || !c.Deleting() {
		t.Errorf("%+v", c)
	}
	u.Object["status"] = map[string]any{"snapshotHandle": "taken"}
	u.Object["spec"].(map[string]any)["deletionPolicy"] = "Retain"
	if c := ContentOf(u); c.Handle != "taken" || c.Policy() != "Retain" {
		t.Errorf("%+v", c)
	}
	s := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"volumeSnapshotClassName": "k", "source": map[string]any{"volumeSnapshotContentName": "static"}}}}
	if got := SnapshotOf(s); got.Content != "static" || got.Class != "k" {
		t.Errorf("%+v", got)
	}
	s.Object["status"] = map[string]any{"boundVolumeSnapshotContentName": "bound"}
	if got := SnapshotOf(s); got.Content != "bound" {
		t.Errorf("%+v", got)
	}
	s.Object["spec"], s.Object["status"] = "nonsense", int64(7)
	if got := SnapshotOf(s); got.Content != "" || got.Class != "" {
		t.Errorf("%+v", got)
	}
}

// Only Ingresses of the Octavia ingress controller have load balancers.
func TestIngressOf(t *testing.T) {
	ingress := func(class string) *networkingv1.Ingress {
		i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
		if class != "" {
			i.Annotations = map[string]string{IngressClassAnnotation: class}
		}
		i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "1.2.3.4"}}
		return i
	}
	for class, want := range map[string]bool{"openstack": true, "nginx": false, "": false} {
		kept, ok := IngressOf(ingress(class))
		if ok != want || ok && (!kept.Ingress || !kept.LoadBalancer || kept.Address != "1.2.3.4" || kept.Name != "web") {
			t.Errorf("class %q: kept = %+v, %t, want %t", class, kept, ok, want)
		}
	}
}
