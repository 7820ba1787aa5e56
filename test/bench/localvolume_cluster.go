// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

const (
	benchClass     = "bench"
	benchNamespace = "bench"
	// loaders is how many requests of the load are under way concurrently.
	loaders = 16
)

// each calls a function with 0 to n-1, several concurrently, and returns the first error.
func each(n int, do func(i int) error) error {
	numbers, errs := make(chan int), make(chan error, loaders)
	var group sync.WaitGroup
	for range loaders {
		group.Go(func() {
			for i := range numbers {
				if err := do(i); err != nil {
					errs <- err
					for range numbers { // the rest is not used
					}
					return
				}
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	group.Wait()
	close(errs)
	return <-errs
}

func nodeName(i int) string { return "node-" + strconv.Itoa(i) }

// prepare makes nodes, volumes and claims, and waits until the binder has bound them.
func (l localVolumeLoad) prepare(ctx context.Context, client kubernetes.Interface) error {
	immediate := storagev1.VolumeBindingImmediate
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: benchClass}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &immediate}
	if _, err := client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	for _, namespace := range []string{benchNamespace, "groundskeeper-system"} {
		object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := client.CoreV1().Namespaces().Create(ctx, object, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	err := each(l.nodes, func(i int) error {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i), Labels: map[string]string{corev1.LabelHostname: nodeName(i)}}}
		_, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = each(l.volumes, func(i int) error {
		volume, claim := benchVolume(i, nodeName(i%l.nodes))
		if _, err := client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{}); err != nil {
			return err
		}
		_, err := client.CoreV1().PersistentVolumeClaims(benchNamespace).Create(ctx, claim, metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) {
		volumes, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		claims, err := client.CoreV1().PersistentVolumeClaims(benchNamespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return false, err
		}
		for i := range volumes.Items {
			if volumes.Items[i].Status.Phase != corev1.VolumeBound {
				return false, nil
			}
		}
		for i := range claims.Items {
			if claims.Items[i].Status.Phase != corev1.ClaimBound {
				return false, nil
			}
		}
		return true, nil
	})
}

// benchVolume returns a local volume on a node, as the local static provisioner makes it, and a claim of it.
func benchVolume(i int, node string) (*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) {
	name := "volume-" + strconv.Itoa(i)
	size := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("10Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": "local-volume-provisioner-" + node}}}
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity: size, AccessModes: modes, StorageClassName: benchClass, PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
		PersistentVolumeSource: corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/mnt/" + name}},
		NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}},
	}
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: name}}
	claim.Spec = corev1.PersistentVolumeClaimSpec{AccessModes: modes, StorageClassName: new(benchClass), VolumeName: name,
		Resources: corev1.VolumeResourceRequirements{Requests: size}}
	return volume, claim
}

// observation is what happened to claims and volumes.
type observation struct {
	// claimsDeleted and volumesDeleted are until the last deletion was requested. Kubernetes then takes its finalizers away, one
	// after the other, and so they have been deleted later.
	claimsDeleted, volumesDeleted, deletedClaims, deletedVolumes time.Duration
	// floor is until as many claims have been deleted that are deleted with nothing else to do; 0: not measured.
	floor time.Duration
	// deleting is when and at which revision the deletion of a claim began, return the same of its event.
	deleting, reported map[string]moment
}

type moment struct {
	at       time.Time
	revision int64
}

// withoutEvent counts the claims whose event is missing or younger than their deletion.
func (o *observation) withoutEvent() int {
	return o.count(func(deleting, reported moment) bool { return reported.revision == 0 || reported.at.After(deleting.at) })
}

// storedLate counts the claims whose event the API server stored after their deletion.
func (o *observation) storedLate() int {
	return o.count(func(deleting, reported moment) bool { return reported.revision > deleting.revision })
}

func (o *observation) count(is func(deleting, reported moment) bool) int {
	n := 0
	for name, deleting := range o.deleting {
		if is(deleting, o.reported[name]) {
			n++
		}
	}
	return n
}

// lose deletes half of the nodes and watches until their claims and volumes have been deleted.
func (l localVolumeLoad) lose(ctx context.Context, client kubernetes.Interface) (*observation, error) {
	claims, err := client.CoreV1().PersistentVolumeClaims(benchNamespace).Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer claims.Stop()
	volumes, err := client.CoreV1().PersistentVolumes().Watch(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	defer volumes.Stop()
	events, err := client.CoreV1().Events(benchNamespace).Watch(ctx, metav1.ListOptions{FieldSelector: "reason=ReferencedNodeDeleted"})
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	seen := &observation{deleting: map[string]moment{}, reported: map[string]moment{}}
	lost := l.volumes / 2
	start := time.Now()
	deletion := make(chan error, 1)
	go func() {
		deletion <- each(l.nodes/2, func(i int) error { return client.CoreV1().Nodes().Delete(ctx, nodeName(2*i), metav1.DeleteOptions{}) })
	}()
	for deletedClaims, deletedVolumes := 0, 0; deletedClaims < lost || deletedVolumes < lost || len(seen.reported) < lost; {
		select {
		case err := <-deletion:
			if err != nil {
				return nil, err
			}
			deletion = nil
		case event, open := <-claims.ResultChan():
			claim, ok := event.Object.(*corev1.PersistentVolumeClaim)
			if !open || !ok {
				return nil, ended(ctx, "claims", deletedClaims, lost)
			}
			if claim.DeletionTimestamp.IsZero() && event.Type != watch.Deleted {
				continue
			}
			if _, known := seen.deleting[claim.Name]; !known {
				seen.claimsDeleted = time.Since(start)
				if seen.deleting[claim.Name], err = momentOf(claim, time.Now()); err != nil {
					return nil, err
				}
			}
			if event.Type == watch.Deleted {
				deletedClaims++
				seen.deletedClaims = time.Since(start)
			}
		case event, open := <-volumes.ResultChan():
			if !open {
				return nil, ended(ctx, "volumes", deletedVolumes, lost)
			}
			volume, ok := event.Object.(*corev1.PersistentVolume)
			switch {
			case ok && event.Type == watch.Deleted:
				deletedVolumes++
				seen.deletedVolumes = time.Since(start)
			case ok && !volume.DeletionTimestamp.IsZero():
				seen.volumesDeleted = time.Since(start)
			}
		case event, open := <-events.ResultChan():
			reported, ok := event.Object.(*corev1.Event)
			if !open || !ok {
				return nil, ended(ctx, "events", len(seen.reported), lost)
			}
			if seen.reported[reported.InvolvedObject.Name], err = momentOf(reported, reported.EventTime.Time); err != nil {
				return nil, err
			}
		}
	}
	return seen, nil
}

func momentOf(object metav1.Object, at time.Time) (moment, error) {
	revision, err := strconv.ParseInt(object.GetResourceVersion(), 10, 64)
	return moment{at: at, revision: revision}, err
}

func ended(ctx context.Context, what string, have, want int) error {
	return errors.Join(fmt.Errorf("the watch of %s ended at %d of %d", what, have, want), context.Cause(ctx))
}
