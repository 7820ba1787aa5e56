// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"net/url"
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

func TestFollowing(t *testing.T) {
	const address = "https://cloud.example:8776/v3/volumes/detail?limit=2"
	for link, want := range map[string]string{
		"https://cloud.example:8776/v3/volumes/detail?limit=2&marker=a": "https://cloud.example:8776/v3/volumes/detail?limit=2&marker=a",
		"http://cloud.example:8776/v3/volumes/detail?marker=a":          "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"http://cloud.example/v3/volumes/detail?marker=a":               "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"https://user:word@cloud.example/v3/volumes/detail?marker=a":    "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"/v3/volumes/detail?marker=a":                                   "https://cloud.example:8776/v3/volumes/detail?marker=a",
		"?marker=a":                                                     "https://cloud.example:8776/v3/volumes/detail?marker=a",
		address:                                                         "",
		"http://cloud.example/v3/volumes/detail?limit=2":                "",
		"https://other.example:8776/v3/volumes/detail?marker=a":         "",
		"https://cloud.example.other.example/v3/volumes/detail?x=1":     "",
		"//other.example/v3/volumes/detail?marker=a":                    "",
		"%": "",
	} {
		if got, err := following(address, link); got != want || (err == nil) != (want != "") || err != nil && !errors.Is(err, errPartial) {
			t.Errorf("%s: got %q, %v, want %q", link, got, err, want)
		}
	}
}

// FuzzFollowing tries to find links that lead a token elsewhere.
func FuzzFollowing(f *testing.F) {
	const address = "https://cloud.example:8776/v3/volumes/detail"
	for _, link := range []string{"?marker=a", "//other.example", "https://cloud.example@other.example/", `https:\\other.example`, "mailto:cloud.example", "https:opaque"} {
		f.Add(link)
	}
	f.Fuzz(func(t *testing.T, link string) {
		next, err := following(address, link)
		if err != nil {
			return
		}
		to, err := url.Parse(next)
		if err != nil || to.Scheme != "https" || to.Host != "cloud.example:8776" {
			t.Errorf("%q leads to %q, %v", link, next, err)
		}
	})
}
