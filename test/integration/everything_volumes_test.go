// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

// localVolumes deletes Nodes with local volumes. The claims and volumes of other Nodes have to live, also those that were recreated
// under the names of deleted ones.
func (l *life) localVolumes() {
	v := &volumes{t: l.T, c: l.c, class: managedClass, ns: "volumes"}
	v.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.ns}})
	v.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: managedClass}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)})
	lasting := v.node("lasting")
	l.ledger.protect("no user deleted the Node", lasting)
	for i := range 3 {
		name := fmt.Sprintf("steady-%d", i)
		node := v.node(name)
		volume, claim := l.bind(v, name, name, name)
		l.ledger.protect("its Node was not deleted", node, volume, claim)
	}
	for number := 0; l.proceed(300 * time.Millisecond); number++ {
		l.lostNode(v, number)
	}
	l.Logf("%d nodes with a volume were lost", l.steps)
}

// lostNode lets a Node come, bind a volume and go. Its claim and volume are deleted, and a claim with the same name is bound to a
// volume of a Node that stays.
func (l *life) lostNode(v *volumes, number int) {
	name := fmt.Sprintf("lost-%d", number)
	node := v.node(name)
	volume, claim := l.bind(v, name, name, "data")
	l.ledger.protect("its Node was not deleted", node, volume, claim)
	record := &corev1.ConfigMap{}
	patiently(l.T, func(ctx context.Context) error { // the volumes of Nodes that it never saw are not touched
		if err := l.c.Get(ctx, client.ObjectKey{Namespace: "groundskeeper-system", Name: localvolume.RecordName}, record); err != nil {
			return err
		}
		if !slices.Contains(strings.Split(record.Data[localvolume.SeenPrefix+node.Name], ","), node.Name) {
			return fmt.Errorf("no controller has seen node %s", node.Name)
		}
		return nil
	})
	if l.random.IntN(3) == 0 { // it is back before anything is due
		l.ledger.release(node)
		v.lose(node)
		node = v.node(name)
		l.ledger.protect("no user deleted the Node", node)
	}
	l.ledger.release(node, volume, claim)
	v.lose(node)
	patiently(l.T, func(ctx context.Context) error { return confirmDeleted(ctx, l.c, claim) })
	living := fmt.Sprintf("living-%d", number)
	next, again := l.bind(v, living, "lasting", "data")
	l.ledger.protect("its Node was not deleted, and that of an earlier claim with this name was", next, again)
	patiently(l.T, func(ctx context.Context) error { return confirmDeleted(ctx, l.c, volume) })
	l.proceed(time.Duration(l.random.IntN(1000)) * time.Millisecond)
	l.ledger.release(next, again)
	if err := errors.Join(l.c.Delete(l.Context(), again), l.c.Delete(l.Context(), next)); err != nil {
		l.Fatal(err)
	}
	patiently(l.T, func(ctx context.Context) error {
		return errors.Join(confirmDeleted(ctx, l.c, again), confirmDeleted(ctx, l.c, next))
	})
}

// bind makes a volume on a host and a claim of it, and waits until they are bound.
func (l *life) bind(v *volumes, name, host, claimed string) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	volume := v.volume(name, host)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: claimed}}
	claim.Spec.VolumeName, claim.Spec.StorageClassName = volume.Name, new(volume.Spec.StorageClassName)
	claim.Spec.AccessModes, claim.Spec.Resources.Requests = volume.Spec.AccessModes, volume.Spec.Capacity
	v.create(claim)
	patiently(l.T, func(ctx context.Context) error {
		if err := l.c.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is %s", claim.Name, claim.Status.Phase)
		}
		return l.c.Get(ctx, client.ObjectKeyFromObject(volume), volume)
	})
	return volume, claim
}
