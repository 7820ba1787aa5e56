// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// identity are the names by which things of a cluster are found. An empty one finds nothing.
type identity struct {
	cluster, tag string
	// contradiction is what is wrong when a name of the spec is not the one that was seen in the cluster.
	contradiction string
}

// identityOf returns the names that a client set or that were seen in the cluster. Names are never derived: one that follows
// from the name of the Kluster may be that of a living cluster.
func identityOf(w stage.Work) identity {
	var i identity
	name := func(field, flag, set, seen string) string {
		if set != "" && seen != "" && set != seen {
			i.contradiction = fmt.Sprintf("spec.cloudProvider.%s is %s, but the cluster runs with %s=%s: correct it", field, set, flag, seen)
			return ""
		}
		return cmp.Or(set, seen)
	}
	i.cluster = name("clusterName", "--cluster-name", w.Kluster.ClusterName(), w.Recorded.ClusterName)
	i.tag = name("csiClusterID", "--cluster", w.Kluster.CSIClusterID(), w.Recorded.CSIClusterID)
	return i
}

// NamesOf returns the names by which things of the cluster of a check are found; "" finds nothing.
func NamesOf(w stage.Work) (clusterName, csiClusterID string) {
	own := identityOf(w)
	return own.cluster, own.tag
}

// Conflicts are the other Klusters that could have made in the same project what one Kluster made.
type Conflicts struct {
	// rivals have a name in common with the Kluster.
	rivals []rival
	// clusters are the names of the clusters of other Klusters, and tags report about which of them volumes are that carry them.
	clusters, tags []rival
}

// rival is another Kluster.
type rival struct {
	// kluster is its namespace and name, project the id of its project, "" for one that may be the same.
	kluster, project string
	// text is the field that is equal, or its tag, and accepting the value of the annotation that accepts the Kluster.
	text, accepting string
}

// ConflictsOf returns the conflicts with all other Klusters. A Kluster that is being deleted counts until its finalizer is removed.
// Names by which nothing is deleted cause no conflicts. The check selects the conflicts within its project.
func ConflictsOf(w stage.Work, all []kubernikusv1.Kluster) Conflicts {
	var c Conflicts
	k, own := w.Kluster, identityOf(w)
	for i := range all {
		other := &all[i]
		if other.UID == k.UID || clusterid.IsReleased(other) || other.Spec.NoCloud || clusterid.AreDeletedTogether(k, other) {
			continue
		}
		found := rival{kluster: other.Namespace + "/" + other.Name}
		found.accepting = k.AcceptingIdentities(kubernikusv1.IdentityReference("Kluster", found.kluster))
		if other.Status.Openstack != nil {
			found.project = other.Status.Openstack.ProjectID
		}
		// In an unknown project it counts, in whatever namespace: its credentials may not work yet.
		if found.project == "" && (!clusterid.MayShareProject(k, other) || k.AcceptsUnknownIdentity("Kluster", found.kluster)) {
			continue
		}
		if common := clusterid.CommonName(own.cluster, own.tag, other); common != "" {
			found.text = common
			c.rivals = append(c.rivals, found)
		}
		clusters, tags := clusterid.PossibleNames(other)
		c.clusters = append(c.clusters, byNames(found, clusters, own.cluster)...)
		c.tags = append(c.tags, byNames(found, tags, own.tag)...)
	}
	for _, rivals := range [][]rival{c.rivals, c.clusters, c.tags} {
		slices.SortStableFunc(rivals, func(a, b rival) int { return strings.Compare(a.kluster, b.kluster) })
	}
	return c
}

// byNames returns a rival under each of its names, without those by which nothing is deleted, and the one that the Kluster has.
func byNames(other rival, names []string, own string) (found []rival) {
	for _, name := range names {
		if clusterid.Usable(name) && name != own {
			other.text = name
			found = append(found, other)
		}
	}
	return found
}

// Why reports why nothing may be deleted in a project, beginning with the reason IdentityConflict; "" when it may.
func (c Conflicts) Why(projectID string) string {
	for _, r := range c.rivals {
		if r.project == "" || r.project == projectID {
			why := fmt.Sprintf("%s: Kluster %s has the same %s", kubernikusv1.ReasonIdentityConflict, r.kluster, r.text)
			if r.project == "" {
				why += fmt.Sprintf(", and its OpenStack project is unknown: correct its credentials; or, if it is in another project, "+
					"set the annotation %s=%s", kubernikusv1.AcceptUnknownIdentityAnnotation, r.accepting)
			}
			return why
		}
	}
	return ""
}

// ownerOf returns the other Kluster in a project whose tag a volume carries, "" when there is none.
func (c Conflicts) ownerOf(tag, projectID string) string {
	return holderIn(c.tags, tag, projectID)
}

// clusterOf returns the other Kluster in a project whose cluster may have a name, "" when there is none.
func (c Conflicts) clusterOf(name, projectID string) string {
	return holderIn(c.clusters, name, projectID)
}

func holderIn(rivals []rival, text, projectID string) string {
	for _, r := range rivals {
		if r.text == text && (r.project == "" || r.project == projectID) {
			return r.kluster
		}
	}
	return ""
}
