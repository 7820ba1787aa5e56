// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// sharers are the names of the other objects that lead to the cluster of a Kluster: Klusters, and DiscoveryBackends that announce none of
// them.
type sharers struct {
	klusters, backends []string
	// here is true if Groundskeeper runs in the cluster.
	here bool
	// unknown is true while not all DiscoveryBackends are known.
	unknown bool
}

func sharersAmong(k *kubernikusv1.Kluster, klusters []kubernikusv1.Kluster, backends []*resourcewatch.Object) (found sharers) {
	announcers := []*kubernikusv1.Kluster{k}
	for i := range klusters {
		if other := &klusters[i]; other.UID != k.UID && !clusterid.IsReleased(other) {
			announcers = append(announcers, other)
			found.klusters = append(found.klusters, other.Namespace+"/"+other.Name)
		}
	}
	for _, object := range backends {
		b, ok := object.Value.(*gimbalv1.DiscoveryBackend)
		announces := func(k *kubernikusv1.Kluster) bool { return clusterid.IsAnnouncement(k, b) }
		if ok && b.DeletionTimestamp.IsZero() && !slices.ContainsFunc(announcers, announces) {
			found.backends = append(found.backends, b.Namespace+"/"+b.Name)
		}
	}
	slices.Sort(found.klusters)
	slices.Sort(found.backends)
	return found
}

// byCluster finds DiscoveryBackends by the cluster that they copied.
const byCluster = "cluster"

// backendKind is DiscoveryBackends, of which is kept what cluster they copied, and for whom they were made.
func backendKind() resourcewatch.Kind {
	return resourcewatch.Kind{
		GroupResource: gimbalv1.Resource("discoverybackends"), Versions: []string{gimbalv1.SchemeGroupVersion.Version},
		Value: func(content map[string]any) any {
			b := &gimbalv1.DiscoveryBackend{}
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, b); err != nil {
				return nil
			}
			kept := metav1.ObjectMeta{Namespace: b.Namespace, Name: b.Name, Labels: b.Labels, DeletionTimestamp: b.DeletionTimestamp}
			return &gimbalv1.DiscoveryBackend{ObjectMeta: kept, Status: gimbalv1.DiscoveryBackendStatus{Identity: b.Status.Identity}}
		},
		Indexes: map[string]func(*resourcewatch.Object) []string{byCluster: clusterOf},
	}
}

// clusterOf returns the key of a DiscoveryBackend in the index by cluster, none while its cluster is unknown.
func clusterOf(object *resourcewatch.Object) []string {
	if b, ok := object.Value.(*gimbalv1.DiscoveryBackend); ok && clusterid.OfBackend(b) != "" {
		return []string{clusterid.OfBackend(b)}
	}
	return nil
}

// concernedBy returns the Klusters of the cluster that a DiscoveryBackend leads to, or did before the event.
func (r *reconciler) concernedBy(ctx context.Context, e resourcewatch.Event) (requests []reconcile.Request) {
	if e.Old != nil && e.New != nil && equality.Semantic.DeepEqual(e.Old.Value, e.New.Value) {
		return nil
	}
	var clusters []string
	for _, object := range []*resourcewatch.Object{e.Old, e.New} {
		if object != nil {
			clusters = append(clusters, clusterOf(object)...)
		}
	}
	slices.Sort(clusters)
	for _, cluster := range slices.Compact(clusters) {
		requests = append(requests, r.requestsFor(ctx, cluster)...)
	}
	return requests
}
