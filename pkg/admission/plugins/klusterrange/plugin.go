// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package klusterrange is the admission plugin that rejects overlapping pod ranges of Klusters on one router. The owner of a route into
// a shared range is unknown, so orphaned routes could not be distinguished from routes in use.
//
// It uses an index that is updated by a watch. Two Klusters that are written concurrently may both be admitted, and a router that is
// discovered in OpenStack is known only after the creation of the Kluster. Route GC detects such conflicts, and removes no routes of
// either Kluster.
package klusterrange

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "KlusterRange"

// Plugin rejects a Kluster whose pods would have addresses of another one on the same router.
type Plugin struct {
	*admission.Handler
	*plugins.Follower[kubernikusv1.Kluster, entry, *index]
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetClient and SetDrainedNotification before ValidateInitialization.
func New() *Plugin {
	follower := plugins.NewFollower(plugins.Followed[kubernikusv1.Kluster, entry, *index]{
		Plugin:    PluginName,
		Knowledge: "which Kluster has which addresses",
		Source: func(client versioned.Interface) *cache.ListWatch {
			return plugins.ListWatch(client.KubernikusV1().Klusters(metav1.NamespaceAll))
		},
		EntryOf:  entryOf,
		NewIndex: newIndex,
	})
	return &Plugin{admission.NewHandler(admission.Create, admission.Update), follower}
}

// Validate rejects a request that gives a Kluster a range on a router where another one has an address of it. One that
// changes neither sends no request and does not wait: a conflict that is there can still be resolved. A router that is
// written to the status was discovered, not requested.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != kubernikusv1.Resource("klusters") {
		return nil
	}
	kluster, old, err := plugins.Objects[kubernikusv1.Kluster](a)
	if err != nil {
		return err
	}
	now := placeOf(kluster)
	if now.router == "" || old != nil && placeOf(old) == now {
		return nil
	}
	if err := p.Known(ctx); err != nil {
		return err
	}
	// The namespace is that of the request. A generated name is empty here and cannot be that of an existing Kluster.
	self := name{a.GetNamespace(), kluster.Name}
	sibling, err := p.findSibling(ctx, self, now)
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("check whether another Kluster on router %s has addresses of %s: %w", now.router,
			kubernikusv1.RangesString(now.pods), err))
	}
	if sibling == nil {
		return nil
	}
	return apierrors.NewForbidden(a.GetResource().GroupResource(), kluster.Name, fmt.Errorf(
		"spec.clusterCIDR: %s overlaps %s of Kluster %s/%s on the same router %s: choose a range that is free, or another router in "+
			"spec.openstack.routerID",
		kubernikusv1.RangesString(now.pods), kubernikusv1.RangesString(sibling.pods), sibling.namespace, sibling.name.name, now.router))
}

// sibling is another Kluster and its place.
type sibling struct {
	name
	place
}

// findSibling returns a Kluster with addresses of a place, nil when there is none. The index may be late, so the object that it
// names is read: no request is rejected because of outdated data.
func (p *Plugin) findSibling(ctx context.Context, self name, wanted place) (*sibling, error) {
	var others []name
	p.Read(func(x *index) { others = x.overlapping(wanted) })
	for _, other := range others {
		if other == self {
			continue
		}
		current, err := p.Client().KubernikusV1().Klusters(other.namespace).Get(ctx, other.name, metav1.GetOptions{})
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
