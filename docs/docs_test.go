// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"strings"
	"testing"
)

func TestDeorbitRemedy(t *testing.T) {
	for reason, want := range map[string]string{
		"SameCluster": "another object leads to the same cluster, which is still used: detach the Kluster with kubectl groundskeeper deorbit NAME --thaw",
		"HostUnknown": "the Secret has no credentials", "Claims": "", "": "", "reason": "",
	} {
		if got := DeorbitRemedy(reason); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("remedy of %q = %q, want %q", reason, got, want)
		}
	}
}

func TestLeftoverRemedy(t *testing.T) {
	for reason, want := range map[string]string{
		"attached to server 4": "attached to server …",
		"attached to server 4, which Nova does not have: delete the attachment":                 "attached to server …, which Nova does not have",
		"the claim of its PersistentVolume pv-1 still exists in the cluster and is not deleted": "still exists in the cluster and is not deleted",
		"CSI driver x provides it: not checked":                                                 "CSI driver … provides it: not checked",
		"ClusterRefused: 401":                                                                   "ClusterRefused",
		"ClusterRefused: Deorbit ended before what exists in the cluster was read":              "Deorbit ended before what exists in the cluster was read",
		"it is being deleted since 2026-11-28T12:00:00Z":                                        "it is being deleted since …",
		"being deleted":                             "being deleted",
		"status error_deleting":                     "status …",
		"waits for snapshot 5":                      "waits for …",
		"load balancer 5 has status PENDING_UPDATE": "load balancer … has status …",
		"used by port 7, and its Service was never seen in the cluster":                    "used by port …, and its Service was never seen in the cluster",
		"used by port 7, and its Service was never seen: the cluster could not be checked": "used by port …, and its Service was never seen",
		"Service a/b names it in its annotation, but its status has no IP":                 "names it in its annotation, but its status has no IP",
		"an unknown reason": "",
	} {
		pattern, remedy := LeftoverRemedy(reason)
		if pattern != want || (remedy == "") != (want == "") {
			t.Errorf("%q is of row %q (%s), want %q", reason, pattern, remedy, want)
		}
		if strings.Contains(remedy, "as above") || strings.Contains(remedy, "](") {
			t.Errorf("remedy of %q = %q, which refers to another row", reason, remedy)
		}
	}
}
