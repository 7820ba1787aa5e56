// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

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

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// Finalizers of the provider.
const (
	infrastructureFinalizer = "openstackcluster.infrastructure.cluster.x-k8s.io"
	serverFinalizer         = "openstackmachine.infrastructure.cluster.x-k8s.io"
)

// provider stands in for Cluster API's provider for OpenStack. As its documentation specifies, it does nothing about an object without
// an owner, or that is paused, or whose Cluster is; it deletes the router and the network of an OpenStackCluster when its
// Machines have been deleted, and OpenStack rejects that while they are in use.
type provider struct {
	c       client.Client
	cloud   *fake.Server
	project string

	mu sync.Mutex
	// networks and servers are what it created, by the name of its object.
	networks, servers map[string]string
	// routers are those of the networks. deleted are the routers that it deleted.
	routers map[string]string
	deleted []string
	// addresses is how many servers there were.
	addresses int
	// bastions are servers with a floating IP that belong to a network, and to no Machine. lost reports that another deleted one.
	bastions map[string]string
	lost     bool
	// problem is why the last reconcile of an object failed.
	problem error
}

func newProvider(c client.Client, cloud *fake.Server, project string) *provider {
	return &provider{c: c, cloud: cloud, project: project, networks: map[string]string{}, servers: map[string]string{}, routers: map[string]string{}, bastions: map[string]string{}}
}

// run reconciles until the context is done.
func (p *provider) run(ctx context.Context) {
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
func (p *provider) failed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

func (p *provider) each(ctx context.Context, kind string, reconcile func(context.Context, *unstructured.Unstructured) error) error {
	list := &unstructured.UnstructuredList{}
	list.SetAPIVersion("infrastructure.cluster.x-k8s.io/v1beta1")
	list.SetKind(kind + "List")
	if err := p.c.List(ctx, list); err != nil {
		return err
	}
	var failures []error
	for i := range list.Items {
		object := &list.Items[i]
		if paused, err := p.isPaused(ctx, object); err != nil || paused || len(object.GetOwnerReferences()) == 0 {
			failures = append(failures, err)
			continue
		}
		if err := reconcile(ctx, object); err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failures = append(failures, fmt.Errorf("%s %s: %w", kind, object.GetName(), err))
		}
	}
	return errors.Join(failures...)
}

func (p *provider) isPaused(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	if _, paused := object.GetAnnotations()["cluster.x-k8s.io/paused"]; paused {
		return true, nil
	}
	cluster := newObject("cluster.x-k8s.io/v1beta2", "Cluster", object.GetNamespace(), object.GetLabels()["cluster.x-k8s.io/cluster-name"])
	if err := p.c.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
		return true, client.IgnoreNotFound(err)
	}
	paused, _, _ := unstructured.NestedBool(cluster.Object, "spec", "paused")
	return paused, nil
}

// finalizer sets or removes a finalizer, and reports whether it changed anything.
func (p *provider) finalizer(ctx context.Context, object *unstructured.Unstructured, name string, wanted bool) (bool, error) {
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

func (p *provider) infrastructure(ctx context.Context, object *unstructured.Unstructured) error {
	key := object.GetNamespace() + "/" + object.GetName()
	if object.GetDeletionTimestamp() != nil {
		machines := &unstructured.UnstructuredList{}
		machines.SetAPIVersion("cluster.x-k8s.io/v1beta2")
		machines.SetKind("MachineList")
		err := p.c.List(ctx, machines, client.InNamespace(object.GetNamespace()), client.MatchingLabels{"cluster.x-k8s.io/cluster-name": object.GetLabels()["cluster.x-k8s.io/cluster-name"]})
		if err != nil || len(machines.Items) > 0 {
			return err
		}
		if router := p.routers[key]; router != "" && !slices.Contains(p.deletions(), router) {
			if routes := p.cloud.Routes(router); len(routes) > 0 {
				return fmt.Errorf("router %s is in use by routes %v", router, routes)
			}
			if balancers := p.cloud.LoadBalancers(p.project); slices.ContainsFunc(balancers, func(b fake.LoadBalancer) bool { return b.VIPSubnetID != "" }) {
				return fmt.Errorf("network %s is in use by load balancers", p.networks[key])
			}
			p.removeBastion(key)
			p.mu.Lock()
			p.deleted = append(p.deleted, router)
			p.mu.Unlock()
		}
		_, err = p.finalizer(ctx, object, infrastructureFinalizer, false)
		return err
	}
	if changed, err := p.finalizer(ctx, object, infrastructureFinalizer, true); changed || err != nil {
		return err
	}
	if p.networks[key] == "" {
		p.networks[key] = p.cloud.AddNetwork("10.6.0.0/24")
		p.mu.Lock()
		p.routers[key] = p.cloud.AddRouter(p.project, p.networks[key])
		p.mu.Unlock()
		p.bastions[key] = p.cloud.AddServer(p.project, p.networks[key], "10.6.0.5", "ACTIVE")
		p.cloud.AddFloatingIP(p.project, bastionAddress, p.bastions[key])
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
	object.Object["status"] = map[string]any{
		"ready": true, "network": map[string]any{"id": p.networks[key], "name": "n", "subnets": []any{}}, "router": map[string]any{"id": p.routers[key], "name": "r"},
		"failureDomains": map[string]any{"nova": map[string]any{"controlPlane": true}},
	}
	return p.c.Status().Update(ctx, object)
}

// bastionAddress is the floating IP of a bastion, and not one of the addresses that the cloud assigns.
const bastionAddress = "198.51.100.5"

// removeBastion deletes the bastion of a network, whose floating IP is to be there until then.
func (p *provider) removeBastion(key string) {
	found := false
	for _, ip := range p.cloud.FloatingIPs(p.project) {
		if ip.Address == bastionAddress {
			found = true
			p.cloud.RemoveFloatingIP(ip.ID)
		}
	}
	p.cloud.RemoveServer(p.bastions[key], false)
	p.mu.Lock()
	p.lost = p.lost || !found
	p.mu.Unlock()
}

// lostBastion reports whether a bastion was deleted by another.
func (p *provider) lostBastion() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// deletions returns the routers that it deleted.
func (p *provider) deletions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.deleted)
}

func (p *provider) machine(ctx context.Context, object *unstructured.Unstructured) error {
	key := object.GetNamespace() + "/" + object.GetName()
	if object.GetDeletionTimestamp() != nil {
		if id := p.servers[key]; id != "" {
			p.cloud.RemoveServer(id, false)
			delete(p.servers, key)
		}
		_, err := p.finalizer(ctx, object, serverFinalizer, false)
		return err
	}
	if changed, err := p.finalizer(ctx, object, serverFinalizer, true); changed || err != nil {
		return err
	}
	network := p.networks[object.GetNamespace()+"/"+object.GetLabels()["cluster.x-k8s.io/cluster-name"]]
	if network == "" {
		return nil
	}
	if p.servers[key] == "" {
		p.addresses++
		p.servers[key] = p.cloud.AddServer(p.project, network, fmt.Sprintf("10.6.0.%d", 10+p.addresses), "ACTIVE")
	}
	if ready, _, _ := unstructured.NestedBool(object.Object, "status", "ready"); ready {
		return nil
	}
	if err := unstructured.SetNestedField(object.Object, "openstack:///"+p.servers[key], "spec", "providerID"); err != nil {
		return err
	}
	if err := p.c.Update(ctx, object); err != nil {
		return err
	}
	object.Object["status"] = map[string]any{"ready": true}
	return p.c.Status().Update(ctx, object)
}
