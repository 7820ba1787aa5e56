// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/test/standin"
)

// launch registers a Kluster whose cluster is the one to be torn down, with its cloud controllers. The cluster is empty again when
// the test is over.
func (o *orbit) launch(t *testing.T, name string, change func(*craft)) *craft {
	t.Helper()
	kubeconfig, err := os.ReadFile(o.workload.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	d := o.register(t, name, kubeconfig, change)
	clientset, err := kubernetes.NewForConfig(o.workload.Config())
	if err != nil {
		t.Fatal(err)
	}
	snapshots, err := dynamic.NewForConfig(o.workload.Config())
	if err != nil {
		t.Fatal(err)
	}
	config := standin.Config{
		Kubernetes: clientset, Dynamic: snapshots, ClusterName: d.cluster(), ClusterID: d.k.CSIClusterID(),
		Cloud:    standin.Credentials{AuthURL: d.authURL, User: d.user, Password: d.password, Project: d.project},
		SubnetID: o.subnet, FloatingNetworkID: o.public,
	}
	if d.realController {
		config.SubnetID = "" // no load balancers
	}
	d.standin, err = standin.Start(context.WithoutCancel(t.Context()), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.standin.Stop()
		d.clear()
	})
	d.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	return d
}

// make makes objects in the cluster to be torn down.
func (d *craft) make(objects ...client.Object) {
	d.t.Helper()
	for _, object := range objects {
		if err := d.inside.Create(d.t.Context(), object); err != nil {
			d.t.Fatal(err)
		}
	}
}

// pending returns a claim of a class, without a volume yet.
func (d *craft) pending(name, class string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: d.k.Name, Name: name}, Spec: corev1.PersistentVolumeClaimSpec{
		StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}}
}

// claim makes a claim, and waits until it is bound. It returns the id of its volume.
func (d *craft) claim(name, class string) (volume string) {
	d.t.Helper()
	d.make(d.pending(name, class))
	within(d.t, "claim "+name+" is bound", func() error {
		claim, bound := d.pending(name, class), &corev1.PersistentVolume{}
		if err := d.inside.Get(d.t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil || claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("it is %s: %w", claim.Status.Phase, err)
		}
		if err := d.inside.Get(d.t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, bound); err != nil {
			return err
		}
		volume = bound.Spec.CSI.VolumeHandle
		return nil
	})
	return volume
}

// balancer makes a Service of type LoadBalancer.
func (d *craft) balancer(name string, change func(*corev1.Service)) *corev1.Service {
	d.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: d.k.Name, Name: name}}
	service.Spec.Type, service.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80, Protocol: corev1.ProtocolTCP}}
	if change != nil {
		change(service)
	}
	d.make(service)
	return service
}

// serve makes a Service of type LoadBalancer, and waits until it has an address.
func (d *craft) serve(name string) {
	d.t.Helper()
	service := d.balancer(name, nil)
	within(d.t, "Service "+name+" has an address", func() error {
		if err := d.inside.Get(d.t.Context(), client.ObjectKeyFromObject(service), service); err != nil || len(service.Status.LoadBalancer.Ingress) != 1 {
			return fmt.Errorf("it has %v: %w", service.Status.LoadBalancer.Ingress, err)
		}
		return nil
	})
}

// snapshotAPI gives the cluster to be torn down snapshots, and a class of them.
func (o *orbit) snapshotAPI(t *testing.T) {
	t.Helper()
	for _, definition := range standin.SnapshotCRDs() {
		if err := o.inside.Create(t.Context(), definition); err != nil {
			t.Fatal(err)
		}
	}
	class := custom("VolumeSnapshotClass", "", "cinder", map[string]any{"driver": standin.Driver, "deletionPolicy": "Delete"})
	within(t, "snapshots are served", func() error {
		for _, kind := range []string{"VolumeSnapshot", "VolumeSnapshotContent"} {
			if err := o.inside.List(t.Context(), customs(kind)); err != nil {
				return err
			}
		}
		return o.inside.Create(t.Context(), class)
	})
}

// custom returns an object of the API of snapshots.
func custom(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields}
	object.SetGroupVersionKind(snapshotGroup.WithKind(kind))
	object.SetNamespace(namespace)
	object.SetName(name)
	return object
}

func customs(kind string) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(snapshotGroup.WithKind(kind + "List"))
	return list
}

