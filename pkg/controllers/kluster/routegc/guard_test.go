// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package routegc

import (
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// The last check before a removal is by the place of the registration as the API server has it now: what was read of a router
// elsewhere removes nothing.
func TestFinalCheckOfThePlace(t *testing.T) {
	home := kubernikusv1.OpenstackStatus{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}
	for name, c := range map[string]struct {
		at    kluster.Place
		fails bool
	}{
		"the same":        {kluster.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "garden"}, false},
		"another region":  {kluster.Place{AuthHost: "keystone.example", Region: "r2", ProjectID: "garden"}, true},
		"another project": {kluster.Place{AuthHost: "keystone.example", Region: "r1", ProjectID: "other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			k := klustertest.Kluster("k", routed, func(k *kubernikusv1.Kluster) { k.Status.Openstack = &home })
			store := klustertest.NewStore(t, k)
			target := planFor(k, []kubernikusv1.Kluster{*k}, defaults().RouteGC).target
			last := finalCheck{live: store, config: defaults().RouteGC, fence: func() error { return nil }, object: client.ObjectKeyFromObject(k), uid: k.UID, target: target, at: c.at}
			if err := last.check(t.Context()); (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), kubernikusv1.AcceptCloudAnnotation) {
				t.Errorf("got %v, want a failure: %t", err, c.fails)
			}
		})
	}
}
