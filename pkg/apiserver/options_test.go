// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"testing"

	"k8s.io/apiserver/pkg/features"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
)

// A third of the memory of objects depends on it.
func TestNoSnapshotsOfTheCache(t *testing.T) {
	if err := NewOptions().ServerRun.ComponentGlobalsRegistry.Set(); err != nil {
		t.Fatal(err)
	}
	if utilfeature.DefaultFeatureGate.Enabled(features.ListFromCacheSnapshot) {
		t.Error("the watch cache keeps older states of its tree")
	}
}
