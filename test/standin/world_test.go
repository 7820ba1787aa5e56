// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	cloudfake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// world is a stand-in between a cluster and a cloud that are both fakes.
type world struct {
	*Standin
	t       *testing.T
	cloud   *cloudfake.Server
	cluster kubernetes.Interface
	dynamic dynamic.Interface

	mu    sync.Mutex
	lines []string
}

func newWorld(t *testing.T, objects ...runtime.Object) *world {
	t.Helper()
	w := &world{t: t, cloud: cloudfake.New(cloudfake.Options{}), cluster: fake.NewClientset(objects...)}
	t.Cleanup(w.cloud.Close)
	w.cloud.AddUser("demo", "testbed", "demo")
	network := w.cloud.AddNetwork("10.0.0.0/24")
	external := w.cloud.AddExternalNetwork("203.0.113.0/24")
	w.cloud.AddRouter("demo", network)
	w.cluster.(*fake.Clientset).Resources = []*metav1.APIResourceList{{GroupVersion: snapshotVersion.String()}}
	w.dynamic = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		snapshots: "VolumeSnapshotList", contents: "VolumeSnapshotContentList", snapshotClasses: "VolumeSnapshotClassList"})
	credentials := Credentials{AuthURL: w.cloud.AuthURL(), User: "demo", Password: "testbed", Project: "demo"}
	plain := newCloud(credentials)
	if err := plain.login(t.Context()); err != nil {
		t.Fatal(err)
	}
	subnets, err := find[named](t.Context(), plain, "network/v2.0/subnets", "subnets", url.Values{"network_id": {network}})
	if err != nil || len(subnets) != 1 {
		t.Fatalf("subnets %v, %v", subnets, err)
	}
	w.Standin, err = Start(context.Background(), Config{
		Kubernetes: w.cluster, Dynamic: w.dynamic, Cloud: credentials, ClusterName: "k", ClusterID: "shop-k", SubnetID: subnets[0].ID,
		FloatingNetworkID: external, Log: w.log,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	return w
}

func (w *world) log(line string) {
	w.t.Log(line)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, line)
}

// Waits until the stand-in has reported something.
func (w *world) instructed(text string) {
	w.t.Helper()
	eventually(w.t, "it logged "+text, func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return slices.ContainsFunc(w.lines, func(line string) bool { return strings.Contains(line, text) })
	})
}

// eventually waits until a condition holds; the cloud has nothing to watch.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-ticker.C:
		case <-deadline:
			t.Fatalf("not within 30 seconds: %s", what)
		}
	}
}

func service(name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}},
	}
	for _, c := range change {
		c(s)
	}
	return s
}

func (w *world) service(name string) *corev1.Service {
	w.t.Helper()
	s, err := w.cluster.CoreV1().Services("default").Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// served waits until a Service has its address.
func (w *world) served(name string) *corev1.Service {
	w.t.Helper()
	eventually(w.t, name+" has an address", func() bool { return len(w.service(name).Status.LoadBalancer.Ingress) == 1 })
	return w.service(name)
}

// end is the deletion of an object with finalizers, which the fake of Kubernetes does not know.
func end(object metav1.Object) { object.SetDeletionTimestamp(new(metav1.Now())) }

func class(name, provisioner string, change ...func(*storagev1.StorageClass)) *storagev1.StorageClass {
	c := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner}
	for _, change := range change {
		change(c)
	}
	return c
}

func claim(name, class string, change ...func(*corev1.PersistentVolumeClaim)) *corev1.PersistentVolumeClaim {
	c := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec: corev1.PersistentVolumeClaimSpec{StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1500Mi")}}},
	}
	for _, change := range change {
		change(c)
	}
	return c
}

// provisioned waits for the PersistentVolume of a claim.
func (w *world) provisioned(claim string) *corev1.PersistentVolume {
	w.t.Helper()
	var v *corev1.PersistentVolume
	eventually(w.t, claim+" has a volume", func() bool {
		var err error
		v, err = w.cluster.CoreV1().PersistentVolumes().Get(w.t.Context(), "pvc-uid-"+claim, metav1.GetOptions{})
		return err == nil
	})
	return v
}

// bind is what the controller of volumes does with a claim and its volume.
func (w *world) bind(c *corev1.PersistentVolumeClaim) {
	w.t.Helper()
	c.Spec.VolumeName = "pvc-" + string(c.UID)
	if _, err := w.cluster.CoreV1().PersistentVolumeClaims("default").Update(w.t.Context(), c, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// released is what that controller does when the claim has been deleted.
func (w *world) released(v *corev1.PersistentVolume) {
	w.t.Helper()
	v.Status.Phase = corev1.VolumeReleased
	if _, err := w.cluster.CoreV1().PersistentVolumes().UpdateStatus(w.t.Context(), v, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// object returns one without a Go type.
func object(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: fields}
	o.SetGroupVersionKind(snapshotVersion.WithKind(kind))
	o.SetNamespace(namespace)
	o.SetName(name)
	o.SetUID(types.UID("uid-" + name))
	return o
}
