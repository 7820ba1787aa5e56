// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/policyparams"
)

func TestPrintPolicies(t *testing.T) {
	for name, tc := range map[string]struct {
		problems []policyparams.Problem
		want     []string
	}{
		"none": {},
		"one": {
			[]policyparams.Problem{{Policy: "ValidatingAdmissionPolicy limits", Reason: "groundskeeper-apiserver is not allowed to list configmaps"}},
			[]string{"Policies", "1 needs attention", "! ValidatingAdmissionPolicy limits", "is not allowed to list configmaps"},
		},
	} {
		var out bytes.Buffer
		c := &command{out: &terminal{Writer: &out}}
		r := &report.Report{}
		addPolicies(r, tc.problems)
		c.printReport(r)
		for _, part := range tc.want {
			if !strings.Contains(out.String(), part) {
				t.Errorf("%s: printed %q, want %q in it", name, out.String(), part)
			}
		}
		if len(tc.want) == 0 && out.Len() > 0 {
			t.Errorf("%s: printed %q, want nothing", name, out.String())
		}
	}
}
