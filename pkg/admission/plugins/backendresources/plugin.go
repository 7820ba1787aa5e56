// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backendresources is the admission plugin that ensures that a backend resource belongs to one Translation only. Two bodies of
// one resource would be pushed alternately and indefinitely, and the deletion of one Translation would remove the resource of the other.
//
// It uses an index that is updated by a watch. Two Translations that are written concurrently may both be admitted; the pusher then
// uses the older one.
package backendresources

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "BackendResources"

// Plugin rejects a Translation that wants a backend resource of another one.
type Plugin struct {
	*admission.Handler
	*plugins.Follower[midonetv1.Translation, holder, *index]
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetClient and SetDrainedNotification before ValidateInitialization.
func New() *Plugin {
	follower := plugins.NewFollower(plugins.Followed[midonetv1.Translation, holder, *index]{
		Plugin:    PluginName,
		Knowledge: "which backend resources belong to which Translation",
		Source: func(client versioned.Interface) *cache.ListWatch {
			return plugins.ListWatch(client.MidonetV1().Translations(metav1.NamespaceAll))
		},
		EntryOf:  holderOf,
		NewIndex: newIndex,
	})
	return &Plugin{admission.NewHandler(admission.Create, admission.Update), follower}
}

// Validate rejects a request that gives a Translation a backend resource which another one holds. One that gives it
// none, as that of a status or of a finalizer, sends no request and does not wait.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != midonetv1.Resource("translations") {
		return nil
	}
	t, old, err := plugins.Objects[midonetv1.Translation](a)
	if err != nil {
		return err
	}
	added := claims(t, old)
	if len(added) == 0 {
		return nil
	}
	if err := p.Known(ctx); err != nil {
		return err
	}
	claimant := holderOf(t)
	for _, c := range added {
		other, err := p.findOther(ctx, claimant, c.digest)
		if err != nil {
			return apierrors.NewInternalError(fmt.Errorf("check whether resources[%d] (%s) belongs to another Translation: %w", c.index, c.ref, err))
		}
		if other != nil {
			return apierrors.NewForbidden(a.GetResource().GroupResource(), t.Name,
				fmt.Errorf("resources[%d]: %s belongs to Translation %s/%s: remove it from that one or delete that one first, or omit it here", c.index,
					c.ref, other.namespace, other.name))
		}
	}
	return nil
}

// findOther returns another Translation that holds a resource and that the claimant does not take over, nil when there
// is none. The index may be late, so the object that it names is read: no request is rejected because of outdated data.
func (p *Plugin) findOther(ctx context.Context, claimant holder, resource digest) (*holder, error) {
	var others []holder
	p.Read(func(x *index) { others = x.holdersOf(resource) })
	for _, other := range others {
		if other.is(claimant) || claimant.takesOver(other) {
			continue
		}
		t, err := p.Client().MidonetV1().Translations(other.namespace).Get(ctx, other.name, metav1.GetOptions{})
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
