// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// isAnnouncement reports whether a backend announces a Kluster. It is withdrawn with the Kluster.
func isAnnouncement(b *gimbalv1.DiscoveryBackend) bool { return b.Labels[clusterid.LabelUID] != "" }

// enableBackends brings all backends back to service and waits until routes have what their users wanted.
func (u *Uninstaller) enableBackends(ctx context.Context) (string, error) {
	count := 0
	err := u.until(ctx, "routes of backends", func(ctx context.Context) (left, error) {
		var l left
		backends, err := u.backends(ctx)
		for _, b := range backends {
			b := b.(*gimbalv1.DiscoveryBackend)
			if !b.DeletionTimestamp.IsZero() || isAnnouncement(b) {
				continue
			}
			if b.Cluster.ClusterStatus != gimbalv1.ClusterEnabled {
				before := b.DeepCopy()
				b.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
				if err := u.Client.Patch(ctx, b, optimistic(before)); err != nil {
					return l, rejection(b, err)
				}
				count++
			}
			if state, restored := restoration(b); !restored {
				l.names, l.why = append(l.names, nameOf(b)+" ("+state+")"), "their weights are restored"
			}
		}
		return l, err
	})
	return done(count, "DiscoveryBackends are back in service", err)
}

// restoration reports the progress of ending the maintenance of a backend, and whether it is complete.
func restoration(b *gimbalv1.DiscoveryBackend) (state string, restored bool) {
	c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained)
	if c == nil || c.ObservedGeneration < b.Generation {
		return "not reconciled yet", false
	}
	state = c.Reason
	if r := b.Status.Routes; r != nil {
		state = fmt.Sprintf("%s, %d of %d drained", c.Reason, r.Drained, r.Matching)
	}
	return state, c.Status == metav1.ConditionFalse && c.Reason == "Enabled"
}

func (u *Uninstaller) backends(ctx context.Context) ([]client.Object, error) {
	return report.All(ctx, u.Client, &gimbalv1.DiscoveryBackendList{}, metav1.NamespaceAll)
}

func (u *Uninstaller) klusters(ctx context.Context) ([]client.Object, error) {
	return report.All(ctx, u.Client, &kubernikusv1.KlusterList{}, metav1.NamespaceAll)
}

// withdrawKlusters ends announcements: their backends are drained and go, with their Secrets.
func (u *Uninstaller) withdrawKlusters(ctx context.Context) (string, error) {
	count := 0
	err := u.until(ctx, "announced Klusters", func(ctx context.Context) (left, error) {
		var l left
		klusters, err := u.klusters(ctx)
		for _, k := range klusters {
			k := k.(*kubernikusv1.Kluster)
			if !k.DeletionTimestamp.IsZero() {
				continue // its deletion withdraws it
			}
			if k.Spec.Discovery != nil && k.Spec.Discovery.Enabled {
				before := k.DeepCopy()
				k.Spec.Discovery.Enabled = false
				if err := u.Client.Patch(ctx, k, optimistic(before)); err != nil {
					return l, rejection(k, err)
				}
				count++
			}
			if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAnnounced); c != nil {
				l.names, l.why = append(l.names, nameOf(k)), c.Reason+": "+c.Message
			}
		}
		return l, err
	})
	return done(count, "Klusters are no longer announced", err)
}

// isWithdrawn reports whether the removal waits for the announcement of a Kluster to be withdrawn.
func isWithdrawn(k *kubernikusv1.Kluster) bool {
	return k.DeletionTimestamp.IsZero() && meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAnnounced) != nil
}

// deleteKlusters detaches Klusters, or has them deorbited.
func (u *Uninstaller) deleteKlusters(ctx context.Context) (string, error) {
	d := deletion{title: "Klusters", list: u.klusters, prepare: func(ctx context.Context, object client.Object) error {
		if u.Klusters == Deorbit {
			return u.annotate(ctx, object, gardenerv1beta1.AnnotationConfirmDeletion)
		}
		return u.annotate(ctx, object, gardenerv1beta1.AnnotationConfirmDeletion, kubernikusv1.DetachAnnotation)
	}, name: func(object client.Object) string {
		if k, ok := object.(*kubernikusv1.Kluster); ok && k.Status.Deorbit != nil {
			return fmt.Sprintf("%s (%s, %d remain)", nameOf(k), k.Status.Deorbit.Stage, len(k.Status.Deorbit.Remaining))
		}
		return nameOf(object)
	}}
	if u.abandons(Klusters) {
		d.abandon = []string{kubernikusv1.DeorbiterFinalizer, kubernikusv1.ImportedDeorbiterFinalizer, kubernikusv1.ClusterAPIFinalizer}
	}
	return u.deleteAll(ctx, d)
}

func (u *Uninstaller) deleteBackends(ctx context.Context) (string, error) {
	return u.deleteAll(ctx, deletion{title: "DiscoveryBackends", list: u.backends,
		prepare: func(ctx context.Context, object client.Object) error {
			return u.annotate(ctx, object, gardenerv1beta1.AnnotationConfirmDeletion)
		}})
}

// deleteTranslations deletes them by their metadata: there may be many.
func (u *Uninstaller) deleteTranslations(ctx context.Context) (string, error) {
	d := deletion{title: "Translations", list: func(ctx context.Context) ([]client.Object, error) {
		found, err := u.metadataOf(ctx, midonetv1.SchemeGroupVersion.WithResource("translations"), metav1.NamespaceAll, "")
		var list []client.Object
		for i := range found {
			found[i].SetGroupVersionKind(midonetv1.SchemeGroupVersion.WithKind("Translation"))
			list = append(list, &found[i])
		}
		return list, err
	}}
	if u.abandons(Translations) {
		d.abandon = []string{midonetv1.FinalizerName}
	}
	return u.deleteAll(ctx, d)
}
