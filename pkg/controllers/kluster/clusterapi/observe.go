// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// errNotServed means that Cluster API is not installed, so that nothing is known of its objects.
var errNotServed = errors.New("the cluster does not serve it")

type observed struct {
	// cluster, infrastructure and kluster are nil when they do not exist.
	cluster        *desired.Cluster
	infrastructure *desired.Infrastructure
	machines       []*desired.Machine
	kluster        *kubernikusv1.Kluster
	names          desired.Names
	// unregistered reports that no ExtensionConfig registers the Runtime Extension that is to retain the machines of the Cluster: hooks do.
	unregistered bool
	// unjoined reports that no Machine became a node, for a Cluster that is deleted before its control plane was initialized. False: it is
	// not known.
	unjoined bool
	// dismantled reports that the CustomResourceDefinition of Clusters is being deleted, which deletes every Cluster.
	dismantled bool
}

// observeLive reads the objects of a name from the API server.
func (r *reconciler) observeLive(ctx context.Context, key types.NamespacedName) (observed, error) {
	o, err := r.observe(ctx, key, r.current(), r.live)
	if err != nil || o.cluster == nil || !o.cluster.Deleting {
		return o, err
	}
	definition := &metav1.PartialObjectMetadata{}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	if err := r.live.Get(ctx, types.NamespacedName{Name: clusters.String()}, definition); client.IgnoreNotFound(err) != nil {
		return o, fmt.Errorf("get CustomResourceDefinition %s: %w", clusters, err)
	}
	o.dismantled = !definition.DeletionTimestamp.IsZero()
	return o, r.observeNodes(ctx, &o)
}

// observeNodes reads whether a Machine became a node, where a Cluster is deleted before its control plane was initialized. The watch has
// only the metadata of Machines.
func (r *reconciler) observeNodes(ctx context.Context, o *observed) error {
	if o.cluster == nil || !o.cluster.Deleting || !o.cluster.NeverInitialized || o.kluster == nil || o.kluster.ClusterID() != "" || o.kluster.NeverCameUp() {
		return nil
	}
	metadata, err := r.metadataOf(machines, "Machine")
	if err != nil {
		return err
	}
	for _, m := range o.machines {
		current := &unstructured.Unstructured{}
		current.SetGroupVersionKind(metadata.GroupVersionKind())
		key := types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
		err := r.live.Get(ctx, key, current)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("get Machine %s: %w", key, err)
		}
		if err != nil || current.GetUID() != m.UID {
			return fmt.Errorf("machine %s: %w", key, kit.ErrChanged)
		}
		if desired.IsNode(current.Object) {
			return nil
		}
	}
	o.unjoined = true
	return nil
}

// observe reads the objects of a name. An error means that it is not known which of them exist.
func (r *reconciler) observe(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader, klusters client.Reader) (observed, error) {
	o := observed{}
	err := requireServed(ctx, objects, clusters, machines)
	if err != nil {
		return o, err
	}
	if o.cluster, err = clusterOf(ctx, key, objects); err != nil {
		return o, err
	}
	if o.kluster, err = r.klusterOf(ctx, key, klusters); err != nil {
		return o, err
	}
	if o.cluster == nil || o.cluster.Invalid != nil {
		return o, nil //nolint:nilerr // what follows from an object that cannot be read is part of the decision
	}
	if o.infrastructure, err = r.infrastructureOf(ctx, o.cluster, objects); err != nil {
		return o, err
	}
	if o.machines, err = machinesOf(ctx, key, objects); err != nil {
		return o, err
	}
	if o.unregistered, err = r.isUnregistered(ctx, o.cluster, objects); err != nil {
		return o, err
	}
	o.names, err = r.namesOf(ctx, o, objects)
	return o, err
}

// isUnregistered reports whether Cluster API calls no hook of Groundskeeper for a Cluster whose machines that is to retain.
func (r *reconciler) isUnregistered(ctx context.Context, c *desired.Cluster, objects resourcewatch.Reader) (bool, error) {
	if !r.settings.extended(c) || !r.settings.selected(c) {
		return false, nil
	}
	found, err := objects.Find(ctx, extensions, resourcewatch.Query{})
	if err != nil {
		return false, err
	}
	return !slices.ContainsFunc(found, func(object *resourcewatch.Object) bool {
		e, ok := object.Value.(*desired.Extension)
		return ok && e.Registers
	}), nil
}

