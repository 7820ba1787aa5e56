// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestRead checks that a load balancer that was created after a listing is found by one that is requested to be newer, so that the copy
// that another discoverer made of it meanwhile is not deleted, and that a listing that is new enough is not repeated.
func TestRead(t *testing.T) {
	s := newSky("1 shop")
	inWorld(t, s, nil, nil, func(w *world) {
		listed := time.Now().Add(-time.Second)
		s.add("1", "a", "10.0.0.1:8080")
		key := types.NamespacedName{Namespace: "shop", Name: "a"}
		if source, _, err := w.upstream.Read(t.Context(), key, listed.Add(-time.Second)); source != nil || err != nil {
			t.Errorf("listed before: %v, %v", source, err)
		}
		if source, _, err := w.upstream.Read(t.Context(), key, time.Now()); source == nil || err != nil {
			t.Errorf("at present: %v, %v", source, err)
		}
		if got := s.octavias["1"].requests["loadbalancers"]; got != 2 {
			t.Errorf("listed %d times", got)
		}
	})
}
