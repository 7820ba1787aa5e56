// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Holders are the other objects for which Deorbit does nothing to the cluster of a Kluster. Several may lead to it: two Klusters whose
// Secrets are copies, or a Kluster and a DiscoveryBackend. The cluster is torn down only when all of them agree: each Kluster of it is
// being deleted, and then one of them does the work before the next one does. What may lead to it, while its cluster is unknown, counts
// until a user confirms that it leads to another one.
type Holders struct {
	// keepers lead to the cluster and need it; seniors are Klusters of it that are torn down first.
	keepers, seniors []string
	// doubts are what may lead to it and why, and accepting is the value of the annotation that accepts those that a message names.
	doubts    []string
	accepting string
}

// HoldersOf returns the holders among the Klusters that lead to the cluster of a Kluster, and those whose cluster is unknown, and among the
// DiscoveryBackends that copied it, or use the Secret or the API server. servers are the addresses of the API servers that the Secrets of
// backends lead to, "" for one whose kubeconfig cannot be read, and nothing for one that leads nowhere.
func HoldersOf(
	k *kubernikusv1.Kluster, known Known, klusters []kubernikusv1.Kluster, backends []gimbalv1.DiscoveryBackend, servers map[types.UID]string,
) Holders {
	var h Holders
	var doubtful []string
	doubt := func(kind, name, why string) {
		if why != "" && !k.AcceptsUnknownIdentity(kind, name) {
			doubtful = append(doubtful, kubernikusv1.IdentityReference(kind, name))
			h.doubts = append(h.doubts, kind+" "+name+", which "+why)
		}
	}
	announcers := []*kubernikusv1.Kluster{k}
	for i := range klusters {
		other := &klusters[i]
		if other.UID == k.UID || Leaves(other) {
			continue
		}
		name := other.Namespace + "/" + other.Name
		switch Compare(OfUID(known.ID), OfUID(other.ClusterID())) {
		case Same:
			announcers = append(announcers, other)
			switch {
			case Stays(other):
				h.keepers = append(h.keepers, "Kluster "+name)
			case isOlder(other, k):
				h.seniors = append(h.seniors, name)
			}
		case Unknown:
			if Stays(other) {
				doubt("Kluster", name, InCommon(k, other, known))
			}
		case Different:
		}
	}
	for i := range backends {
		b := &backends[i]
		if !b.DeletionTimestamp.IsZero() || IsDrained(b) ||
			slices.ContainsFunc(announcers, func(k *kubernikusv1.Kluster) bool { return IsAnnouncement(k, b) }) {
			continue
		}
		name := b.Namespace + "/" + b.Name
		switch Compare(OfUID(known.ID), OfUID(OfBackend(b))) {
		case Same:
			h.keepers = append(h.keepers, "DiscoveryBackend "+name)
		case Unknown:
			doubt("DiscoveryBackend", name, inCommonWith(b, k, known, servers))
		case Different:
		}
	}
	for _, names := range []*[]string{&h.keepers, &h.seniors, &h.doubts, &doubtful} {
		slices.Sort(*names)
		*names = slices.Compact(*names) // what is identified between two lists is in both
	}
	h.accepting = k.AcceptingIdentities(doubtful[:min(len(doubtful), maxNamed)]...)
	return h
}

// InUse returns why nothing is done to the cluster if something else needs it, and the remedy; "" if nothing does.
func (h Holders) InUse() string {
	return sentence(h.keepers, "nothing is removed, because the cluster is still used: %s: it leads to the same cluster and is not being "+
		"deleted. To remove this Kluster only, set the annotation %s=true; to take the cluster down, delete the other Klusters of it as "+
		"well, and set its DiscoveryBackends to Maintenance", kubernikusv1.DetachAnnotation)
}

// Unknown returns why nothing is done to the cluster while something else may need it, and the remedy; "" if nothing does.
func (h Holders) Unknown() string {
	return sentence(h.doubts, "nothing is removed, because another object may lead to the same cluster: %s: correct its Secret; or, if it "+
		"leads to another cluster, set the annotation %s=%s on this one; or, to remove this Kluster only, set the annotation %s=true",
		kubernikusv1.AcceptUnknownIdentityAnnotation, h.accepting, kubernikusv1.DetachAnnotation)
}

// First returns which other Kluster the cluster is torn down for first; "" for none.
func (h Holders) First() string {
	return sentence(h.seniors, "Kluster %s leads to the same cluster and is being deleted first: this one continues when that has been "+
		"released")
}

// maxNamed is how many objects a message names: a condition has at most 1,024 bytes, and the value of an annotation must not be cut.
const maxNamed = 3

// sentence returns a text that begins with objects; "" for none.
func sentence(objects []string, format string, more ...any) string {
	if len(objects) == 0 {
		return ""
	}
	text := strings.Join(objects[:min(len(objects), maxNamed)], "; ")
	if others := len(objects) - maxNamed; others > 0 {
		text += fmt.Sprintf("; and %d more", others)
	}
	return fmt.Sprintf(format, append([]any{text}, more...)...)
}

// isOlder decides which of several Klusters of a cluster is torn down first: each process comes to the same result.
func isOlder(a, b *kubernikusv1.Kluster) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID)) < 0
}
