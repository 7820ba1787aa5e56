// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"testing"
)

// TestListenerRules checks that a listener with L7 policies is recognized as Octavia writes it.
func TestListenerRules(t *testing.T) {
	for policies, want := range map[string]bool{`[]`: false, `null`: false, `[{"id":"1"}]`: true} {
		wire := listener{}
		if err := json.Unmarshal([]byte(`{"id":"l","provisioning_status":"ACTIVE","l7policies":`+policies+`}`), &wire); err != nil {
			t.Fatal(err)
		}
		if got, err := wire.convert(); err != nil || got.HasRules != want {
			t.Errorf("l7policies %s: rules = %t, %v, want %t", policies, got.HasRules, err, want)
		}
	}
}
