// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package discoverybackendtwins is the admission plugin that warns of DiscoveryBackends that lead to the same cluster: in maintenance none
// of them is an alternative to the other ones.
//
// It rejects nothing, and a request waits for nothing: the index follows the writes of all replicas, and a server that has just started may
// not know all backends yet. The condition ClusterUnique reports the same later.
package discoverybackendtwins

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"
	"k8s.io/client-go/tools/cache"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "DiscoveryBackendTwins"

// Plugin warns of backends that lead, or may lead, to the cluster of another one.
type Plugin struct {
	*admission.Handler
	*plugins.Follower[gimbalv1.DiscoveryBackend, entry, *index]
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetClient and SetDrainedNotification before ValidateInitialization.
func New() *Plugin {
	follower := plugins.NewFollower(plugins.Followed[gimbalv1.DiscoveryBackend, entry, *index]{
		Plugin:    PluginName,
		Knowledge: "which DiscoveryBackend leads to which cluster",
		Source: func(client versioned.Interface) *cache.ListWatch {
			return plugins.ListWatch(client.GimbalV1().DiscoveryBackends(metav1.NamespaceAll))
		},
		EntryOf:  entryOf,
		NewIndex: newIndex,
	})
	return &Plugin{admission.NewHandler(admission.Create, admission.Update), follower}
}

// Validate warns a user who creates a backend, or changes its specification.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != gimbalv1.Resource("discoverybackends") {
		return nil
	}
	backend, old, err := plugins.Objects[gimbalv1.DiscoveryBackend](a)
	if err != nil {
		return err
	}
	if old != nil && equality.Semantic.DeepEqual(old.Cluster, backend.Cluster) {
		return nil
	}
	e := entryOf(backend)
	e.namespace = a.GetNamespace()
	begins := backend.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance &&
		(old == nil || old.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance)
	var found []string
	p.Read(func(x *index) { found = warnings(e, begins, x.all) })
	for _, text := range found {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}
