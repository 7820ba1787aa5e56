// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backendresources is the admission plugin that lets a backend resource belong to one Translation: two bodies
// for one resource would be pushed in turns for ever, and the deletion of one Translation would take the resource from
// the other.
//
// It looks into an index that follows the writes of all replicas a moment later. Two Translations that are written at
// that same moment may both pass; the pusher settles it, the older one wins.
package backendresources

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

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "BackendResources"

// syncTimeout is how long a request waits for the index of a server that has just started.
const syncTimeout = 10 * time.Second

// Register offers the plugin to a server.
func Register(plugins *admission.Plugins) {
	plugins.Register(PluginName, func(io.Reader) (admission.Interface, error) { return New(), nil })
}

// Plugin refuses a Translation that wants a backend resource of another one.
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

// ValidateInitialization complains when something was not set, and begins to follow the Translations.
func (p *Plugin) ValidateInitialization() error {
	if p.client == nil {
		return errors.New("it was given no client")
	}
	if p.stop == nil {
		return errors.New("it is not told when the server ends")
	}
	translations := p.client.MidonetV1().Translations(metav1.NamespaceAll)
	source := cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return translations.List(ctx, options)
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return translations.Watch(ctx, options)
		},
	}, p.client)
	reflector := cache.NewReflectorWithOptions(source, &midonetv1.Translation{}, p.index, cache.ReflectorOptions{Name: PluginName})
	go reflector.RunWithContext(wait.ContextForChannel(p.stop))
	return nil
}

// Validate refuses a request that gives a Translation a backend resource which another one holds. One that gives it
// none, as that of a status or of a finalizer, asks nobody and waits for nothing.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != midonetv1.Resource("translations") {
		return nil
	}
	t, ok := a.GetObject().(*midonetv1.Translation)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T is not a Translation", a.GetObject()))
	}
	var old *midonetv1.Translation
	if a.GetOperation() == admission.Update {
		if old, ok = a.GetOldObject().(*midonetv1.Translation); !ok {
			return apierrors.NewInternalError(fmt.Errorf("a %T is not a Translation", a.GetOldObject()))
		}
	}
	added := claims(t, old)
	if len(added) == 0 {
		return nil
	}
	if err := p.waitForIndex(ctx); err != nil {
		return err
	}
	claimant := holderOf(t)
	for _, c := range added {
		other, err := p.findOther(ctx, claimant, c.digest)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("cannot tell whether resources[%d] (%s) belongs to another Translation: %w", c.index, c.ref, err))
		}
		if other != nil {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), t.Name,
				fmt.Errorf("resources[%d]: %s belongs to Translation %s/%s: take it out of that one or delete that one first, or leave it out here", c.index, c.ref, other.namespace, other.name))
		}
	}
	return nil
}

// findOther returns another Translation that holds a resource and that the claimant does not take over, nil when there
// is none. The index may be late, so whom it names is asked for: nobody is refused for what is no longer so.
func (p *Plugin) findOther(ctx context.Context, claimant holder, resource digest) (*holder, error) {
	for _, other := range p.index.holdersOf(resource) {
		if other.is(claimant) || claimant.takesOver(other) {
			continue
		}
		t, err := p.client.MidonetV1().Translations(other.namespace).Get(ctx, other.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("get Translation %s/%s: %w", other.namespace, other.name, err)
		}
		if current := holderOf(t); current.holds(resource) && !claimant.takesOver(current) {
			return &current, nil
		}
	}
	return nil, nil
}

// waitForIndex waits until the index knows the Translations. A server that does not know them refuses, for now.
func (p *Plugin) waitForIndex(ctx context.Context) error {
	timeout := time.NewTimer(syncTimeout)
	defer timeout.Stop()
	select {
	case <-p.index.synced:
		return nil
	case <-ctx.Done():
	case <-timeout.C:
	}
	return apierrors.NewServiceUnavailable("this server has just started and does not know yet which backend resources belong to which Translation: try again")
}
