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

// Without snapshots in the watch cache, etcd would count all remaining objects for each page of a list. Compression of watches costs
// a tenth of a change.
func TestDefaultFeatures(t *testing.T) {
	if err := NewOptions().ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		t.Fatal(err)
	}
	for feature, want := range map[featuregate.Feature]bool{features.ListFromCacheSnapshot: true, features.WatchListCompression: false} {
		if got := utilfeature.DefaultFeatureGate.Enabled(feature); got != want {
			t.Errorf("%s = %v, want %v", feature, got, want)
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

func TestValidateProjectAuthorization(t *testing.T) {
	if got := NewOptions().ProjectAuthorization; got != "roles" {
		t.Errorf("default = %q, want roles", got)
	}
	for value, valid := range map[string]bool{"roles": true, "membership": true, "": false, "Membership": false} {
		o := NewOptions()
		o.ProjectAuthorization = value
		err := o.Validate()
		if got := err == nil || !strings.Contains(err.Error(), "--project-authorization"); got != valid {
			t.Errorf("%q: valid = %t, want %t: %v", value, got, valid, err)
		}
	}
}
