// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// conflictPause is the delay of a retry after another client changed an object.
const conflictPause = time.Second

// errNotServed means that Cluster API is not installed, so that nothing is known of its objects.
var errNotServed = errors.New("the cluster does not serve it")

// Reconcile brings the Kluster of a name and the objects of its Cluster into line.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	key := request.NamespacedName
	o, err := r.observe(ctx, key, r.watched, r.client)
	if err == nil {
		err = r.observeNodes(ctx, &o)
	}
	if err != nil {
		r.reportForbidden(ctx, key, err)
		return r.retry(ctx, err)
	}
	p := decide(o, r.settings, r.clock.Now())
	if p.writes() {
		if o, err = r.observeLive(ctx, key); err != nil {
			return r.retry(ctx, err)
		}
		p = decide(o, r.settings, r.clock.Now())
		if err := r.write(ctx, o, p); err != nil {
			return r.retry(ctx, err)
		}
	}
	r.report(ctx, key, o, p.rejection)
	if err := r.writeStatus(ctx, o, p); err != nil {
		return r.retry(ctx, err)
	}
	if o.cluster == nil || o.cluster.Infrastructure.Kind == desired.KindOpenStackCluster {
		if err := r.releaseOrphans(ctx, key); err != nil {
			return r.retry(ctx, err)
		}
	}
	return reconcile.Result{RequeueAfter: p.again}, nil
}

// retry returns the result of a reconcile that failed.
func (r *reconciler) retry(ctx context.Context, err error) (reconcile.Result, error) {
	switch {
	case errors.Is(err, errNotServed):
		return reconcile.Result{}, nil // an event follows when it is
	case kit.IsConcurrentChange(err):
		log.FromContext(ctx).V(1).Info("An object changed meanwhile, retrying", "err", err)
		return reconcile.Result{RequeueAfter: conflictPause}, nil
	default:
		return reconcile.Result{}, err
	}
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
	o.names, err = r.namesOf(ctx, o, objects)
	return o, err
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

// clusterOf returns the Cluster of a name, nil when there is none.
func clusterOf(ctx context.Context, key types.NamespacedName, objects resourcewatch.Reader) (*desired.Cluster, error) {
	found, err := objects.Find(ctx, clusters, resourcewatch.Query{Namespace: key.Namespace, Name: key.Name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	c, _ := found[0].Value.(*desired.Cluster)
	return c, nil
}

// machinesOf returns the Machines of a Cluster.
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

// klusterOf returns the Kluster of a name, nil when there is none.
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
	if c.Infrastructure.Kind != desired.KindOpenStackCluster || c.Infrastructure.Name == "" {
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

// rejections are the reasons that were reported last, by Cluster.
type rejections struct {
	mu   sync.Mutex
	last map[types.NamespacedName]desired.Rejection
}

// isNew records a rejection, and reports whether it differs from the last one.
func (r *rejections) isNew(key types.NamespacedName, now desired.Rejection) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last[key] == now {
		return false
	}
	if delete(r.last, key); now.Reason != "" {
		if r.last == nil {
			r.last = map[types.NamespacedName]desired.Rejection{}
		}
		r.last[key] = now
	}
	return now.Reason != ""
}

// reportForbidden reports on a Cluster that is selected that the controller lacks a permission to read what belongs to it.
func (r *reconciler) reportForbidden(ctx context.Context, key types.NamespacedName, err error) {
	if !apierrors.IsForbidden(err) {
		return
	}
	c, findErr := clusterOf(ctx, key, r.watched)
	if findErr != nil || c == nil || c.Invalid != nil || !r.settings.selected(c) {
		return
	}
	why := desired.Rejection{Reason: reasonForbidden, Message: "the controller manager lacks a permission, apply artifacts/kluster and artifacts/capi: " + err.Error()}
	r.report(ctx, key, observed{cluster: c}, why)
	r.prevented(ctx, c, why)
}

// report reports why a Cluster has no Kluster, when the reason is new. That its network does not exist yet is normal.
func (r *reconciler) report(ctx context.Context, key types.NamespacedName, o observed, rejection desired.Rejection) {
	if o.cluster == nil {
		rejection = desired.Rejection{}
	}
	if !r.rejections.isNew(key, rejection) || rejection.Reason == desired.ReasonInfrastructurePending {
		return
	}
	log.FromContext(ctx).Info("Skipped a Cluster", "reason", rejection.Reason, "message", rejection.Message)
	r.recorder.Eventf(clusterReference(key, o.cluster), nil, corev1.EventTypeWarning, rejection.Reason, actionRegister, "%s", kluster.Bounded(rejection.Message))
}
