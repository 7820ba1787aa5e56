// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	cinderDriver  = "cinder.csi.openstack.org"
	foreignDriver = "csi.example.com"
	// cleanupFinalizer is what a cloud provider has on a Service with a load balancer.
	cleanupFinalizer = "service.kubernetes.io/load-balancer-cleanup"
)

// orbit is a workload cluster that is torn down. The test is its cloud provider, its storage and its kubelets.
type orbit struct {
	t *testing.T
	// admin is an administrator's kubeconfig, also of c, and config the one of the Kluster.
	admin, config *rest.Config
	c             client.WithWatch
	policies      stage.Policies
	seen          stage.Seen
	// deleted are those whose deletion a check reported.
	deleted []kubernikusv1.DeorbitObject
	// connect makes the connection of a check. It may be another one each time.
	connect func() *cluster.Connection
}

// newWorkloadPlane starts a plane without Groundskeeper's servers. It binds volumes, protects them and runs StatefulSets, and has
// neither a scheduler nor kubelets nor a cloud.
func newWorkloadPlane(t *testing.T) *plane.Plane {
	t.Helper()
	started, err := startAudited(t.Context(), t, plane.Options{
		Dir: filepath.Join(t.TempDir(), "plane"), UnsafeNoFsync: true,
		KubeControllers: []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller",
			"persistentvolume-protection-controller", "statefulset-controller", "ephemeral-volume-controller",
			"validatingadmissionpolicy-status-controller"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return started
}

// newOrbit takes a cluster down, with no more permissions than that takes, and everything is deleted.
func newOrbit(t *testing.T, workload *plane.Plane) *orbit {
	t.Helper()
	all := kubernikusv1.DeletionPolicyDelete
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigFor(t, workload, "groundskeeper-kluster", "kluster/workload/account.yaml", "kluster/workload/deorbit.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	o := &orbit{t: t, admin: workload.Config(), config: config, c: clientOf(t, workload.Config()),
		policies: stage.Policies{PersistentVolumes: all, LoadBalancers: all, FloatingIPs: all, Snapshots: all}}
	connection := o.open(config)
	o.connect = func() *cluster.Connection { return connection }
	return o
}

func (o *orbit) open(config *rest.Config) *cluster.Connection {
	o.t.Helper()
	connection, err := cluster.Connect(config)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(connection.Close)
	return connection
}

// check runs a stage once, and records what it observed. over reports that the stage is complete.
func (o *orbit) check(ctx context.Context, s kubernikusv1.DeorbitStage) (report stage.Report, over bool, err error) {
	report, err = o.connect().Run(ctx, s, stage.Work{Policies: o.policies, Recorded: o.seen, Began: time.Now(), Now: time.Now()})
	o.deleted = append(o.deleted, report.Deleted...)
	before := stage.Seen{Volumes: slices.Clone(o.seen.Volumes), Snapshots: slices.Clone(o.seen.Snapshots), Services: slices.Clone(o.seen.Services)}
	put(&o.seen.Volumes, report.Seen.Volumes, func(v kubernikusv1.SeenVolume) string { return v.ID })
	put(&o.seen.Snapshots, report.Seen.Snapshots, func(s kubernikusv1.SeenSnapshot) string { return s.ID })
	put(&o.seen.Services, report.Seen.Services, func(s kubernikusv1.SeenService) string { return s.UID })
	recorded := slices.Equal(before.Volumes, o.seen.Volumes) && slices.Equal(before.Snapshots, o.seen.Snapshots) && slices.Equal(before.Services, o.seen.Services)
	return report, err == nil && recorded && len(report.Remaining) == 0, err
}

// put adds or replaces records by their ids.
func put[T any](records *[]T, seen []T, id func(T) string) {
	for _, s := range seen {
		if i := slices.IndexFunc(*records, func(r T) bool { return id(r) == id(s) }); i >= 0 {
			(*records)[i] = s
		} else {
			*records = append(*records, s)
		}
	}
}

// must does one check, which must not fail.
func (o *orbit) must(s kubernikusv1.DeorbitStage) stage.Report {
	o.t.Helper()
	report, _, err := o.check(o.t.Context(), s)
	if err != nil {
		o.t.Fatalf("%s: %v", s, err)
	}
	return report
}

// finish checks a stage until it is over, and returns the last check.
func (o *orbit) finish(s kubernikusv1.DeorbitStage) (last stage.Report) {
	o.t.Helper()
	eventually(o.t, func(ctx context.Context) error {
		report, over, err := o.check(ctx, s)
		if last = report; err == nil && !over {
			err = fmt.Errorf("%s: %+v remain", s, report.Remaining)
		}
		return err
	})
	return last
}

// remains waits until a check reports that an object remains, with a reason that has these words.
func (o *orbit) remains(s kubernikusv1.DeorbitStage, kind, name, words string) {
	o.t.Helper()
	eventually(o.t, func(ctx context.Context) error {
		report, _, err := o.check(ctx, s)
		if err != nil {
			return err
		}
		for _, r := range report.Remaining {
			if r.Kind == kind && r.Name == name && strings.Contains(r.Reason, words) {
				return nil
			}
		}
		return fmt.Errorf("%s %s is not among %+v", kind, name, report.Remaining)
	})
}

// removes checks a stage until objects have been deleted.
func (o *orbit) removes(s kubernikusv1.DeorbitStage, objects ...client.Object) {
	o.t.Helper()
	eventually(o.t, func(ctx context.Context) error {
		_, _, err := o.check(ctx, s)
		for _, object := range objects {
			err = errors.Join(err, confirmDeleted(ctx, o.c, object))
		}
		return err
	})
}

func (o *orbit) create(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		if err := o.c.Create(o.t.Context(), object); err != nil {
			o.t.Fatal(err)
		}
	}
}

// space makes a namespace in which pods can be.
func (o *orbit) space(name string) {
	o.t.Helper()
	o.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	eventually(o.t, func(ctx context.Context) error {
		return o.c.Get(ctx, client.ObjectKey{Namespace: name, Name: "default"}, &corev1.ServiceAccount{})
	})
}

// Waits until objects have been deleted.
func (o *orbit) absent(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		eventually(o.t, func(ctx context.Context) error { return confirmDeleted(ctx, o.c, object) })
	}
}