// take makes a snapshot of a claim, and waits until it is there.
func (d *craft) take(name, claim string) {
	d.t.Helper()
	snapshot := custom("VolumeSnapshot", d.k.Name, name, map[string]any{"spec": map[string]any{
		"volumeSnapshotClassName": "cinder", "source": map[string]any{"persistentVolumeClaimName": claim}}})
	d.make(snapshot)
	within(d.t, "snapshot "+name+" is ready", func() error {
		if err := d.inside.Get(d.t.Context(), client.ObjectKeyFromObject(snapshot), snapshot); err != nil {
			return err
		}
		if ready, _, _ := unstructured.NestedBool(snapshot.Object, "status", "readyToUse"); !ready {
			return fmt.Errorf("%v", snapshot.Object["status"])
		}
		return nil
	})
}

// rebuild makes a claim again whenever it has been deleted, as the controller of a StatefulSet does. The result is what it was
// notified, each time, until now.
func (d *craft) rebuild(claim, class string) (responses func() []error) {
	d.t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(d.t.Context()))
	changes, err := d.inside.Watch(ctx, &corev1.PersistentVolumeClaimList{}, client.InNamespace(d.k.Name))
	if err != nil {
		cancel()
		d.t.Fatal(err)
	}
	var mu sync.Mutex
	var all []error
	var ended sync.WaitGroup
	next := d.pending(claim, class)
	ended.Go(func() {
		for change := range changes.ResultChan() {
			deleted, ok := change.Object.(*corev1.PersistentVolumeClaim)
			if !ok || change.Type != watch.Deleted || deleted.Name != claim {
				continue
			}
			err := d.inside.Create(ctx, next.DeepCopy())
			mu.Lock()
			all = append(all, err)
			mu.Unlock()
		}
	})
	d.t.Cleanup(func() {
		cancel()
		changes.Stop()
		ended.Wait()
	})
	return func() []error {
		mu.Lock()
		defer mu.Unlock()
		return append([]error(nil), all...)
	}
}

// node creates the node of the server in the cluster that is to be torn down, with a range of addresses for its pods.
func (d *craft) node(name string) string {
	d.t.Helper()
	cidr := strings.TrimSuffix(*d.k.Spec.ClusterCIDR, "0.0/16") + "1.0/24"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{ProviderID: "openstack:///" + d.nodeID, PodCIDR: cidr, PodCIDRs: []string{cidr}}}
	d.make(node)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.5"}, {Type: corev1.NodeHostName, Address: name}}
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}}
	if err := d.inside.Status().Update(d.t.Context(), node); err != nil {
		d.t.Fatal(err)
	}
	return name
}

// clear thaws the cluster and empties it, whatever keeps its objects.
func (d *craft) clear() {
	d.t.Helper()
	ctx, claim := context.Background(), d.pending("thawed", "foreign")
	claim.Namespace = metav1.NamespaceDefault
	freeze := metav1.ObjectMeta{Name: "groundskeeper-deorbit"}
	lists := []client.ObjectList{&storagev1.VolumeAttachmentList{}, &corev1.NodeList{}, &corev1.ServiceList{}, &corev1.PersistentVolumeClaimList{}, &corev1.PersistentVolumeList{}}
	if err := d.inside.List(ctx, customs("VolumeSnapshot")); err == nil {
		lists = append(lists, customs("VolumeSnapshot"), customs("VolumeSnapshotContent"))
	}
	within(d.t, "the cluster is empty and takes claims", func() error {
		errs := []error{
			client.IgnoreNotFound(d.inside.Delete(ctx, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: freeze})),
			client.IgnoreNotFound(d.inside.Delete(ctx, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: freeze})),
		}
		for _, list := range lists {
			errs = append(errs, d.inside.List(ctx, list), meta.EachListItem(list, func(item runtime.Object) error {
				object := item.(client.Object)
				if object.GetNamespace() == metav1.NamespaceDefault && object.GetName() == "kubernetes" {
					return nil
				}
				err := errors.Join(d.inside.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))), d.inside.Delete(ctx, object))
				if apierrors.IsNotFound(err) || err == nil {
					err = fmt.Errorf("%T %s was there", object, object.GetName())
				}
				return err
			}))
		}
		return errors.Join(append(errs, d.inside.Create(ctx, claim.DeepCopy(), client.DryRunAll))...)
	})
}
