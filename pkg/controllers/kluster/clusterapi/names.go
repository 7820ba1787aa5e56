// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// namesOf returns the names that the ClusterResourceSets of a Cluster give its cloud controllers. It reads nothing if annotations of the
// Cluster or the Kluster have both.
func (r *reconciler) namesOf(ctx context.Context, o observed, objects resourcewatch.Reader) (desired.Names, error) {
	c := o.cluster
	if c.ClusterName != "" && c.CSIClusterID != "" || !r.settings.selected(c) || c.Deleting {
		return desired.Names{}, nil
	}
	if o.kluster != nil && o.kluster.Spec.CloudProvider.ClusterName != nil && o.kluster.Spec.CloudProvider.CSIClusterID != nil {
		return desired.Names{}, nil
	}
	sets, err := objects.Find(ctx, resourceSets, resourcewatch.Query{Namespace: c.Namespace})
	if err != nil {
		return desired.Names{}, err
	}
	var manifests []string
	for _, object := range sets {
		set, ok := object.Value.(*desired.ResourceSet)
		if !ok || !set.Selects(c.Labels) {
			continue
		}
		for _, name := range set.ConfigMaps {
			data := &corev1.ConfigMap{}
			if err := r.read(ctx, c.Namespace, name, data); err != nil {
				return desired.Names{}, err
			}
			for _, manifest := range data.Data {
				manifests = append(manifests, manifest)
			}
		}
		for _, name := range set.Secrets {
			data := &corev1.Secret{}
			if err := r.read(ctx, c.Namespace, name, data); err != nil {
				return desired.Names{}, err
			}
			for _, manifest := range data.Data {
				manifests = append(manifests, string(manifest))
			}
		}
	}
	return desired.NamesIn(manifests), nil
}

// read reads an object that may not exist.
func (r *reconciler) read(ctx context.Context, namespace, name string, object client.Object) error {
	key := types.NamespacedName{Namespace: namespace, Name: name}
	if err := r.live.Get(ctx, key, object); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %T %s: %w", object, key, err)
	}
	return nil
}
