// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// Finalizers of the provider.
const (
	infrastructureFinalizer = "openstackcluster.infrastructure.cluster.x-k8s.io"
	serverFinalizer         = "openstackmachine.infrastructure.cluster.x-k8s.io"
)

// Provider stands in for Cluster API's provider for OpenStack. As its documentation specifies, it does nothing about an object without
// an owner, or that is paused, or whose Cluster is; it deletes the router and the network of an OpenStackCluster when its
// Machines have been deleted, and OpenStack rejects that while they are in use.
type Provider struct {
	c     client.Client
	cloud Cloud
	// networks and servers are what it created, by the name of its object. Only run uses them.
	networks map[string]*created
	servers  map[string]server
	// addresses is how many servers there were.
	addresses int

	mu sync.Mutex
	// deleted are the routers that it deleted.
	deleted []string
	// lost reports that another client deleted the floating IP of a bastion.
	lost bool
	// problem is why the last reconcile of an object failed.
	problem error
}

// created is the network of an OpenStackCluster with its bastion, a server with a floating IP that belongs to no Machine.
type created struct {
	Network
	bastion, address string
}

// server is the server of an OpenStackMachine.
type server struct{ id, address string }

func newProvider(c client.Client, cloud Cloud) *Provider {
	return &Provider{c: c, cloud: cloud, networks: map[string]*created{}, servers: map[string]server{}}
}

// run reconciles until the context is done.
func (p *Provider) run(ctx context.Context) {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		err := errors.Join(p.each(ctx, "OpenStackCluster", p.infrastructure), p.each(ctx, "OpenStackMachine", p.machine))
		p.mu.Lock()
		p.problem = err
		p.mu.Unlock()
	}
}

// failed returns why the last reconcile failed.
func (p *Provider) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

