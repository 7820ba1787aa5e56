// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// clusterAPIConfig is deorbitConfig with Klusters for the clusters of Cluster API.
var clusterAPIConfig = strings.Replace(deorbitConfig, "enabled: true", "enabled: true\n    clusterAPI: {enabled: true, drainTimeout: 10m}", 1)

// capi are the objects of Cluster API of a Cluster "web" on a plane. The test is their controllers.
type capi struct {
	*klusterPlane
	t       *testing.T
	version string
}

// serve serves Cluster API in a version, and grants the permissions of artifacts/capi.
func (d *klusterPlane) serve(t *testing.T, version string) *capi {
	t.Helper()
	for _, arguments := range [][]string{{"apply", "-f", "testdata/cluster-api-" + version + ".yaml"}, {"apply", "-k", "../../artifacts/capi"}} {
		apply := exec.CommandContext(t.Context(), d.Kubectl(), append([]string{"--kubeconfig", d.AdminKubeconfig()}, arguments...)...)
		if out, err := apply.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return &capi{klusterPlane: d, t: t, version: version}
}

// object reads the text of an object of this version.
func (a *capi) object(text string, values ...any) *unstructured.Unstructured {
	a.t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(fmt.Sprintf(text, values...), "VERSION", a.version)), &o.Object); err != nil {
		a.t.Fatal(err)
	}
	return o
}

// create creates an object, as soon as its kind is served.
func (a *capi) create(o *unstructured.Unstructured) *unstructured.Unstructured {
	a.t.Helper()
	status := o.DeepCopy().Object["status"]
	eventually(a.t, func(ctx context.Context) error { return a.c.Create(ctx, o) })
	if status != nil {
		a.change(o, func() { o.Object["status"] = status }, func(ctx context.Context) error { return a.c.Status().Update(ctx, o) })
	}
	return o
}

// change changes an object even if another client does so at the same time.
func (a *capi) change(o *unstructured.Unstructured, how func(), write func(context.Context) error) {
	a.t.Helper()
	eventually(a.t, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		how()
		return write(ctx)
	})
}

func (a *capi) edit(o *unstructured.Unstructured, how func()) {
	a.t.Helper()
	a.change(o, how, func(ctx context.Context) error { return a.c.Update(ctx, o) })
}

// finalize removes a finalizer, as the controller of the object.
func (a *capi) finalize(o *unstructured.Unstructured, finalizer string) {
	a.t.Helper()
	a.edit(o, func() {
		o.SetFinalizers(slices.DeleteFunc(o.GetFinalizers(), func(name string) bool { return name == finalizer }))
	})
}

const (
	clusterFinalizer        = "cluster.cluster.x-k8s.io"
	machineFinalizer        = "machine.cluster.x-k8s.io"
	infrastructureFinalizer = "openstackcluster.infrastructure.cluster.x-k8s.io"
)

// cluster creates a Cluster and what its controllers create for it.
func (a *capi) cluster(annotations string, machines ...string) (cluster, infrastructure *unstructured.Unstructured, all []*unstructured.Unstructured) {
	a.t.Helper()
	reference := "apiGroup: infrastructure.cluster.x-k8s.io"
	if a.version == "v1beta1" {
		reference = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta1"
	}
	cluster = a.create(a.object(`
apiVersion: cluster.x-k8s.io/VERSION
kind: Cluster
metadata: {name: web, namespace: %s, finalizers: [%s], annotations: {%s}, labels: {cloud: openstack}}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.100.0.0/16]}}
  infrastructureRef: {%s, kind: OpenStackCluster, name: web}
`, a.namespace, clusterFinalizer, annotations, reference))
	infrastructure = a.create(a.object(`
apiVersion: infrastructure.cluster.x-k8s.io/VERSION
kind: OpenStackCluster
metadata:
  name: web
  namespace: %s
  finalizers: [%s]
  ownerReferences: [{apiVersion: cluster.x-k8s.io/VERSION, kind: Cluster, name: web, uid: %s}]
spec:
  identityRef: {name: web-cloud-config, cloudName: cloud}
  managedSubnets: [{cidr: 10.0.0.0/24}]
status:
  network: {id: %s, subnets: []}
  router: {id: %s}
`, a.namespace, infrastructureFinalizer, cluster.GetUID(), a.network, a.router))
	for _, name := range machines {
		all = append(all, a.create(a.object(`
apiVersion: cluster.x-k8s.io/VERSION
kind: Machine
metadata: {name: %s, namespace: %s, finalizers: [%s], labels: {cluster.x-k8s.io/cluster-name: web}}
spec: {clusterName: web}
`, name, a.namespace, machineFinalizer)))
	}
	return cluster, infrastructure, all
}

