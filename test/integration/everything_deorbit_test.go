// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/standin"
)

// responding is the workload cluster of Klusters that have the same name, one after the other.
type responding struct {
	*life
	kubeconfig string
	// player plays the cloud controller and the CSI driver. external is its network of floating IPs.
	player   *standin.Standin
	external string
	// foreign are objects in the cluster that Deorbit never deletes.
	foreign []client.Object

	deleted, resources, dead, pauses int
}

// inventory is what a Kluster has.
type inventory struct {
	// objects are those in the cluster that Deorbit deletes.
	objects []client.Object
	// resources are those in OpenStack, by ID, that Deorbit deletes.
	resources map[string]string
	// retained is a volume whose policy is Retain.
	retained *corev1.PersistentVolume
}

const respondingName = "responding"

// respondingKlusters creates Klusters whose cluster responds, except while its servers are killed, and deletes them. Everything of a
// Kluster lives until a user deletes it. Afterwards nothing of it is left, and everything of others is.
func (l *life) respondingKlusters() {
	r := &responding{life: l, external: l.klusters.cloud.AddExternalNetwork("203.0.113.0/24")}
	r.prepare()
	for _, id := range l.possess(respondingName + "-2") { // no Kluster is of this cluster
		l.ledger.keep(id, "another cluster's "+inCloud(l.klusters.cloud)[id])
	}
	for l.proceed(100 * time.Millisecond) {
		r.round()
	}
	r.stay("no Kluster has it", r.foreign...)
	l.Logf("%d klusters whose cluster responds were deleted, with %d resources in OpenStack; the cloud controllers were dead during %d of these, and paused %d times",
		r.deleted, r.resources, r.dead, r.pauses)
}

// stay fails the test unless objects of the cluster are the ones that they were.
func (r *responding) stay(why string, objects ...client.Object) {
	for _, object := range objects {
		now := copyOf(object)
		if err := r.w.Get(r.Context(), client.ObjectKeyFromObject(object), now); err != nil {
			r.Errorf("%T %s of the workload cluster: %v, but it lives: %s", object, object.GetName(), err, why)
		} else if now.GetUID() != object.GetUID() || !now.GetDeletionTimestamp().IsZero() {
			r.Errorf("%T %s of the workload cluster was deleted, but it lives: %s", object, object.GetName(), why)
		}
	}
}

