// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// The steps that all kinds share are tested in the package registry.
func TestRules(t *testing.T) {
	good := func() *midonetv1.Translation {
		return &midonetv1.Translation{
			ObjectMeta: metav1.ObjectMeta{Name: "pod.4.web-0", Namespace: "default", ResourceVersion: "1"},
			Resources:  []midonetv1.BackendResource{{Kind: "Port", Body: "{}"}},
		}
	}
	prepared := good()
	rules{}.PrepareForCreate(prepared)
	rules{}.PrepareForUpdate(prepared, good())
	if diff := cmp.Diff(good(), prepared); diff != "" {
		t.Errorf("PrepareForCreate and PrepareForUpdate changed the Translation (-want +got):\n%s", diff)
	}
	bad, unreasoned := good(), good()
	bad.Resources[0].Body = "x"
	unreasoned.Status.Conditions = []metav1.Condition{{Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue}}
	for name, tc := range map[string]struct{ accepted, rejected int }{
		"creation":         {len(rules{}.Validate(good())), len(rules{}.Validate(bad))},
		"update":           {len(rules{}.ValidateUpdate(good(), good())), len(rules{}.ValidateUpdate(bad, good()))},
		"update of status": {len(rules{}.ValidateStatusUpdate(good(), good())), len(rules{}.ValidateStatusUpdate(unreasoned, good()))},
	} {
		if tc.accepted != 0 || tc.rejected == 0 {
			t.Errorf("%s: %d errors for a valid Translation, %d for an invalid one, want none and some", name, tc.accepted, tc.rejected)
		}
	}
}
