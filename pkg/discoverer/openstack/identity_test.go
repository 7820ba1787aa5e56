// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// TestAnotherCloud checks that another project or region replaces or deletes no copy, whether it is configured at startup or later.
func TestAnotherCloud(t *testing.T) {
	const former, other = "p/one", "p/two"
	accepted := former
	recognize := func(_ context.Context, observed []gimbalv1.ClusterIdentity) error {
		switch observed[0].ID {
		case accepted:
			return nil
		case "?":
			return new(identity.LocalError)
		}
		return &identity.Rejection{Problem: report.Problem{Type: gimbalv1.ErrorAnotherCluster, Message: "another cloud"}}
	}
	s := newSky("1 shop")
	s.add("1", "b", "10.0.0.9:8080")
	s.identity, s.recognize = other, recognize
	inWorld(t, s, nil, copyOf("shop", "a", "10.0.0.1:8080"), func(w *world) {
		w.after(3 * period)
		w.expect("another one from the start", "shop/us-a 10.0.0.1")
		w.expectProblems("another one from the start", "AnotherCluster: another cloud")
		if _, err := w.upstream.Copies(t.Context()); !errors.As(err, new(*identity.Rejection)) {
			t.Errorf("a second list: error = %v, want a rejection: deletions depend on it", err)
		}
		w.change(func() { s.identity = former })
		w.after(period)
		w.expect("the former one", "shop/us-b 10.0.0.9")
		w.expectProblems("the former one")

		w.remove("1", "b")
		w.add("1", "c", "10.0.0.8:8080")
		w.change(func() { s.identity = other })
		w.after(period)
		w.expect("another one later", "shop/us-b 10.0.0.9")
		w.change(func() { s.identity = "?" }) // the record cannot be read: nothing new is known
		w.after(period)
		w.expect("no record", "shop/us-b 10.0.0.9")
		w.expectProblems("no record", "AnotherCluster: another cloud")

		w.change(func() { s.identity, accepted = other, other })
		w.after(period)
		w.expect("confirmed", "shop/us-c 10.0.0.8")
		w.expectProblems("confirmed")
	})
}
