// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/plane/faults"
)

var (
	nodesResource   = corev1.SchemeGroupVersion.WithResource("nodes")
	volumesResource = corev1.SchemeGroupVersion.WithResource("persistentvolumes")
	claimsResource  = corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")
)

// behind returns a proxy through which the drop-in reaches the API server, and the kubeconfig for it.
func (v *volumes) behind() (proxy *faults.Proxy, kubeconfig string) {
	v.t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", v.kubeconfigOf("system:serviceaccount:groundskeeper-system:"+dropIn))
	if err != nil {
		v.t.Fatal(err)
	}
	if proxy, err = faults.New(config); err != nil {
		v.t.Fatal(err)
	}
	v.t.Cleanup(proxy.Close)
	kubeconfig = filepath.Join(v.t.TempDir(), "kubeconfig")
	if err := proxy.WriteKubeconfig(kubeconfig); err != nil {
		v.t.Fatal(err)
	}
	return proxy, kubeconfig
}

// ready starts the drop-in and waits until it knows everything.
func (v *volumes) ready(kubeconfig string, flags ...string) *cleaner {
	v.t.Helper()
	c := v.startWith(kubeconfig, flags...)
	eventually(v.t, func(context.Context) error {
		_, err := c.read("/readyz")
		return err
	})
	return c
}

// others are nodes that stay: too many nodes that are missing at the same time are taken for a fault.
func (v *volumes) others() {
	for i := range 6 {
		v.node(fmt.Sprintf("other-%d", i))
	}
}

func (v *volumes) freeze(proxy *faults.Proxy, resources ...apischema.GroupVersionResource) {
	v.t.Helper()
	for _, resource := range resources {
		if err := proxy.Freeze(v.t.Context(), resource); err != nil {
			v.t.Fatal(err)
		}
	}
}

// testOldViewOfNodes checks that a node that returned keeps its volumes although the cache of the cleanup controller shows no node,
// before and after a restart. A node that is lost in the same view shows that the controller continues.
func testOldViewOfNodes(t *testing.T, p *volumePlane) {
	for _, restart := range []bool{false, true} {
		t.Run(fmt.Sprintf("restart %t", restart), func(t *testing.T) {
			t.Parallel()
			v := p.newVolumes(t, "")
			v.others()
			returns, lost := v.node("returns"), v.node("lost")
			volume, claim := v.bound("returns", "returns")
			lostVolume, lostClaim := v.bound("lost", "lost")
			proxy, kubeconfig := v.behind()
			flags := []string{"--pvc-deletion-delay=10s", "--leader-elect=false"}
			c := v.ready(kubeconfig, flags...)
			v.lose(returns, lost)
			v.event(claim, localvolume.EventScheduled)
			v.event(lostClaim, localvolume.EventScheduled)
			v.freeze(proxy, nodesResource)
			v.node("returns")
			if restart {
				c.kill()
				v.ready(kubeconfig, flags...)
			}
			v.absent(lostClaim, lostVolume)
			v.stays("the node is there", volume, claim)
			proxy.Thaw(nodesResource)
			v.stays("the node is there, and the view shows it", volume, claim)
		})
	}
}

// testOldViewOfVolumes checks that a PersistentVolumeClaim with the name of a deleted one on a lost node is retained, although the
// cache shows the deleted one; and that cached claims that still exist are deleted.
func testOldViewOfVolumes(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	v.others()
	lost := v.node("lost")
	volume, claim := v.bound("data", "lost")
	_, same := v.bound("same", "lost")
	fresh := v.volume("fresh", "other-0")
	v.phase(fresh, corev1.VolumeAvailable)
	proxy, kubeconfig := v.behind()
	v.ready(kubeconfig)
	v.freeze(proxy, volumesResource, claimsResource)
	if err := v.c.Delete(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	v.absent(claim)
	successor := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: claim.Name}, Spec: *claim.Spec.DeepCopy()}
	successor.Spec.VolumeName = fresh.Name
	v.create(successor)
	eventually(t, func(ctx context.Context) error {
		if err := v.c.Get(ctx, client.ObjectKeyFromObject(successor), successor); err != nil {
			return err
		}
		if successor.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("the claim is %s", successor.Status.Phase)
		}
		return v.c.Get(ctx, client.ObjectKeyFromObject(fresh), fresh)
	})
	v.lose(lost)
	v.absent(same)
	v.stays("it is another claim, on a node that is there", successor, fresh)
	proxy.Thaw(volumesResource)
	proxy.Thaw(claimsResource)
	v.absent(volume)
	v.stays("it is another claim, on a node that is there", successor, fresh)
}
