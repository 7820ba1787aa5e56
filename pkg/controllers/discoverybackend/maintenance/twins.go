// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// twins are the backends that may lead to the same cluster as another one.
type twins struct {
	// proven lead to the same cluster, possible may: the identity of the one or the other was never reported.
	proven, possible []*gimbalv1.DiscoveryBackend
	// here is set when the cluster is the one in which the controller runs.
	here bool
	// klusters are the Klusters that lead to the cluster, unless the backend announces one of them; unknown: not all Klusters are known.
	klusters []string
	unknown  bool
}

// clustersOf maps backends to their clusters: two with the same value are proven to lead to one cluster.
func clustersOf(backends map[string]*gimbalv1.DiscoveryBackend) map[string]string {
	identities := make(map[string][]gimbalv1.ClusterIdentity, len(backends))
	for name, backend := range backends {
		identities[name] = backend.Status.Identity
	}
	return clusterid.Groups(identities)
}

// twinsOf returns the twins of a backend, in the order of their names. own is the identity of the cluster of the controller, nil while
// unknown.
func twinsOf(backend *gimbalv1.DiscoveryBackend, f fleet, own []gimbalv1.ClusterIdentity) twins {
	found := twins{here: clusterid.Compare(backend.Status.Identity, own) == clusterid.Same}
	for _, other := range f.all {
		switch {
		case other.UID == backend.UID:
		case f.sameCluster(other, backend):
			found.proven = append(found.proven, other)
		case other.Cluster.Type == backend.Cluster.Type &&
			clusterid.Compare(backend.Status.Identity, other.Status.Identity) == clusterid.Unknown:
			found.possible = append(found.possible, other)
		}
	}
	byName := func(a, b *gimbalv1.DiscoveryBackend) int { return cmp.Compare(a.Name, b.Name) }
	slices.SortFunc(found.proven, byName)
	slices.SortFunc(found.possible, byName)
	return found
}

// condition returns the condition ClusterUnique of a backend, nil unless something else leads to its cluster. Its services are copied
// nevertheless, and a Kluster of the cluster is often intended.
func (t twins) condition(backend *gimbalv1.DiscoveryBackend) *metav1.Condition {
	reason, message := gimbalv1.ReasonSameCluster, ""
	last := uniqueOf(backend)
	switch {
	case len(t.proven) > 0:
		message = lead("DiscoveryBackend", titlesOf(t.proven)) + " to the same cluster, so that it is no alternative in maintenance: " +
			"delete the one that is not needed, or put all of them into maintenance together"
		if t.here {
			message = "the backend is the cluster that this API server belongs to, and " + message
		}
	case t.here:
		message = "the backend is the cluster that this API server belongs to: put the credentials of the backend into the Secret"
	case len(t.klusters) > 0:
		reason = gimbalv1.ReasonSameClusterKluster
	case t.unknown && last != nil && last.Reason == gimbalv1.ReasonSameClusterKluster:
		return last
	default:
		return nil
	}
	if len(t.klusters) > 0 {
		message = strings.TrimPrefix(message+"; "+lead("Kluster", t.klusters)+
			" to the same cluster, which is torn down only when the backend has been deleted, or is in Maintenance and drained", "; ")
	}
	return new(status.Condition(backend, gimbalv1.ConditionClusterUnique, metav1.ConditionFalse, reason, message))
}

// receiving returns those of some backends that get requests, or possibly do.
func receiving(backends []*gimbalv1.DiscoveryBackend) []*gimbalv1.DiscoveryBackend {
	return slices.DeleteFunc(slices.Clone(backends), func(b *gimbalv1.DiscoveryBackend) bool {
		return isQuiet(b) || b.Status.Routes != nil && b.Status.Routes.Matching == 0
	})
}

// isQuiet reports whether nothing is sent to a backend in maintenance, except for what its policy keeps. That a twin of it still receives
// makes no difference: otherwise two would wait for each other.
func isQuiet(backend *gimbalv1.DiscoveryBackend) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return status.IsInMaintenance(backend) && c != nil && c.ObservedGeneration == backend.Generation &&
		(c.Status == metav1.ConditionTrue || c.Reason == gimbalv1.ReasonSameCluster)
}

// keeping returns those of some backends in maintenance that still serve routes without another cluster.
func keeping(backends []*gimbalv1.DiscoveryBackend) []*gimbalv1.DiscoveryBackend {
	return slices.DeleteFunc(slices.Clone(backends), func(b *gimbalv1.DiscoveryBackend) bool {
		routes := b.Status.Routes
		keeps := routes != nil && routes.WithoutAlternative != nil && routes.WithoutAlternative.Count > 0 ||
			slices.ContainsFunc(b.Status.Errors, func(e gimbalv1.DiscoveryError) bool { return e.Type == gimbalv1.ErrorNotDrained })
		return !status.KeepsSole(b) || !keeps
	})
}

// settle completes the condition of a backend that gets no requests by its own routes: its cluster may get some by those of a twin.
func (t twins) settle(drained metav1.Condition, backend *gimbalv1.DiscoveryBackend) metav1.Condition {
	if drained.Status != metav1.ConditionTrue {
		return drained
	}
	if through := receiving(t.proven); len(through) > 0 {
		return status.Condition(backend, gimbalv1.ConditionDrained, metav1.ConditionFalse, gimbalv1.ReasonSameCluster,
			"the cluster gets no requests by the routes of this backend, but "+lead("DiscoveryBackend", titlesOf(through))+
				" to the same cluster and may get requests: put all of them into maintenance")
	}
	message := drained.Message
	if kept := keeping(t.proven); len(kept) > 0 {
		message += "; the cluster still serves routes without another one by " + names(titlesOf(kept))
	}
	if open := receiving(t.possible); len(open) > 0 {
		message += "; it is unknown whether they lead to the same cluster: " + names(titlesOf(open))
	}
	return status.Condition(backend, gimbalv1.ConditionDrained, drained.Status, drained.Reason, message)
}

// titlesOf returns the names of backends as kubectl does.
func titlesOf(backends []*gimbalv1.DiscoveryBackend) (all []string) {
	for _, b := range backends {
		all = append(all, b.Namespace+"/"+b.Name)
	}
	return all
}

// lead is the subject and the verb of a sentence about objects of a kind, some of many.
func lead(kind string, titles []string) string {
	if len(titles) == 1 {
		return kind + " " + titles[0] + " leads"
	}
	return kind + "s " + names(titles) + " lead"
}
