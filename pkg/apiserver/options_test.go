// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"strings"
	"testing"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
)

// A third of the memory of objects depends on the first one, a tenth of what a change of one costs on the other.
func TestFeaturesThatAreOff(t *testing.T) {
	if err := NewOptions().ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		t.Fatal(err)
	}
	for _, feature := range []featuregate.Feature{features.ListFromCacheSnapshot, features.WatchListCompression} {
		if utilfeature.DefaultFeatureGate.Enabled(feature) {
			t.Errorf("%s is on", feature)
		}
	}
}

func TestValidateDiscoveryDeletionConfirmation(t *testing.T) {
	for value, valid := range map[string]bool{"AdminNamespaces": true, "All": true, "None": true, "": false, "all": false} {
		o := NewOptions()
		o.DiscoveryDeletionConfirmation = value
		err := o.Validate()
		if got := err == nil || !strings.Contains(err.Error(), "--discovery-deletion-confirmation"); got != valid {
			t.Errorf("%q: valid = %t, want %t: %v", value, got, valid, err)
		}
	}
}