// secrets creates the Secrets of the Cluster, with a kubeconfig if it has one.
func (a *capi) secrets(kubeconfig []byte) *corev1.Secret {
	a.t.Helper()
	clouds := `{clouds: {cloud: {auth: {auth_url: "` + a.cloud.AuthURL() + `", username: gardener, password: first, user_domain_name: Default, project_id: garden}}, other: {}}}`
	identity := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web-cloud-config"}, Data: map[string][]byte{"clouds.yaml": []byte(clouds), "cacert": []byte("\n")}}
	all := []client.Object{identity}
	if kubeconfig != nil {
		all = append(all, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web-kubeconfig"}, Data: map[string][]byte{"value": kubeconfig}})
	}
	for _, secret := range all {
		if err := a.c.Create(a.t.Context(), secret); err != nil {
			a.t.Fatal(err)
		}
	}
	return identity
}

// kluster waits for the Kluster of the Cluster.
func (a *capi) kluster() *kubernikusv1.Kluster {
	a.t.Helper()
	k := &kubernikusv1.Kluster{}
	finally(a.t, func(ctx context.Context) error {
		return a.c.Get(ctx, types.NamespacedName{Namespace: a.namespace, Name: "web"}, k)
	})
	return k
}

// replaced waits until there is no Kluster, or another one than this.
func (a *capi) replaced(k *kubernikusv1.Kluster) {
	a.t.Helper()
	finally(a.t, func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		err := a.c.Get(ctx, client.ObjectKeyFromObject(k), now)
		if apierrors.IsNotFound(err) || err == nil && now.UID != k.UID {
			return nil
		}
		return fmt.Errorf("it is there: %w, %+v", err, now.Status.Deorbit)
	})
}

// held waits until the objects of the Cluster are kept or released: the finalizer and the pause of the infrastructure, and the hooks.
func (a *capi) held(finalizer, paused, hooks bool, infrastructure *unstructured.Unstructured, machines ...*unstructured.Unstructured) {
	a.t.Helper()
	eventually(a.t, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(infrastructure), infrastructure); err != nil {
			return err
		}
		if slices.Contains(infrastructure.GetFinalizers(), desired.Finalizer) != finalizer || (infrastructure.GetAnnotations()[desired.AnnotationPaused] != "") != paused {
			return fmt.Errorf("finalizers %v, annotations %v", infrastructure.GetFinalizers(), infrastructure.GetAnnotations())
		}
		for _, m := range machines {
			if err := a.c.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return err
			}
			if _, held := m.GetAnnotations()[desired.AnnotationHook]; held != hooks {
				return fmt.Errorf("Machine %s has annotations %v", m.GetName(), m.GetAnnotations())
			}
		}
		return nil
	})
}

// completed waits until the Cluster reports a reason.
func (a *capi) completed(cluster *unstructured.Unstructured, want string) {
	a.t.Helper()
	finally(a.t, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
			return err
		}
		if c := desired.ClusterOf(cluster.Object).Completed; c == nil || c.Status+"/"+c.Reason != want {
			return fmt.Errorf("condition = %+v, want %s", c, want)
		}
		return nil
	})
}

// remove deletes objects, which the garbage collector may have deleted with their Cluster.
func (a *capi) remove(objects ...*unstructured.Unstructured) {
	a.t.Helper()
	for _, o := range objects {
		if err := a.c.Delete(a.t.Context(), o); client.IgnoreNotFound(err) != nil {
			a.t.Fatal(err)
		}
	}
}

