// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"regexp"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// phaseOf sums up a Kluster. Responded is true when its API server responded just now, with the version it runs; expected is true
// when the Secret has a way into the workload cluster. A cluster that was reached once keeps its phase while it does not respond:
// the condition APIServerReachable reports that.
func phaseOf(k *kubernikusv1.Kluster, responded, expected bool, version string) kubernikusv1.KlusterPhase {
	switch {
	case !k.DeletionTimestamp.IsZero():
		return kubernikusv1.KlusterTerminating
	case responded && differs(k.Spec.Version, version):
		return kubernikusv1.KlusterUpgrading
	case responded:
		return kubernikusv1.KlusterRunning
	case k.Status.Phase == kubernikusv1.KlusterRunning, k.Status.Phase == kubernikusv1.KlusterUpgrading:
		return k.Status.Phase
	case expected:
		return kubernikusv1.KlusterCreating
	default:
		return kubernikusv1.KlusterPending
	}
}

// releaseNumber is the part of a version that the builds of all vendors have in common.
var releaseNumber = regexp.MustCompile(`^v?([0-9]+\.[0-9]+\.[0-9]+)`)

// differs reports whether a cluster runs another version than the wanted one. What cannot be read is no difference.
func differs(wanted, runs string) bool {
	a, b := releaseNumber.FindStringSubmatch(wanted), releaseNumber.FindStringSubmatch(runs)
	return a != nil && b != nil && a[1] != b[1]
}

// Fields of the status that Kubernikus, or the builder of the cluster, may write instead of Groundskeeper.
const (
	fieldPhase            = "f:phase"
	fieldAPIServerVersion = "f:apiserverVersion"
)

// writtenByOthers reports whether another client wrote a field of the status, which is then theirs: Groundskeeper does not fight.
// The managed fields show it.
func writtenByOthers(k *kubernikusv1.Kluster, field string) bool {
	for _, entry := range k.ManagedFields {
		if entry.Manager == fieldOwner || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Status map[string]json.RawMessage `json:"f:status"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields.Status[field] != nil {
			return true
		}
	}
	return false
}
