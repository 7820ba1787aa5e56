// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// setUp makes a router with routes.
func setUp(t *testing.T, o fake.Options, routes ...fake.Route) (*fake.Server, *Client, string) {
	t.Helper()
	s := newFake(t, o)
	id := s.AddRouter("garden", s.AddNetwork(subnetCIDR))
	s.SetRoutes(id, routes...)
	return s, connected(t, s), id
}

func TestRemoveRoutes(t *testing.T) {
	a, b, c := fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.6"}, fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.7"}
	for name, o := range map[string]fake.Options{"atomic": {}, "by revision": {NoAtomicRoutes: true}} {
		t.Run(name, func(t *testing.T) {
			s, client, id := setUp(t, o, a, b, c)
			remove := func(routes ...fake.Route) error {
				var doomed []Route
				for _, r := range routes {
					doomed = append(doomed, Route(r))
				}
				return client.Network().RemoveRoutes(context.Background(), id, doomed)
			}
			if err := remove(b, fake.Route{Destination: c.Destination, NextHop: "10.0.0.8"}); err != nil || !slices.Equal(s.Routes(id), []fake.Route{a, c}) {
				t.Errorf("%v, left %v", err, s.Routes(id))
			}
			if err := remove(b); err != nil {
				t.Errorf("again: %v", err)
			}
			s.Requests()
			if err := remove(); err != nil || len(s.Requests()) != 0 {
				t.Errorf("nothing to remove: %v", err)
			}
			if err := remove(a, c); err != nil || len(s.Routes(id)) != 0 {
				t.Errorf("%v, left %v", err, s.Routes(id))
			}
			if n := count(s.Requests(), http.MethodGet, "/network/v2.0/extensions"); n != 0 {
				t.Errorf("queried the extensions %d times more", n)
			}
		})
	}
}

func TestRemoveRoutesNeverBlindly(t *testing.T) {
	a, b := fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "100.100.2.0/24", NextHop: "10.0.0.6"}
	t.Run("another client is faster", func(t *testing.T) {
		s, client, id := setUp(t, fake.Options{NoAtomicRoutes: true}, a, b)
		path := "/network/v2.0/routers/" + id
		s.Inject(fake.Fault{Method: http.MethodPut, Path: path, Status: http.StatusPreconditionFailed, Times: 2})
		if err := client.Network().RemoveRoutes(context.Background(), id, []Route{Route(a)}); err != nil || !slices.Equal(s.Routes(id), []fake.Route{b}) {
			t.Errorf("%v, left %v", err, s.Routes(id))
		}
		if n := count(s.Requests(), http.MethodGet, path); n != 3 {
			t.Errorf("read the router %d times", n)
		}
	})
	t.Run("a user changes it in that moment", func(t *testing.T) {
		s, client, id := setUp(t, fake.Options{NoAtomicRoutes: true}, a, b)
		foreign := fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.7"}
		path := "/network/v2.0/routers/" + id
		s.Inject(fake.Fault{Method: http.MethodPut, Path: path, Times: 1, Do: func() { s.SetRoutes(id, a, foreign) }})
		if err := client.Network().RemoveRoutes(context.Background(), id, []Route{Route(a)}); err != nil || !slices.Equal(s.Routes(id), []fake.Route{foreign}) {
			t.Errorf("%v, left %v", err, s.Routes(id))
		}
		if n := count(s.Requests(), http.MethodPut, path); n != 2 {
			t.Errorf("wrote the router %d times", n)
		}
	})
	t.Run("another client is always faster", func(t *testing.T) {
		s, client, id := setUp(t, fake.Options{NoAtomicRoutes: true}, a, b)
		s.Inject(fake.Fault{Method: http.MethodPut, Status: http.StatusPreconditionFailed})
		err := client.Network().RemoveRoutes(context.Background(), id, []Route{Route(a)})
		if n := count(s.Requests(), http.MethodPut, "/network/v2.0/routers/"+id); ReasonOf(err) != ReasonConflict || n != removeAttempts {
			t.Errorf("%d attempts: %v", n, err)
		}
	})
	t.Run("no revisions", func(t *testing.T) {
		s, client, id := setUp(t, fake.Options{NoAtomicRoutes: true, NoRevisions: true}, a, b)
		err := client.Network().RemoveRoutes(context.Background(), id, []Route{Route(a)})
		if ReasonOf(err) != ReasonRefused || !strings.Contains(err.Error(), "extraroute-atomic") || len(s.Routes(id)) != 2 {
			t.Errorf("%v, left %v", err, s.Routes(id))
		}
	})
	t.Run("an invalid route of another client", func(t *testing.T) {
		foreign, self := fake.Route{Destination: "192.168.0.0/24", NextHop: "172.16.0.1"}, fake.Route{Destination: "192.168.1.0/24", NextHop: "10.0.0.1"}
		for _, o := range []fake.Options{{}, {NoAtomicRoutes: true}} {
			s, client, id := setUp(t, o, a, b, foreign, self)
			err := client.Network().RemoveRoutes(context.Background(), id, []Route{Route(a)})
			if ReasonOf(err) != ReasonRefused || !strings.Contains(err.Error(), "not connected") || len(s.Routes(id)) != 4 {
				t.Errorf("%v, left %v", err, s.Routes(id))
			}
			router, err := client.Network().Router(context.Background(), id)
			if err != nil {
				t.Fatal(err)
			}
			if invalid, err := client.Network().InvalidRoutes(context.Background(), router); err != nil || !slices.Equal(invalid, []Route{Route(foreign), Route(self)}) {
				t.Errorf("named %v, %v", invalid, err)
			}
		}
	})
}
