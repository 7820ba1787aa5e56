// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"fmt"
	"slices"
	"strings"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// usable says whether something may be deleted by a name: many clusters share the default, and the empty one is none.
func usable(name string) bool {
	return strings.TrimSpace(name) != "" && name != kubernikusv1.SharedCloudProviderName
}

// Conflicts are the other Klusters that could have made in the same project what one Kluster made.
type Conflicts struct {
	// rivals have a name in common with the Kluster.
	rivals []rival
	// tags say of which other Klusters volumes are that carry them.
	tags []rival
}

// rival is another Kluster.
type rival struct {
	// kluster is its namespace and name, project the id of its project, "" for one that may be the same.
	kluster, project string
	// text is the field that is equal, or its tag.
	text string
}

// ConflictsOf looks for conflicts among all Klusters. One that is being deleted counts until it is released. Names by
// which nothing is deleted make none. Which of the conflicts are in the project is found out in the look.
func ConflictsOf(k *kubernikusv1.Kluster, all []kubernikusv1.Kluster) Conflicts {
	var c Conflicts
	for i := range all {
		other := &all[i]
		released := !other.DeletionTimestamp.IsZero() && !other.HasDeorbiter()
		if other.UID == k.UID || released || other.Spec.NoCloud {
			continue
		}
		found := rival{kluster: other.Namespace + "/" + other.Name}
		if other.Status.Openstack != nil {
			found.project = other.Status.Openstack.ProjectID
		}
		if found.project == "" && other.Namespace != k.Namespace {
			continue
		}
		if other.ClusterName() == k.ClusterName() && usable(k.ClusterName()) {
			found.text = "clusterName"
			c.rivals = append(c.rivals, found)
		}
		switch tag := other.CSIClusterID(); {
		case !usable(tag):
		case tag == k.CSIClusterID():
			found.text = "csiClusterID"
			c.rivals = append(c.rivals, found)
		default:
			found.text = tag
			c.tags = append(c.tags, found)
		}
	}
	byName := func(a, b rival) int { return strings.Compare(a.kluster, b.kluster) }
	slices.SortStableFunc(c.rivals, byName)
	slices.SortStableFunc(c.tags, byName)
	return c
}

// Why says why nothing may be deleted in a project, beginning with the reason IdentityConflict; "" when it may.
func (c Conflicts) Why(projectID string) string {
	for _, r := range c.rivals {
		if r.project == "" || r.project == projectID {
			return fmt.Sprintf("%s: Kluster %s has the same %s", kubernikusv1.ReasonIdentityConflict, r.kluster, r.text)
		}
	}
	return ""
}

// ownerOf is the other Kluster in a project whose tag a volume carries, "" when there is none.
func (c Conflicts) ownerOf(tag, projectID string) string {
	for _, r := range c.tags {
		if r.text == tag && (r.project == "" || r.project == projectID) {
			return r.kluster
		}
	}
	return ""
}