// round creates a Kluster, fills its cluster, deletes it and checks what is left.
func (r *responding) round() {
	lasting := &metav1.Duration{Duration: time.Hour} // a server that is killed is back before
	k, secret := r.enroll(respondingName, "100.120.0.0/16", r.kubeconfig, func(k *kubernikusv1.Kluster) {
		k.Spec.Deorbit.APIUnavailableTimeout, k.Spec.Deorbit.StageTimeout = lasting, lasting
		k.Finalizers = []string{keeper}
	})
	r.is(k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	if r.player == nil {
		r.play(k)
	}
	has := r.fill()
	r.proceed(time.Duration(r.random.IntN(2000)) * time.Millisecond)
	r.stay("no user deleted its Kluster", append(has.objects, has.retained)...)
	r.stay("no Kluster has it", r.foreign...)
	r.ledger.check(r.T)

	for id := range has.resources {
		r.ledger.discard(id)
	}
	r.ledger.release(k)
	r.descend(k)
	r.released(k, secret, has)
	r.deleted++
	r.resources += len(has.resources)
}

// descend deletes a Kluster, and waits until Deorbit has released it. Meanwhile the cloud controllers are slow, fail and pause; or they
// are dead until then, and Deorbit does their work when a user shortens the wait for them.
func (r *responding) descend(k *kubernikusv1.Kluster) {
	dead := r.random.IntN(3) == 0
	r.player.SetDelay(time.Duration(r.random.IntN(1000)) * time.Millisecond)
	r.player.FailNext(standin.Volumes, r.random.IntN(4))
	r.player.FailNext(standin.Services, r.random.IntN(4))
	r.player.SetDead(dead)
	if dead {
		r.dead++
	}
	r.deorbit(k)
	paused, shortened := false, false
	patiently(r.T, func(ctx context.Context) error {
		if err := r.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return err
		}
		if !k.HasDeorbiter() {
			return nil
		}
		if d := k.Status.Deorbit; dead && !shortened && d != nil && d.Stage == kubernikusv1.DeorbitWait {
			if err := r.c.Patch(ctx, copyOf(k), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"deorbit":{"stageTimeout":"2s"}}}`))); err != nil {
				return err
			}
			shortened = true
		}
		if !dead && r.random.IntN(8) == 0 {
			if paused = !paused; paused {
				r.pauses++
			}
			r.player.SetDead(paused)
		}
		return fmt.Errorf("the cloud controllers are dead: %t; Kluster %s is in %+v", dead || paused, k.Name, k.Status.Deorbit)
	})
	r.player.SetDead(false)
	r.player.SetDelay(0)
}

// released checks what is left of a Kluster, and what is left of others. Then it removes what Deorbit retains: the frozen cluster
// would be deleted now, and the next Kluster be another one.
func (r *responding) released(k *kubernikusv1.Kluster, secret *corev1.Secret, has inventory) {
	r.is(k, kubernikusv1.ConditionDeorbited, "True/Leftovers") // a volume of another driver
	if d := k.Status.Deorbit; d.ClusterLost != "" || len(d.Remaining) > 0 {
		r.Errorf("Kluster %s was released, the cluster was given up: %q, left over: %+v", k.Name, d.ClusterLost, d.Remaining)
	}
	left := inCloud(r.klusters.cloud)
	for id, what := range has.resources {
		if left[id] != "" {
			r.Errorf("Kluster %s was released, and %s is left over", k.Name, what)
		}
	}
	for id, what := range left {
		if strings.HasPrefix(what, "load balancer kube_service_"+respondingName+"_") {
			r.Errorf("Kluster %s was released, and %s %s is left over", k.Name, what, id)
		}
	}
	for _, v := range r.klusters.cloud.Volumes("garden") {
		if v.Metadata["cinder.csi.openstack.org/cluster"] == respondingName && v.ID != has.retained.Spec.CSI.VolumeHandle {
			r.Errorf("Kluster %s was released, and volume %s is left over", k.Name, v.Name)
		}
	}
	r.stay("no Kluster has it", r.foreign...)
	r.stay("its policy is Retain", has.retained)
	for _, object := range has.objects {
		patiently(r.T, func(ctx context.Context) error { return confirmDeleted(ctx, r.w, object) })
	}
	patiently(r.T, func(ctx context.Context) error {
		if err := r.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return client.IgnoreNotFound(err)
		}
		controllerutil.RemoveFinalizer(k, keeper)
		return client.IgnoreNotFound(r.c.Update(ctx, k))
	})
	patiently(r.T, func(ctx context.Context) error { return confirmDeleted(ctx, r.c, k) })
	r.ledger.release(secret)
	if err := r.c.Delete(r.Context(), secret); err != nil {
		r.Fatal(err)
	}
	patiently(r.T, func(ctx context.Context) error { return confirmDeleted(ctx, r.c, secret) })

	r.ledger.discard(has.retained.Spec.CSI.VolumeHandle)
	freeze := metav1.ObjectMeta{Name: "groundskeeper-deorbit"}
	binding, policy := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: freeze}, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: freeze}
	if err := errors.Join(r.w.Delete(r.Context(), binding), r.w.Delete(r.Context(), policy), r.w.Delete(r.Context(), has.retained)); err != nil {
		r.Fatal(err)
	}
	patiently(r.T, func(ctx context.Context) error { return confirmDeleted(ctx, r.w, has.retained) })
	r.klusters.cloud.RemoveVolume(has.retained.Spec.CSI.VolumeHandle)
}