// stays fails when a user deletes one of the objects.
func (o *orbit) stays(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		now := object.DeepCopyObject().(client.Object)
		if err := o.c.Get(o.t.Context(), client.ObjectKeyFromObject(object), now); err != nil {
			o.t.Fatal(err)
		}
		if now.GetUID() != object.GetUID() || !now.GetDeletionTimestamp().IsZero() {
			o.t.Fatalf("%T %s was deleted", object, object.GetName())
		}
	}
}

// patch writes to an object as a user or a controller would.
func (o *orbit) patch(object client.Object, patch string) {
	o.t.Helper()
	if err := o.c.Patch(o.t.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		o.t.Fatal(err)
	}
}

func (o *orbit) class(name, provisioner string) {
	immediate := storagev1.VolumeBindingImmediate
	o.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: provisioner, VolumeBindingMode: &immediate})
}

// bound makes a volume as a provisioner would, and a claim that has it. The volume's id in Cinder is its name.
func (o *orbit) bound(namespace, name, driver string, policy corev1.PersistentVolumeReclaimPolicy) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	o.t.Helper()
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": driver}}}
	pv.Spec.PersistentVolumeReclaimPolicy = policy
	pv.Spec.Capacity = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	pv.Spec.AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pv.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: name}
	if driver == "kubernetes.io/cinder" {
		pv.Spec.CSI, pv.Spec.Cinder = nil, &corev1.CinderPersistentVolumeSource{VolumeID: name}
	}
	pvc := pending(namespace, name, "")
	pvc.Spec.VolumeName = name
	o.create(pv, pvc)
	eventually(o.t, func(ctx context.Context) error {
		if err := o.c.Get(ctx, client.ObjectKeyFromObject(pvc), pvc); err != nil || pvc.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is %s: %w", name, pvc.Status.Phase, err)
		}
		return o.c.Get(ctx, client.ObjectKeyFromObject(pv), pv)
	})
	return pv, pvc
}

// pending returns a claim without a volume.
func pending(namespace, name, class string) *corev1.PersistentVolumeClaim {
	pvc := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	pvc.Spec.StorageClassName, pvc.Spec.AccessModes = &class, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	pvc.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	return pvc
}

