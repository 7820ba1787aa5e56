// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// TestSoakBesideAnotherWriter removes orphans while another client adds and removes routes on the same router all the time. That
// one checks the response of each of its writes whether all its other routes are as it left them.
func TestSoakBesideAnotherWriter(t *testing.T) {
	needTestbed(t)
	type removal func(openstack.Network, context.Context, string, []openstack.Route) error
	for name, remove := range map[string]removal{"atomic": openstack.Network.RemoveRoutes, "by revision": openstack.Network.RemoveRoutesByRevision} {
		t.Run(name, func(t *testing.T) {
			k := newKluster(t)
			client, own := k.client(options()), realUser(t, "demo")
			other := &writer{api: k.api, router: k.router, there: map[string]bool{}}
			stop, ended := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(ended)
				other.write(stop)
			}()
			conflicts := 0
			for round := range rounds(t) {
				orphan := openstack.Route{Destination: fmt.Sprintf("100.100.%d.0/24", round%250), NextHop: "10.0.0.6"}
				own.must(http.MethodPut, "network/v2.0/routers/"+k.router+"/add_extraroutes", hops(orphan.Destination+" "+orphan.NextHop))
				err := remove(client.Network(), context.Background(), k.router, []openstack.Route{orphan})
				for ; openstack.ReasonOf(err) == openstack.ReasonConflict && conflicts < rounds(t); conflicts++ {
					// The next reconciliation would try again.
					err = remove(client.Network(), context.Background(), k.router, []openstack.Route{orphan})
				}
				if err != nil {
					t.Errorf("round %d: %v", round, err)
					break
				}
			}
			close(stop)
			<-ended
			k.wantRoutes(other.routes()...)
			t.Logf("%d rounds beside %d writes of another client; %d calls gave up and were made again", rounds(t), other.writes, conflicts)
		})
	}
}

// writer is another client who adds and removes routes, one at a time.
type writer struct {
	*api
	router string
	there  map[string]bool
	writes int
}

// routes returns those that it left on the router.
func (w *writer) routes() []string { return slices.Sorted(maps.Keys(w.there)) }

// write continues until it is instructed to stop, or until a route is not unchanged.
func (w *writer) write(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		text := fmt.Sprintf("192.168.%d.0/24 10.0.0.77", rand.IntN(8))
		action := "add_extraroutes"
		if w.there[text] {
			action = "remove_extraroutes"
		}
		got := w.call(http.MethodPut, "network/v2.0/routers/"+w.router+"/"+action, hops(text))
		if got.status == http.StatusConflict || got.status == http.StatusPreconditionFailed {
			continue // Neutron could not serialise it with a write by Groundskeeper
		}
		if got.status != http.StatusOK {
			w.t.Errorf("another client: %s %s: %d %s", action, text, got.status, got.text)
			return
		}
		if w.writes++; w.there[text] {
			delete(w.there, text)
		} else {
			w.there[text] = true
		}
		foreign := slices.DeleteFunc(routesOf(got.body["router"]), func(r string) bool { return strings.HasPrefix(r, "100.100.") })
		if !slices.Equal(foreign, w.routes()) {
			w.t.Errorf("another client left %q and finds %q", w.routes(), foreign)
			return
		}
	}
}