func (p *Provider) each(ctx context.Context, kind string, reconcile func(context.Context, *unstructured.Unstructured) error) error {
	objects, err := p.list(ctx, "infrastructure.cluster.x-k8s.io/v1beta1", kind)
	if err != nil {
		return err
	}
	clusters, err := p.list(ctx, "cluster.x-k8s.io/v1beta2", "Cluster")
	if err != nil {
		return err
	}
	var failures []error
	for i := range objects {
		object := &objects[i]
		if isPaused(object, clusters) || len(object.GetOwnerReferences()) == 0 {
			continue
		}
		if err := reconcile(ctx, object); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failures = append(failures, fmt.Errorf("%s %s: %w", kind, object.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

func (p *Provider) list(ctx context.Context, apiVersion, kind string, options ...client.ListOption) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion(apiVersion)
	list.SetKind(kind + "List")
	err := p.c.List(ctx, list, options...)
	return list.Items, err
}

// isPaused reports whether an object or its Cluster is paused. One without a Cluster is.
func isPaused(object *unstructured.Unstructured, clusters []unstructured.Unstructured) bool {
	i := slices.IndexFunc(clusters, func(c unstructured.Unstructured) bool {
		return c.GetNamespace() == object.GetNamespace() && c.GetName() == object.GetLabels()[desired.LabelClusterName]
	})
	if _, paused := object.GetAnnotations()[desired.AnnotationPaused]; paused || i < 0 {
		return true
	}
	paused, _, _ := unstructured.NestedBool(clusters[i].Object, "spec", "paused")
	return paused
}

// finalizer sets or removes a finalizer, and reports whether it changed anything.
func (p *Provider) finalizer(ctx context.Context, object *unstructured.Unstructured, name string, wanted bool) (bool, error) {
	if slices.Contains(object.GetFinalizers(), name) == wanted {
		return false, nil
	}
	finalizers := slices.DeleteFunc(object.GetFinalizers(), func(each string) bool { return each == name })
	if wanted {
		finalizers = append(finalizers, name)
	}
	object.SetFinalizers(finalizers)
	return true, p.c.Update(ctx, object)
}

func (p *Provider) infrastructure(ctx context.Context, object *unstructured.Unstructured) error {
	key := object.GetNamespace() + "/" + object.GetName()
	if object.GetDeletionTimestamp() != nil {
		machines, err := p.list(ctx, "cluster.x-k8s.io/v1beta2", "Machine",
			client.InNamespace(object.GetNamespace()), client.MatchingLabels{desired.LabelClusterName: object.GetLabels()[desired.LabelClusterName]})
		if err != nil || len(machines) > 0 {
			return err
		}
		if err := p.remove(key); err != nil {
			return err
		}
		_, err = p.finalizer(ctx, object, infrastructureFinalizer, false)
		return err
	}
	if changed, err := p.finalizer(ctx, object, infrastructureFinalizer, true); changed || err != nil {
		return err
	}
	network, err := p.create(key)
	if err != nil {
		return err
	}
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return nil
	}
	if err := unstructured.SetNestedMap(object.Object, map[string]any{"host": "127.0.0.1", "port": int64(6443)}, "spec", "controlPlaneEndpoint"); err != nil {
		return err
	}
	if err := p.c.Update(ctx, object); err != nil {
		return err
	}
	status := map[string]any{
		"ready": true, "network": map[string]any{"id": network.ID, "name": "n", "subnets": []any{}}, "router": map[string]any{"id": network.Router, "name": "r"},
		"failureDomains": map[string]any{"nova": map[string]any{"controlPlane": true}},
	}
	if network.External != "" {
		status["externalNetwork"] = map[string]any{"id": network.External, "name": "public"}
	}
	object.Object["status"] = status
	return p.c.Status().Update(ctx, object)
}

// create creates the network of an OpenStackCluster and its bastion, unless they exist.
func (p *Provider) create(key string) (_ *created, err error) {
	n := p.networks[key]
	if n == nil {
		n = &created{}
		if n.Network, err = p.cloud.CreateNetwork(key); err != nil {
			return nil, err
		}
		p.networks[key] = n
	}
	if n.bastion == "" {
		if n.bastion, err = p.cloud.CreateServer(n.Network, "10.6.0.5"); err != nil {
			return nil, err
		}
	}
	if n.address == "" {
		n.address, err = p.cloud.CreateFloatingIP(n.Network, n.bastion)
	}
	return n, err
}

// remove deletes the bastion, whose floating IP is to exist until then, and the network of an OpenStackCluster.
func (p *Provider) remove(key string) error {
	n := p.networks[key]
	if n == nil {
		return nil
	}
	if n.address != "" {
		existed, err := p.cloud.DeleteFloatingIP(n.address)
		if err != nil {
			return err
		}
		n.address = ""
		p.mu.Lock()
		p.lost = p.lost || !existed
		p.mu.Unlock()
	}
	if err := p.cloud.DeleteServer(n.bastion); err != nil {
		return err
	}
	if err := p.cloud.DeleteNetwork(n.Network); err != nil {
		return err
	}
	delete(p.networks, key)
	p.mu.Lock()
	p.deleted = append(p.deleted, n.Router)
	p.mu.Unlock()
	return nil
}

// LostBastion reports whether another client deleted the floating IP of a bastion.
func (p *Provider) LostBastion() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Deletions returns the routers that it deleted.
func (p *Provider) Deletions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.deleted)
}

func (p *Provider) machine(ctx context.Context, object *unstructured.Unstructured) (err error) {
	key := object.GetNamespace() + "/" + object.GetName()
	if object.GetDeletionTimestamp() != nil {
		if s, exists := p.servers[key]; exists {
			if err := p.cloud.DeleteServer(s.id); err != nil {
				return err
			}
			delete(p.servers, key)
		}
		_, err := p.finalizer(ctx, object, serverFinalizer, false)
		return err
	}
	if changed, err := p.finalizer(ctx, object, serverFinalizer, true); changed || err != nil {
		return err
	}
	network := p.networks[object.GetNamespace()+"/"+object.GetLabels()[desired.LabelClusterName]]
	if network == nil {
		return nil
	}
	s, exists := p.servers[key]
	if !exists {
		p.addresses++
		s.address = fmt.Sprintf("10.6.0.%d", 10+p.addresses)
		if s.id, err = p.cloud.CreateServer(network.Network, s.address); err != nil {
			return err
		}
		p.servers[key] = s
	}
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return nil
	}
	if err := unstructured.SetNestedField(object.Object, "openstack:///"+s.id, "spec", "providerID"); err != nil {
		return err
	}
	if err := p.c.Update(ctx, object); err != nil {
		return err
	}
	object.Object["status"] = map[string]any{"ready": true, "addresses": []any{map[string]any{"type": "InternalIP", "address": s.address}}}
	return p.c.Status().Update(ctx, object)
}
