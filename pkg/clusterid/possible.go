// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// What is not proven may be the same: here is decided what makes that possible. Credentials that do not work are no reason: one broken
// Kluster would hold all deletions. The questions differ in what a wrong answer destroys. InCommon protects a whole cluster, so that
// everything counts by which a stage could find its objects. MayShareRouter protects routes, which are found by their range: a name is
// only a hint that the project is the same, so that a derived one does not count. The OpenStack stages delete by name in one project:
// there each Kluster counts that MayShareProject, by each of its PossibleNames.

// Known is what is known of the cluster of a Kluster; "" is unknown.
type Known struct {
	// ID is the uid of its namespace kube-system, and Server the address of its API server.
	ID, Server string
	// ClusterName and CSIClusterID are the names by which things of it are found in OpenStack.
	ClusterName, CSIClusterID string
}

// KnownOf returns what registration knows of a Kluster, and the names that a client set.
func KnownOf(k *kubernikusv1.Kluster) Known {
	found := ptr.Deref(k.Status.Identity, kubernikusv1.KlusterIdentity{})
	return Known{ID: found.ClusterID, Server: found.Server, ClusterName: k.ClusterName(), CSIClusterID: k.CSIClusterID()}
}

// InCommon returns what another Kluster has in common with one, if both may lead to one cluster when the identity of either is unknown; ""
// for nothing.
func InCommon(k, other *kubernikusv1.Kluster, known Known) string {
	found := ptr.Deref(other.Status.Identity, kubernikusv1.KlusterIdentity{Reason: ReasonPending})
	shared := func(name string) bool { return slices.Contains(other.SecretNames(), name) }
	switch common := CommonName(known.ClusterName, known.CSIClusterID, other); {
	case other.Namespace == k.Namespace && slices.ContainsFunc(k.SecretNames(), shared):
		return "uses the same Secret"
	case known.Server != "" && found.Server == known.Server:
		return "has the same API server"
	case found.ClusterID == "" && found.Reason == ReasonPending:
		return "has not been checked yet" // it may have the same API server, and no names yet
	case common != "" && !k.NeverCameUp(): // one that never ran is no other's, and names count in Verify
		return "has the same " + common
	case known.ID == "" || found.ClusterID != "":
		return "" // without an identity only names lead to objects
	case found.Connection == "", k.Spec.NoCloud, other.Spec.NoCloud:
		return "" // it leads to no cluster, or has nothing in the cloud
	case k.RouterID() != "" && k.RouterID() == other.RouterID():
		return "has the same router"
	case SharesProject(k, other):
		return "has the same OpenStack project"
	}
	return ""
}

// inCommonWith returns what a DiscoveryBackend has in common with a Kluster, if both may lead to one cluster when the identity of either is
// unknown; "" for nothing. servers are those of HoldersOf.
func inCommonWith(b *gimbalv1.DiscoveryBackend, k *kubernikusv1.Kluster, known Known, servers map[types.UID]string) string {
	switch server, leads := servers[b.UID]; {
	case b.Cluster.Type != gimbalv1.BackendKubernetes:
		return ""
	case b.Namespace == k.Namespace && slices.Contains(k.SecretNames(), b.Cluster.SecretName()):
		return "uses the same Secret"
	case !leads, known.Server == "":
		return ""
	case server == known.Server:
		return "has the same API server"
	case server == "":
		return "has a kubeconfig that cannot be read"
	}
	return ""
}

// MayShareRouter reports whether another Kluster, whose router is unknown, may have its routes on the router of one: it is in the same
// project; or its project is unknown, too, and the namespace or the name of the cluster is the same.
func MayShareRouter(k, other *kubernikusv1.Kluster) bool {
	if other.RouterID() != "" || !other.UsesRouter() || IsReleased(other) || k.AcceptsUnknownIdentity("Kluster", other.Namespace+"/"+other.Name) {
		return false
	}
	name := ptr.Deref(k.Spec.CloudProvider.ClusterName, "")
	namesake := Usable(name) && name == ptr.Deref(other.Spec.CloudProvider.ClusterName, "")
	return SharesProject(k, other) || MayShareProject(k, other) && (other.Namespace == k.Namespace || namesake)
}

// Usable reports whether something may be deleted by a name: many clusters share the default, and the empty one is none.
func Usable(name string) bool {
	return strings.TrimSpace(name) != "" && name != kubernikusv1.SharedCloudProviderName
}

// PossibleNames returns the names that another Kluster may have, for what must not be taken from it. Unlike those by which something is
// deleted, these may be derived: more names protect more.
func PossibleNames(k *kubernikusv1.Kluster) (clusters, tags []string) {
	or := func(set *string, derived, seen string) []string {
		names := []string{ptr.Deref(set, derived)}
		if seen != "" {
			names = append(names, seen)
		}
		return names
	}
	seen := ptr.Deref(k.Status.Deorbit, kubernikusv1.DeorbitStatus{})
	set := k.Spec.CloudProvider
	return or(set.ClusterName, k.Spec.Name, seen.ClusterName), or(set.CSIClusterID, k.Name, seen.CSIClusterID)
}

// CommonName returns which of the names of a cluster another Kluster may have: clusterName or csiClusterID; "" for none.
func CommonName(clusterName, csiClusterID string, other *kubernikusv1.Kluster) string {
	clusters, tags := PossibleNames(other)
	switch {
	case Usable(clusterName) && slices.Contains(clusters, clusterName):
		return "clusterName"
	case Usable(csiClusterID) && slices.Contains(tags, csiClusterID):
		return "csiClusterID"
	}
	return ""
}

// Place is where an OpenStack project is. Empty fields are not known.
type Place struct{ AuthHost, Region, ProjectID string }

// PlaceOf returns where a Kluster was at registration.
func PlaceOf(k *kubernikusv1.Kluster) Place {
	found := k.Status.Openstack
	if found == nil {
		return Place{}
	}
	return Place{AuthHost: found.AuthHost, Region: found.Region, ProjectID: found.ProjectID}
}

// String returns the value of the annotation that accepts the place.
func (p Place) String() string { return strings.Join([]string{p.AuthHost, p.Region, p.ProjectID}, "/") }

// Differs reports whether two places are not the same one, by what is known of both.
func (p Place) Differs(other Place) bool {
	differs := func(a, b string) bool { return a != "" && b != "" && a != b }
	return differs(p.AuthHost, other.AuthHost) || differs(p.Region, other.Region) || differs(p.ProjectID, other.ProjectID)
}

// SharesProject reports whether two Klusters are known to be in one OpenStack project.
func SharesProject(a, b *kubernikusv1.Kluster) bool {
	return PlaceOf(a).ProjectID != "" && PlaceOf(b).ProjectID != "" && !PlaceOf(a).Differs(PlaceOf(b))
}

// MayShareProject reports whether two Klusters may be in one OpenStack project, though that of one of them is unknown, as before its
// credentials worked for the first time.
func MayShareProject(a, b *kubernikusv1.Kluster) bool {
	return (PlaceOf(a).ProjectID == "" || PlaceOf(b).ProjectID == "") && !PlaceOf(a).Differs(PlaceOf(b))
}