// node makes a node that is ready or not.
func (o *orbit) node(name string, ready corev1.ConditionStatus) {
	o.t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	o.create(node)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready}}
	if err := o.c.Status().Update(o.t.Context(), node); err != nil {
		o.t.Fatal(err)
	}
}

// pod makes a pod on a node, or without one, that uses a claim.
func (o *orbit) pod(namespace, name, node, claim string, change ...func(*corev1.Pod)) *corev1.Pod {
	o.t.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	pod.Spec.NodeName = node
	pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	for _, f := range change {
		f(pod)
	}
	o.create(pod)
	return pod
}

// end is what a kubelet does when a pod is down.
func (o *orbit) end(pod *corev1.Pod) {
	o.t.Helper()
	if err := client.IgnoreNotFound(o.c.Delete(o.t.Context(), pod, client.GracePeriodSeconds(0))); err != nil {
		o.t.Fatal(err)
	}
}

// reclaim is what a provisioner does with released volumes, and the cloud provider with deleted Services.
func (o *orbit) reclaim(objects ...client.Object) {
	o.t.Helper()
	for _, object := range objects {
		if _, ok := object.(*corev1.PersistentVolume); ok {
			eventually(o.t, func(ctx context.Context) error {
				pv := &corev1.PersistentVolume{}
				if err := o.c.Get(ctx, client.ObjectKeyFromObject(object), pv); err != nil || pv.Status.Phase != corev1.VolumeReleased {
					return fmt.Errorf("volume %s is %s: %w", object.GetName(), pv.Status.Phase, err)
				}
				return o.c.Delete(ctx, pv)
			})
			continue
		}
		o.patch(object, `{"metadata":{"finalizers":null}}`)
	}
}

// balancer returns a Service of type LoadBalancer as a cloud provider has it.
func balancer(namespace, name string, change ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{cleanupFinalizer}, Annotations: map[string]string{}}}
	s.Spec.Type, s.Spec.Ports = corev1.ServiceTypeLoadBalancer, []corev1.ServicePort{{Port: 80}}
	for _, f := range change {
		f(s)
	}
	return s
}

// octaviaIngress returns an Ingress of the Octavia ingress controller, or of a dedicated class.
func octaviaIngress(namespace, name, class string) *networkingv1.Ingress {
	i := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: map[string]string{"kubernetes.io/ingress.class": class}}}
	i.Spec.DefaultBackend = &networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{Name: "web", Port: networkingv1.ServiceBackendPort{Number: 80}}}
	return i
}

// custom returns an object of the snapshots' API.
func custom(kind, namespace, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: fields}
	u.SetAPIVersion("snapshot.storage.k8s.io/v1")
	u.SetKind(kind)
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// snapshotAPI makes the kinds of the snapshots' API, as far as anybody checks them.
func (o *orbit) snapshotAPI() {
	o.t.Helper()
	for kind, scope := range map[string]string{"VolumeSnapshot": "Namespaced", "VolumeSnapshotContent": "Cluster", "VolumeSnapshotClass": "Cluster"} {
		singular := map[string]string{"VolumeSnapshot": "volumesnapshot", "VolumeSnapshotContent": "volumesnapshotcontent", "VolumeSnapshotClass": "volumesnapshotclass"}[kind]
		plural := singular + "s"
		if kind == "VolumeSnapshotClass" {
			plural = singular + "es"
		}
		crd := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
			"metadata": map[string]any{"name": plural + ".snapshot.storage.k8s.io", "annotations": map[string]any{"api-approved.kubernetes.io": "unapproved, a test"}},
			"spec": map[string]any{"group": "snapshot.storage.k8s.io", "scope": scope, "names": map[string]any{"plural": plural, "singular": singular, "kind": kind},
				"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true,
					"schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}},
		}}
		o.create(crd)
		eventually(o.t, func(ctx context.Context) error {
			list := &unstructured.UnstructuredList{}
			list.SetAPIVersion("snapshot.storage.k8s.io/v1")
			list.SetKind(kind + "List")
			return o.c.List(ctx, list)
		})
	}
}

// stateful returns a StatefulSet of one pod with a claim of a class.
func stateful(namespace, name, class string) *appsv1.StatefulSet {
	labels := map[string]string{"app": name}
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.Selector, s.Spec.Template.Labels = &metav1.LabelSelector{MatchLabels: labels}, labels
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{*pending("", "data", class)}
	return s
}
