// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
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

// possibleNames returns the names that another Kluster may have, for what must not be taken from it. Unlike identityOf these
// may be derived: more names protect more.
func possibleNames(k *kubernikusv1.Kluster) (clusters, tags []string) {
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

// usable reports whether something may be deleted by a name: many clusters share the default, and the empty one is none.
func usable(name string) bool {
	return strings.TrimSpace(name) != "" && name != kubernikusv1.SharedCloudProviderName
}

// CommonName returns which name another Kluster may have in common with the one of a check: clusterName or csiClusterID; "" for none.
func CommonName(w stage.Work, other *kubernikusv1.Kluster) string {
	own := identityOf(w)
	clusters, tags := possibleNames(other)
	switch {
	case usable(own.cluster) && slices.Contains(clusters, own.cluster):
		return "clusterName"
	case usable(own.tag) && slices.Contains(tags, own.tag):
		return "csiClusterID"
	}
	return ""
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
	// text is the field that is equal, or its tag.
	text string
}

// ConflictsOf returns the conflicts with all other Klusters. A Kluster that is being deleted counts until its finalizer is removed.
// Names by which nothing is deleted cause no conflicts. The check selects the conflicts within its project.
func ConflictsOf(w stage.Work, all []kubernikusv1.Kluster) Conflicts {
	var c Conflicts
	k, own := w.Kluster, identityOf(w)
	for i := range all {
		other := &all[i]
		released := !other.DeletionTimestamp.IsZero() && !other.HasDeorbiter()
		if other.UID == k.UID || released || other.Spec.NoCloud || kluster.AreDeletedTogether(k, other) {
			continue
		}
		found := rival{kluster: other.Namespace + "/" + other.Name}
		if other.Status.Openstack != nil {
			found.project = other.Status.Openstack.ProjectID
		}
		// In an unknown project it counts, in whatever namespace: its credentials may not work yet.
		if found.project == "" && (!kluster.MayShareProject(k, other) || k.AcceptsUnknownIdentity(found.kluster)) {
			continue
		}
		clusters, tags := possibleNames(other)
		if usable(own.cluster) && slices.Contains(clusters, own.cluster) {
			found.text = "clusterName"
			c.rivals = append(c.rivals, found)
		}
		for _, name := range clusters {
			if usable(name) && name != own.cluster {
				found.text = name
				c.clusters = append(c.clusters, found)
			}
		}
		for _, tag := range tags {
			switch {
			case !usable(tag):
			case tag == own.tag:
				found.text = "csiClusterID"
				c.rivals = append(c.rivals, found)
			default:
				found.text = tag
				c.tags = append(c.tags, found)
			}
		}
	}
	for _, rivals := range [][]rival{c.rivals, c.clusters, c.tags} {
		slices.SortStableFunc(rivals, func(a, b rival) int { return strings.Compare(a.kluster, b.kluster) })
	}
	return c
}

// Why reports why nothing may be deleted in a project, beginning with the reason IdentityConflict; "" when it may.
func (c Conflicts) Why(projectID string) string {
	for _, r := range c.rivals {
		if r.project == "" || r.project == projectID {
			why := fmt.Sprintf("%s: Kluster %s has the same %s", kubernikusv1.ReasonIdentityConflict, r.kluster, r.text)
			if r.project == "" {
				why += fmt.Sprintf(", and its OpenStack project is unknown: correct its credentials; or, if it is in another project, "+
					"set the annotation %s=%s", kubernikusv1.AcceptUnknownIdentityAnnotation, r.kluster)
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
