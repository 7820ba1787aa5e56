// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"slices"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestInventory(t *testing.T) {
	s := newFake(t, fake.Options{})
	s.AddUser("neighbour", secretWord, "other")
	first, second := s.AddNetwork(subnetCIDR), s.AddNetwork("10.1.0.0/24")
	own := s.AddRouter("garden", first)
	s.AddRouter("other", second)
	n := connected(t, s).Network()
	if ids, err := n.RouterIDs(context.Background()); err != nil || !slices.Equal(ids, []string{own}) {
		t.Errorf("routers: %v, %v", ids, err)
	}
	if ids, err := n.NetworkIDs(context.Background()); err != nil || !slices.Equal(ids, []string{first}) {
		t.Errorf("networks: %v, %v", ids, err)
	}
	if ids, err := n.SubnetIDs(context.Background(), first); err != nil || len(ids) != 1 {
		t.Errorf("subnets: %v, %v", ids, err)
	}
	for _, r := range s.Requests() {
		if slices.Contains([]string{"/network/v2.0/routers", "/network/v2.0/networks"}, r.Path) && r.Query != "project_id=garden" {
			t.Errorf("an administrator would see all projects: %s?%s", r.Path, r.Query)
		}
	}
	s.Inject(fake.Fault{Path: "/network/v2.0/routers", Status: 500})
	if ids, err := n.RouterIDs(context.Background()); ReasonOf(err) != ReasonUnreachable || ids != nil {
		t.Errorf("a failure is an empty list: %v, %v", ids, err)
	}
}
