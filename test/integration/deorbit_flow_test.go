// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/standin"
)

// deorbitConfig has times that a test can wait for, and no election, so that a manager that is killed is followed immediately.
const deorbitConfig = `
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
leaderElection: {leaderElect: false}
controllers:
  credentials: {allowPlainHTTP: true} # the cloud is on loopback
  kluster:
    enabled: true
    routeGC: {interval: 1h}
    deorbit: {pollInterval: 1s, stageTimeout: 20s, apiUnavailableTimeout: 5s, serviceGracePeriod: 1s}
`

// keeper is a finalizer that keeps a Kluster after its release, so that its last status can be read.
const keeper = "example.com/keep"

// descent is a Kluster with a dedicated workload cluster, whose cloud controllers are stand-ins.
type descent struct {
	*klusterPlane
	o       *orbit
	standin *standin.Standin
	k       *kubernikusv1.Kluster
	secret  *corev1.Secret
	// kept is the address of the Service that keeps it.
	kept   string
	config string
}

func newDescent(t *testing.T, change ...func(*plane.Options)) *descent {
	t.Helper()
	return newDescentOf(t, deorbitConfig, func(d *descent, kubeconfig []byte) {
		d.k, d.secret = d.register(t, "web", "100.100.0.0/16")
		d.edit(t, d.secret, func() { d.secret.Data["kubeconfig"] = kubeconfig })
	}, change...)
}

// newDescentOf is newDescent with another configuration, and with another way to register the cluster of a kubeconfig.
func newDescentOf(t *testing.T, config string, register func(d *descent, kubeconfig []byte), change ...func(*plane.Options)) *descent {
	t.Helper()
	d := &descent{klusterPlane: newKlusterPlane(t, change...), config: write(t, config)}
	external := d.cloud.AddExternalNetwork("203.0.113.0/24")
	if err := d.Managers[0].Restart(t.Context(), "--config="+d.config); err != nil {
		t.Fatal(err)
	}
	workload := newWorkloadPlane(t)
	d.o = newOrbit(t, workload)
	kubeconfig, err := os.ReadFile(kubeconfigFor(t, workload, "groundskeeper-kluster", "kluster/workload/nodes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	register(d, kubeconfig)
	d.edit(t, d.k, func() { d.k.Finalizers = append(d.k.Finalizers, keeper) })
	d.is(t, d.k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	clientset, err := kubernetes.NewForConfig(workload.Config())
	if err != nil {
		t.Fatal(err)
	}
	d.standin, err = standin.Start(context.WithoutCancel(t.Context()), standin.Config{
		Kubernetes: clientset, Cloud: standin.Credentials{AuthURL: d.cloud.AuthURL(), User: "gardener", Password: "first", Project: "garden"},
		ClusterName: d.k.ClusterName(), ClusterID: d.k.CSIClusterID(), SubnetID: cmp.Or(d.k.Spec.Openstack.LBSubnetID, d.k.Status.Openstack.LBSubnetID), FloatingNetworkID: external,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.standin.Stop)
	d.fill(t)
	return d
}

// fill makes things in the workload cluster and in the cloud: some to go, some of others.
func (d *descent) fill(t *testing.T) {
	t.Helper()
	d.o.space("shop")
	d.o.class("cinder", cinderDriver)
	d.o.class("foreign", foreignDriver)
	d.o.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Provisioner: cinderDriver,
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimRetain), VolumeBindingMode: new(storagev1.VolumeBindingImmediate)})
	claims := []*corev1.PersistentVolumeClaim{pending("shop", "data-0", "cinder"), pending("shop", "data-1", "cinder"), pending("shop", "kept", "kept")}
	for _, claim := range claims {
		d.o.create(claim)
	}
	d.o.create(pending("shop", "foreign", "foreign"))
	d.o.create(balancer("shop", "web"), balancer("shop", "api", func(s *corev1.Service) { s.Annotations["loadbalancer.openstack.org/keep-floatingip"] = "true" }))
	for _, claim := range claims {
		eventually(t, func(ctx context.Context) error {
			if err := d.o.c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil || claim.Status.Phase != corev1.ClaimBound {
				return fmt.Errorf("claim %s is %s: %w", claim.Name, claim.Status.Phase, err)
			}
			return nil
		})
	}
	for _, name := range []string{"web", "api"} {
		eventually(t, func(ctx context.Context) error {
			service := &corev1.Service{}
			if err := d.o.c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, service); err != nil || len(service.Status.LoadBalancer.Ingress) != 1 {
				return fmt.Errorf("service %s has %v: %w", name, service.Status.LoadBalancer.Ingress, err)
			}
			if name == "api" {
				d.kept = service.Status.LoadBalancer.Ingress[0].IP
			}
			return nil
		})
	}
	tag := func(cluster string) map[string]string {
		return map[string]string{"cinder.csi.openstack.org/cluster": cluster}
	}
	d.cloud.AddVolume("garden", fake.Volume{Name: "unseen", Metadata: tag(d.k.CSIClusterID())})
	d.cloud.AddVolume("garden", fake.Volume{Name: "another's", Metadata: tag(d.k.CSIClusterID() + "-2")})
	d.cloud.AddLoadBalancer("garden", fake.LoadBalancer{Name: "kube_service_web-2_shop_web", Description: "Kubernetes external service shop/web from cluster web-2"})
	d.cloud.SetRoutes(d.router, fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.5"})
}

// remove deletes the Kluster.
func (d *descent) remove(t *testing.T) {
	t.Helper()
	if err := confirm(t.Context(), d.c, d.k); err != nil {
		t.Fatal(err)
	}
	if err := d.c.Delete(t.Context(), d.k); err != nil {
		t.Fatal(err)
	}
}

// landed checks what is left in the cloud and in the cluster, and lets the Kluster go.
func (d *descent) landed(t *testing.T) {
	t.Helper()
	var volumes []string
	for _, v := range d.cloud.Volumes("garden") {
		volumes = append(volumes, v.Name)
	}
	kept := &corev1.PersistentVolumeList{}
	if err := d.o.c.List(t.Context(), kept); err != nil || len(kept.Items) != 1 || kept.Items[0].Spec.StorageClassName != "kept" {
		t.Fatalf("%v, volumes of the cluster: %+v", err, kept.Items)
	}
	if !slices.Equal(slices.Sorted(slices.Values(volumes)), slices.Sorted(slices.Values([]string{"unseen", "another's", kept.Items[0].Name}))) {
		t.Errorf("volumes %v are left", volumes)
	}
	if left := d.cloud.LoadBalancers("garden"); len(left) != 1 || left[0].Name != "kube_service_web-2_shop_web" {
		t.Errorf("load balancers %+v are left", left)
	}
	if left := d.cloud.FloatingIPs("garden"); len(left) != 1 || left[0].Address != d.kept {
		t.Errorf("floating IPs %+v are left, %s was to be kept", left, d.kept)
	}
	if left := d.cloud.SecurityGroups("garden"); len(left) != 0 {
		t.Errorf("security groups %+v are left", left)
	}
	d.routesAre(t, fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.5"})
	foreign := &corev1.PersistentVolumeClaim{}
	if err := d.o.c.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "foreign"}, foreign); err != nil || !foreign.DeletionTimestamp.IsZero() {
		t.Errorf("a claim of another driver was touched: %v", err)
	}
	if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(d.k), d.k); err != nil {
		t.Fatal(err)
	}
	retained := map[string]int{}
	for _, o := range d.k.Status.Deorbit.Retained {
		retained[o.Kind]++
	}
	if left := d.k.Status.Deorbit.Undecided; len(left) != 1 || left[0].Name != "unseen" {
		t.Errorf("undecided = %v, want the volume that the cluster never had", left)
	}
	if d.k.HasDeorbiter() || len(d.k.Status.Deorbit.Remaining) != 0 || retained["Volume"] != 1 || retained["PersistentVolume"] != 1 || retained["FloatingIP"] != 1 {
		t.Errorf("finalizers %v, remaining %v, retained %v", d.k.Finalizers, d.k.Status.Deorbit.Remaining, d.k.Status.Deorbit.Retained)
	}
	d.edit(t, d.k, func() { d.k.Finalizers = nil })
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, d.k) })
	if err := d.c.Delete(t.Context(), d.secret); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, d.secret) })
}

