// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// The library's steps around these rules are tested with those of all kinds.
func TestRules(t *testing.T) {
	good := func() *gimbalv1.DiscoveryBackend {
		b := backend("us-east")
		b.ResourceVersion = "1"
		b.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "us-east"}
		gimbalv1.Normalize(b)
		return b
	}
	prepared := good()
	rules{}.PrepareForCreate(prepared)
	rules{}.PrepareForUpdate(prepared, backend("us-east"))
	if diff := cmp.Diff(good(), prepared); diff != "" {
		t.Errorf("the server decides something of a backend (-want +got):\n%s", diff)
	}
	long := good()
	long.Name = "a-name-of-more-than-forty-characters-is-too-long"
	moved := good()
	moved.Cluster.Type = gimbalv1.BackendOpenStack
	unreasoned := good()
	unreasoned.Status.Conditions = []metav1.Condition{{Type: gimbalv1.ConditionDrained, Status: metav1.ConditionTrue}}
	for name, tc := range map[string]struct{ accepted, rejection int }{
		"creation":         {len(rules{}.Validate(good())), len(rules{}.Validate(long))},
		"update":           {len(rules{}.ValidateUpdate(good(), good())), len(rules{}.ValidateUpdate(moved, good()))},
		"update of status": {len(rules{}.ValidateStatusUpdate(good(), good())), len(rules{}.ValidateStatusUpdate(unreasoned, good()))},
	} {
		if tc.accepted != 0 || tc.rejection == 0 {
			t.Errorf("%s: %d mistakes in a good backend, %d in a bad one", name, tc.accepted, tc.rejection)
		}
	}
}
