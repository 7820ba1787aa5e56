// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// namesOf returns the names that the ClusterResourceSets of a Cluster give its cloud controllers. A name in a set that selects several
// Clusters is that of none: what is found by it may be another's. It reads nothing if annotations of the Cluster or the Kluster have both.
func (r *reconciler) namesOf(ctx context.Context, o observed, objects resourcewatch.Reader) (desired.Names, error) {
	c := o.cluster
	if c.ClusterName != "" && c.CSIClusterID != "" || !r.settings.selected(c) || c.Deleting {
		return desired.Names{}, nil
	}
	if o.kluster != nil && o.kluster.Spec.CloudProvider.ClusterName != nil && o.kluster.Spec.CloudProvider.CSIClusterID != nil {
		return desired.Names{}, nil
	}
	sets, err := objects.Find(ctx, resourceSets, resourcewatch.Query{Namespace: c.Namespace})
	if err != nil || len(sets) == 0 {
		return desired.Names{}, err
	}
	neighbors, err := objects.Find(ctx, clusters, resourcewatch.Query{Namespace: c.Namespace})
	if err != nil {
		return desired.Names{}, err
	}
	var manifests, shared []string
	for _, object := range sets {
		set, ok := object.Value.(*desired.ResourceSet)
		if !ok || !set.Selects(c.Labels) {
			continue
		}
		found, err := r.manifestsOf(ctx, c.Namespace, set)
		if err != nil {
			return desired.Names{}, err
		}
		manifests = append(manifests, found...)
		if slices.ContainsFunc(neighbors, func(object *resourcewatch.Object) bool {
			other, ok := object.Value.(*desired.Cluster)
			return ok && other.Name != c.Name && (other.Invalid != nil || set.Selects(other.Labels))
		}) {
			shared = append(shared, found...)
		}
	}
	return desired.NamesIn(manifests).Without(desired.NamesIn(shared)), nil
}

// manifestsOf returns the manifests of a ClusterResourceSet.
func (r *reconciler) manifestsOf(ctx context.Context, namespace string, set *desired.ResourceSet) (manifests []string, err error) {
	for _, name := range set.ConfigMaps {
		data := &corev1.ConfigMap{}
		if err := r.read(ctx, namespace, name, data); err != nil {
			return nil, err
		}
		manifests = slices.AppendSeq(manifests, maps.Values(data.Data))
	}
	for _, name := range set.Secrets {
		data := &corev1.Secret{}
		if err := r.read(ctx, namespace, name, data); err != nil {
			return nil, err
		}
		for _, manifest := range data.Data {
			manifests = append(manifests, string(manifest))
		}
	}
	return manifests, nil
}

// read reads an object that may not exist.
func (r *reconciler) read(ctx context.Context, namespace, name string, object client.Object) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err := r.live.Get(ctx, key, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %T %s: %w", object, key, err)
	}
	return nil
}
