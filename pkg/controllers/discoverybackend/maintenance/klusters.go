// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// byCluster finds Klusters by the cluster that they lead to.
const byCluster = "cluster"

var klustersResource = kubernikusv1.Resource("klusters")

// klusterKind is Klusters, of which is kept what cluster they lead to, and whether they still do.
func klusterKind() resourcewatch.Kind {
	return resourcewatch.Kind{
		GroupResource: klustersResource, Versions: []string{kubernikusv1.SchemeGroupVersion.Version},
		While: []schema.GroupResource{backendsResource}, Value: klusterOf,
		Indexes: map[string]func(*resourcewatch.Object) []string{
			byCluster: indexed(func(_ *resourcewatch.Object, kept *kubernikusv1.Kluster) []string { return []string{kept.ClusterID()} }),
		},
	}
}

// klusterOf keeps the identity of a Kluster and of its cluster; nil for one that leads to none, or was released.
func klusterOf(content map[string]any) any {
	k := &kubernikusv1.Kluster{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, k); err != nil || k.ClusterID() == "" || clusterid.IsReleased(k) {
		return nil
	}
	return &kubernikusv1.Kluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name, UID: k.UID},
		Status:     kubernikusv1.KlusterStatus{Identity: &kubernikusv1.KlusterIdentity{ClusterID: k.ClusterID()}},
	}
}

// klustersOf returns the names of the Klusters that lead to the cluster of a backend, none if it announces one of them. It is an error when
// not all Klusters are known.
func (c *cluster) klustersOf(ctx context.Context, backend *gimbalv1.DiscoveryBackend) ([]string, error) {
	id := clusterid.OfBackend(backend)
	if id == "" {
		return nil, nil
	}
	found, err := c.reader.Find(ctx, klustersResource, resourcewatch.Query{Index: byCluster, Value: id})
	var names []string
	for _, object := range found {
		k := valueOf[kubernikusv1.Kluster](object)
		if k != nil && clusterid.IsAnnouncement(k, backend) {
			return nil, nil
		}
		names = append(names, nameOf(object).String())
	}
	slices.Sort(names)
	return names, err
}

// copiesOf returns the backends of the cluster that a Kluster leads to, or did before the event.
func (w *watches) copiesOf(ctx context.Context, e resourcewatch.Event) (names []string) {
	before, after := valueOf[kubernikusv1.Kluster](e.Old), valueOf[kubernikusv1.Kluster](e.New)
	if equality.Semantic.DeepEqual(before, after) {
		return nil
	}
	all, err := w.cluster.backends(ctx)
	if err != nil {
		return nil // all backends are still to come, and are checked then
	}
	for name, backend := range all {
		id := clusterid.OfBackend(backend)
		if id != "" && (before != nil && before.ClusterID() == id || after != nil && after.ClusterID() == id) {
			names = append(names, name)
		}
	}
	return names
}