// A cluster of Cluster API is deleted: it is emptied while its machines exist, and OpenStack is checked before its network is deleted.
func TestClusterAPI(t *testing.T) {
	t.Parallel()
	var a *capi
	var cluster, infrastructure *unstructured.Unstructured
	var machines []*unstructured.Unstructured
	var kubeconfig []byte
	d := newDescentOf(t, clusterAPIConfig, func(d *descent, workload []byte) {
		kubeconfig = workload
		a = d.serve(t, "v1beta2")
		d.secret = a.secrets(kubeconfig)
		cluster, infrastructure, machines = a.cluster(`groundskeeper.io/deorbit: "true", groundskeeper.io/cloud-provider-cluster-name: web, groundskeeper.io/csi-cluster-id: web`, "web-cp", "web-worker")
		d.k = a.kluster()
	})
	d.is(t, d.k, kubernikusv1.ConditionClusterAPI, "True/Synced")
	if d.k.ClusterName() != "web" || d.k.RouterID() != d.router || d.k.Spec.CustomCNI {
		t.Errorf("spec = %+v", d.k.Spec)
	}
	a.held(true, false, true, infrastructure, machines...)
	a.twin(d.k, kubeconfig)
	// A Machine that is replaced is not retained.
	replaced := a.object("{apiVersion: cluster.x-k8s.io/VERSION, kind: Machine, metadata: {name: web-old, namespace: %s, finalizers: [%s], labels: {cluster.x-k8s.io/cluster-name: web}}}", a.namespace, machineFinalizer)
	a.create(replaced)
	a.held(true, false, true, infrastructure, replaced)
	a.remove(replaced)
	a.held(true, false, false, infrastructure, replaced)
	a.finalize(replaced, machineFinalizer)

	// Phase 1. The stand-in of the cluster deletes volumes and load balancers meanwhile.
	a.remove(cluster)
	a.held(true, true, true, infrastructure)
	a.remove(machines...)
	a.held(true, true, false, infrastructure, machines...)
	a.completed(cluster, "False/Machines")
	if at := d.k.Status.Deorbit; d.c.Get(t.Context(), client.ObjectKeyFromObject(d.k), d.k) != nil || d.k.Status.Deorbit.Stage != kubernikusv1.DeorbitMachines || d.k.Status.Deorbit.ClusterLost != "" {
		t.Errorf("the machines are released in %+v", at)
	}
	// Phase 2.
	a.remove(infrastructure)
	for _, m := range machines {
		a.finalize(m, machineFinalizer)
	}
	a.completed(cluster, "True/Leftovers")
	a.held(false, false, false, infrastructure)
	d.landed(t)
	a.finalize(infrastructure, infrastructureFinalizer)
	a.finalize(cluster, clusterFinalizer)
}

// twin checks that the deletion of a Kluster that a user created for the same cluster waits for the Kluster of Cluster API, until it is
// detached.
func (a *capi) twin(k *kubernikusv1.Kluster, kubeconfig []byte) {
	a.t.Helper()
	old := klusterIn("garden-old", "web-old", strings.TrimPrefix(a.klusterPlane.version(a.t), "v"))
	old.Spec.NoCloud, old.Spec.SecretRef.Name = true, "web-old"
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: old.Namespace}}, old,
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: old.Namespace, Name: "web-old"}, Data: map[string][]byte{"kubeconfig": kubeconfig}},
	} {
		if err := a.c.Create(a.t.Context(), object); err != nil {
			a.t.Fatal(err)
		}
	}
	a.is(a.t, old, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
	a.is(a.t, k, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
	if err := confirm(a.t.Context(), a.c, old); err != nil {
		a.t.Fatal(err)
	}
	if err := a.c.Delete(a.t.Context(), old); err != nil {
		a.t.Fatal(err)
	}
	a.is(a.t, old, kubernikusv1.ConditionDeorbited, "Unknown/SameCluster")
	if c := meta.FindStatusCondition(old.Status.Conditions, kubernikusv1.ConditionDeorbited); c == nil || !strings.Contains(c.Message, k.Namespace+"/"+k.Name) {
		a.t.Errorf("condition = %+v, want that it names %s/%s", c, k.Namespace, k.Name)
	}
	a.klusterPlane.edit(a.t, old, func() { metav1.SetMetaDataAnnotation(&old.ObjectMeta, kubernikusv1.DetachAnnotation, "true") })
	eventually(a.t, func(ctx context.Context) error { return confirmDeleted(ctx, a.c, old) })
	eventually(a.t, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique); c != nil {
			return fmt.Errorf("condition = %+v, want none without another Kluster", c)
		}
		return nil
	})
}

