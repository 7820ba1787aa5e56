// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackendtwins

import (
	"fmt"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// entry is a backend as the index keeps it.
type entry struct {
	namespace, name string
	kind            gimbalv1.BackendType
	secret          string
	identity        []gimbalv1.ClusterIdentity
	// receives is set when the backend is not in maintenance, and routes refer to it or have not been counted.
	receives bool
}

func entryOf(b *gimbalv1.DiscoveryBackend) entry {
	return entry{
		namespace: b.Namespace, name: b.Name, kind: b.Cluster.Type, secret: b.Cluster.SecretName(), identity: b.Status.Identity,
		receives: b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance && (b.Status.Routes == nil || b.Status.Routes.Matching > 0),
	}
}

// index knows all backends by name, of which no two have the same. A plugins.Follower fills it.
type index struct{ all map[string]entry }

func newIndex(size int) *index { return &index{all: make(map[string]entry, size)} }

// Put implements plugins.Index.
func (x *index) Put(e entry) { x.all[e.name] = e }

// Remove implements plugins.Index.
func (x *index) Remove(e entry) { delete(x.all, e.name) }

// warnings returns what a user has to know about the other backends: those with the same Secret, those of the same cluster, and when
// maintenance begins, those of which it is unknown that they are not.
func warnings(e entry, begins bool, all map[string]entry) (texts []string) {
	var secret, same, unknown []string
	for name, other := range all {
		if name == e.name || other.kind != e.kind {
			continue
		}
		title := other.namespace + "/" + name
		verdict := clusterid.Compare(e.identity, other.identity)
		switch {
		case other.namespace == e.namespace && other.secret == e.secret && e.secret != "":
			secret = append(secret, title)
		case verdict == clusterid.Same:
			same = append(same, title)
		case verdict == clusterid.Unknown && begins && other.receives:
			unknown = append(unknown, title)
		}
	}
	const consequence = "in maintenance a backend of the same cluster is no alternative, and a cluster is drained when all its backends are"
	if len(secret) > 0 {
		texts = append(texts, fmt.Sprintf("Secret %s is also that of DiscoveryBackend %s: %s", e.secret, plugins.Titles(secret), consequence))
	}
	if len(same) > 0 {
		texts = append(texts, fmt.Sprintf("the backend leads to the same cluster as DiscoveryBackend %s: %s", plugins.Titles(same), consequence))
	}
	if len(unknown) > 0 {
		texts = append(texts, fmt.Sprintf("it is unknown whether the backend leads to the same cluster as DiscoveryBackend %s, because "+
			"status.identity is not reported: "+
			"if it does, put both into maintenance", plugins.Titles(unknown)))
	}
	return texts
}