// TestDeorbit checks that the deletion of a cluster leaves only retained resources and those of other owners.
func TestDeorbit(t *testing.T) {
	t.Parallel()
	d := newDescent(t)
	d.remove(t)
	d.is(t, d.k, kubernikusv1.ConditionDeorbited, "True/Leftovers")
	d.landed(t)
}

// TestDeorbitKilled kills the manager in each stage, and checks that its successor continues with the same result.
func TestDeorbitKilled(t *testing.T) {
	t.Parallel()
	d := newDescent(t)
	d.remove(t)
	killed := map[kubernikusv1.DeorbitStage]bool{}
	finally(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(d.k), d.k); err != nil {
			return err
		}
		if !d.k.HasDeorbiter() {
			return nil
		}
		if at := d.k.Status.Deorbit; at != nil && !killed[at.Stage] {
			killed[at.Stage] = true
			if err := d.Managers[0].Kill(ctx); err != nil {
				return err
			}
			if err := d.Managers[0].Start(ctx, "--config="+d.config); err != nil {
				return err
			}
		}
		return fmt.Errorf("it is in %+v", d.k.Status.Deorbit)
	})
	if len(killed) < 4 {
		t.Errorf("it was killed in %v only", killed)
	}
	d.is(t, d.k, kubernikusv1.ConditionDeorbited, "True/Leftovers")
	d.landed(t)
}

// TestDeorbitDeadCloudControllers checks that Deorbit leaves the stages that wait for cloud controllers when those do not run, and
// still cleans up OpenStack.
func TestDeorbitDeadCloudControllers(t *testing.T) {
	t.Parallel()
	d := newDescent(t)
	d.standin.SetDead(true)
	d.edit(t, d.k, func() { d.k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: 3e9} })
	d.remove(t)
	d.is(t, d.k, kubernikusv1.ConditionDeorbited, "True/Leftovers")
	d.standin.SetDead(false)
	// The objects in the cluster do not matter: the volumes behind them have been deleted.
	eventually(t, func(ctx context.Context) error {
		kept := &corev1.PersistentVolumeList{}
		if err := d.o.c.List(ctx, kept); err != nil || len(kept.Items) != 1 {
			return fmt.Errorf("%d volumes in the cluster: %w", len(kept.Items), err)
		}
		return nil
	})
	d.landed(t)
}