// The Kluster follows its Cluster through a pause, a move, and a version of Cluster API, and nothing of its cluster is deleted.
func TestClusterAPIMove(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	if err := d.Managers[0].Restart(t.Context(), "--config="+write(t, clusterAPIConfig)); err != nil {
		t.Fatal(err)
	}
	a := d.serve(t, "v1beta1")
	a.secrets(nil)
	cluster, infrastructure, machines := a.cluster(`groundskeeper.io/deorbit: "true"`, "web-cp")
	k := a.kluster()
	// There is no kubeconfig yet, and OpenStack can be used even so.
	d.is(t, k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	d.is(t, k, kubernikusv1.ConditionAPIServerReachable, "False/SecretMissing")
	a.held(true, false, true, infrastructure, machines...)

	// What a user edits is restored, and the rest is left alone.
	d.edit(t, k, func() {
		k.Spec.CustomCNI, k.Spec.RouteGC = true, &kubernikusv1.RouteGCSpec{DryRun: new(true)}
	})
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil || k.Spec.CustomCNI || k.Spec.RouteGC == nil {
			return fmt.Errorf("%w, spec %+v", err, k.Spec)
		}
		return nil
	})

	// Cluster API is upgraded, and the objects are served in another version.
	a = d.serve(t, "v1beta2")
	for _, o := range []*unstructured.Unstructured{cluster, infrastructure, machines[0]} {
		o.SetAPIVersion(strings.Replace(o.GetAPIVersion(), "v1beta1", "v1beta2", 1))
	}
	another := a.create(a.object("{apiVersion: cluster.x-k8s.io/VERSION, kind: Machine, metadata: {name: web-2, namespace: %s, labels: {cluster.x-k8s.io/cluster-name: web}}}", a.namespace))
	a.held(true, false, true, infrastructure, another)

	// clusterctl pauses the Cluster, and deletes it with all its finalizers when another management cluster has it.
	a.edit(cluster, func() { _ = unstructured.SetNestedField(cluster.Object, true, "spec", "paused") })
	d.is(t, k, kubernikusv1.ConditionClusterAPI, "Unknown/Paused")
	d.is(t, k, kubernikusv1.ConditionPaused, "True/Annotated")
	a.edit(cluster, func() { cluster.SetAnnotations(map[string]string{desired.AnnotationDeleteForMove: ""}) })
	a.remove(cluster)
	a.finalize(cluster, clusterFinalizer)
	a.replaced(k)
	if got := d.cloud.Routes(d.router); len(d.cloud.LoadBalancers("garden")) != 0 || len(got) != 0 {
		t.Errorf("routes %v", got)
	}
	// clusterctl would have deleted these before the Cluster.
	a.held(false, false, false, infrastructure, another)

	// A Cluster without access to its cluster, and without machines: what OpenStack has is checked immediately.
	again, infrastructure2, _ := func() (*unstructured.Unstructured, *unstructured.Unstructured, []*unstructured.Unstructured) {
		a.finalize(infrastructure, infrastructureFinalizer)
		a.remove(infrastructure, another)
		a.finalize(machines[0], machineFinalizer)
		a.remove(machines[0])
		// The names are in the manifests that Cluster API applies in the cluster.
		a.create(a.object(`
apiVersion: addons.cluster.x-k8s.io/VERSION
kind: ClusterResourceSet
metadata: {name: cloud, namespace: %s}
spec: {clusterSelector: {matchLabels: {cloud: openstack}}, resources: [{kind: ConfigMap, name: manifests}]}
`, a.namespace))
		manifest := "kind: Pod\nspec: {containers: [{name: a, image: %s:v1, args: [%s=web]}]}"
		manifests := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "manifests"}, Data: map[string]string{
			"ccm.yaml": fmt.Sprintf(manifest, "openstack-cloud-controller-manager", "--cluster-name"), "csi.yaml": fmt.Sprintf(manifest, "cinder-csi-plugin", "--cluster"),
		}}
		if err := a.c.Create(t.Context(), manifests); err != nil {
			t.Fatal(err)
		}
		return a.cluster(`groundskeeper.io/deorbit: "true"`)
	}()
	next := a.kluster()
	if next.ClusterName() != "web" || next.CSIClusterID() != "web" {
		t.Errorf("names = %+v", next.Spec.CloudProvider)
	}
	if next.UID == k.UID {
		t.Fatal("the Kluster of the former Cluster is used again")
	}
	d.is(t, next, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	// With the policy, the deletion of a Cluster requires a confirmation.
	apply := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "apply", "-k", "../../artifacts/capi/confirmation")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Delete(ctx, again, client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("a deletion without confirmation: %w", err)
		}
		return nil
	})
	a.edit(again, func() {
		annotations := again.GetAnnotations()
		annotations["confirmation.gardener.cloud/deletion"] = "true"
		again.SetAnnotations(annotations)
	})
	a.remove(again)
	a.completed(again, "True/Deorbited")
	a.held(false, false, false, infrastructure2)
	a.replaced(next)
}
