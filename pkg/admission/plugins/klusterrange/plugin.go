// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package klusterrange is the admission plugin that keeps the pod ranges of Klusters on one router apart: a route into a
// range that two clusters have is of neither, so that nobody could tell an orphan from a route in use.
//
// It looks into an index that follows the writes of all replicas a moment later. Two Klusters that are written at that
// same moment may both pass, and a router that is found in OpenStack is known only after the Kluster was created: Route GC
// finds these, and stands still for both.
package klusterrange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/client-go/tools/cache"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "KlusterRange"

// syncTimeout is how long a request waits for the index of a server that has just started.
const syncTimeout = 10 * time.Second

// Register offers the plugin to a server.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin refuses a Kluster whose pods would have addresses of another one on the same router.
type Plugin struct {
	*admission.Handler
	client versioned.Interface
	// stop ends the reflector that fills the index.
	stop  <-chan struct{}
	index *index
}

var (
	_ admission.ValidationInterface        = &Plugin{}
	_ admission.InitializationValidator    = &Plugin{}
	_ initializer.WantsDrainedNotification = &Plugin{}
)

// New returns the plugin. It needs SetClient and SetDrainedNotification before ValidateInitialization.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update), index: newIndex()}
}

// SetClient gives the plugin a client of the server that it is part of.
func (p *Plugin) SetClient(client versioned.Interface) { p.client = client }

// SetDrainedNotification gives the plugin the channel that is closed when the server has answered its last request.
func (p *Plugin) SetDrainedNotification(stop <-chan struct{}) { p.stop = stop }

// ValidateInitialization complains when something was not set, and begins to follow the Klusters.
func (p *Plugin) ValidateInitialization() error {
	if p.client == nil {
		return errors.New("it was given no client")
	}
	if p.stop == nil {
		return errors.New("it is not told when the server ends")
	}
	klusters := p.client.KubernikusV1().Klusters(metav1.NamespaceAll)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return klusters.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return klusters.Watch(ctx, options)
		},
	}, p.client)
	reflector := cache.NewReflectorWithOptions(source, &kubernikusv1.Kluster{}, p.index, cache.ReflectorOptions{Name: PluginName})
	go reflector.RunWithContext(wait.ContextForChannel(p.stop))
	return nil
}

// Validate refuses a request that gives a Kluster a range on a router where another one has an address of it. One that
// changes neither asks nobody and waits for nothing: a conflict that is there can still be resolved. A router that is
// written to the status was found, not asked for.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != kubernikusv1.Resource("klusters") {
		return nil
	}
	kluster, ok := a.GetObject().(*kubernikusv1.Kluster)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T is not a Kluster", a.GetObject()))
	}
	now := placeOf(kluster)
	if a.GetOperation() == admission.Update {
		old, ok := a.GetOldObject().(*kubernikusv1.Kluster)
		if !ok {
			return apierrors.NewInternalError(fmt.Errorf("a %T is not a Kluster", a.GetOldObject()))
		}
		if placeOf(old) == now {
			return nil
		}
	}
	if now.router == "" {
		return nil
	}
	if err := p.waitForIndex(ctx); err != nil {
		return err
	}
	// The namespace of the request counts, and a name that the server makes up is nobody's yet.
	self := name{a.GetNamespace(), kluster.Name}
	sibling, err := p.findSibling(ctx, self, now)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("cannot tell whether another Kluster on router %s has addresses of %s: %w", now.router, now.pods, err))
	}
	if sibling == nil {
		return nil
	}
	return apierrors.NewForbidden(a.GetResource().GroupResource(), kluster.Name, fmt.Errorf(
		"spec.clusterCIDR: %s overlaps %s of Kluster %s/%s on the same router %s: choose a range that is free, or another router in spec.openstack.routerID",
		now.pods, sibling.pods, sibling.namespace, sibling.name.name, now.router))
}

// sibling is another Kluster and its place.
type sibling struct {
	name
	place
}

// findSibling returns a Kluster with addresses of a place, nil when there is none. The index may be late, so whom it names
// is asked for: nobody is refused for what is no longer so.
func (p *Plugin) findSibling(ctx context.Context, self name, wanted place) (*sibling, error) {
	for _, other := range p.index.overlapping(wanted) {
		if other == self {
			continue
		}
		current, err := p.client.KubernikusV1().Klusters(other.namespace).Get(ctx, other.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get Kluster %s/%s: %w", other.namespace, other.name, err)
		}
		if there := placeOf(current); there.overlaps(wanted) {
			return &sibling{other, there}, nil
		}
	}
	return nil, nil
}

// waitForIndex waits until the index knows the Klusters. A server that does not know them refuses, for now.
func (p *Plugin) waitForIndex(ctx context.Context) error {
	timeout := time.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case <-p.index.synced:
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return apierrors.NewServiceUnavailable("this server has just started and does not know yet which Kluster has which addresses: try again")
}