// requireServed returns an error if nothing is known of the objects of a resource.
func requireServed(ctx context.Context, objects resourcewatch.Reader, resources ...schema.GroupResource) error {
	for _, resource := range resources {
		serves, err := objects.Serves(ctx, resource)
		if err == nil && !serves {
			err = fmt.Errorf("%s: %w", resource, errNotServed)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func clusterOf(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader) (*desired.Cluster, error) {
	found, err := objects.Find(ctx, clusters, resourcewatch.Query{Namespace: key.Namespace, Name: key.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	c, _ := found[0].Value.(*desired.Cluster)
	return c, nil
}

func machinesOf(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader) (all []*desired.Machine, err error) {
	found, err := objects.Find(ctx, machines, resourcewatch.Query{Namespace: key.Namespace, Index: clusterIndex, Value: key.String()})
	if err != nil {
		return nil, err
	}
	for _, object := range found {
		if m, ok := object.Value.(*desired.Machine); ok && m.Cluster == key.Name {
			all = append(all, m)
		}
	}
	return all, nil
}

func (r *reconciler) klusterOf(ctx context.Context, key types.NamespacedName, from client.Reader) (*kubernikusv1.Kluster, error) {
	k := &kubernikusv1.Kluster{}
	err := from.Get(ctx, key, k)
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get kluster %s: %w", key, err)
	}
	return k, nil
}

// infrastructureOf returns the OpenStackCluster of a Cluster, nil when it has none.
func (r *reconciler) infrastructureOf(ctx context.Context, c *desired.Cluster, objects resourcewatch.Reader) (*desired.Infrastructure, error) {
	if !c.OnOpenStack() || c.Infrastructure.Name == "" {
		return nil, nil
	}
	if err := requireServed(ctx, objects, infrastructures); err != nil {
		return nil, err
	}
	found, err := objects.Find(ctx, infrastructures, resourcewatch.Query{Namespace: c.Namespace, Name: c.Infrastructure.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	i, _ := found[0].Value.(*desired.Infrastructure)
	return i, nil
}

// orphansOf returns the orphans of a Cluster. It reads the Cluster last: one that was created meanwhile keeps its own objects.
func orphansOf(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader) (all []orphans, err error) {
	if err := requireServed(ctx, objects, clusters, machines); err != nil {
		return nil, err
	}
	// Without the provider for OpenStack, there is none of its objects.
	held, err := objects.Find(ctx, infrastructures, resourcewatch.Query{Namespace: key.Namespace, Index: clusterIndex, Value: key.String()})
	if err != nil {
		return nil, err
	}
	hooked, err := machinesOf(ctx, key, objects)
	if err != nil {
		return nil, err
	}
	c, err := clusterOf(ctx, key, objects)
	if err != nil || c != nil && c.Invalid != nil {
		return nil, err
	}
	for _, object := range held {
		i, ok := object.Value.(*desired.Infrastructure)
		if ok && i.Cluster == key.Name && (c == nil || i.ClusterUID != c.UID) && (i.Finalized || i.PausedForDeorbit) {
			all = append(all, orphans{observed{infrastructure: i}, plan{holds: &holds{}}})
		}
	}
	if c == nil {
		rest := orphans{observed: observed{machines: hooked}}
		if rest.hookAll(rest.observed, false); len(rest.hooks) > 0 {
			all = append(all, rest)
		}
	}
	return all, nil
}

// metadataOf returns the metadata of an object in the version that is served.
func (r *reconciler) metadataOf(resource schema.GroupResource, kind string) (*metav1.PartialObjectMetadata, error) {
	served, err := r.served(resource)
	if err == nil && served == nil {
		err = fmt.Errorf("%s: %w", resource, errNotServed)
	}
	if err != nil {
		return nil, err
	}
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(served.GroupVersion().WithKind(kind))
	return m, nil
}

// namesOf returns the names that the ClusterResourceSets of a Cluster give its cloud controllers. A name in a set that selects several
// Clusters is that of none: what is found by it may be another's. It reads nothing if annotations of the Cluster or the Kluster have both.
func (r *reconciler) namesOf(ctx context.Context, o observed, objects resourcewatch.Reader) (desired.Names, error) {
	c := o.cluster
	if c.ClusterName != "" && c.CSIClusterID != "" || !r.settings.selected(c) || !c.OnOpenStack() || c.Deleting {
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
