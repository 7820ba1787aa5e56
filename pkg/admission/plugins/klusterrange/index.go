// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package klusterrange

import (
	"cmp"
	"net/netip"
	"slices"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

type name struct{ namespace, name string }

// place is the pod range of a Kluster on a router. The router is empty if it is unknown, or if the cluster has no routes in OpenStack.
// A Kluster that is being deleted retains its place until its routes are deleted.
type place struct {
	router string
	pods   [2]netip.Prefix
}

func placeOf(k *kubernikusv1.Kluster) place {
	pods := k.PodRanges()
	if k.Spec.NoCloud || k.RouterID() == "" || !pods[0].IsValid() || !k.UsesRouter() {
		return place{}
	}
	return place{k.RouterID(), pods}
}

func (p place) overlaps(other place) bool {
	return p.router != "" && p.router == other.router && kubernikusv1.Overlap(p.pods, other.pods)
}

// entry is a Kluster as the index keeps it.
type entry struct {
	name
	place
}

func entryOf(k *kubernikusv1.Kluster) entry { return entry{name{k.Namespace, k.Name}, placeOf(k)} }

// index knows the places of Klusters. A plugins.Follower fills it, and it is all that is kept of them.
type index struct {
	places  map[name]place
	routers map[string]map[name]bool
}

func newIndex(size int) *index {
	return &index{places: make(map[name]place, size), routers: map[string]map[name]bool{}}
}

// overlapping returns the Klusters that have addresses of a place, in the order of their names.
func (x *index) overlapping(wanted place) []name {
	var found []name
	for other := range x.routers[wanted.router] {
		if x.places[other].overlaps(wanted) {
			found = append(found, other)
		}
	}
	slices.SortFunc(found, func(a, b name) int { return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name)) })
	return found
}

// Put makes this the place of a Kluster. One without a place is not kept.
func (x *index) Put(e entry) {
	x.Remove(e)
	if e.router == "" {
		return
	}
	x.places[e.name] = e.place
	if x.routers[e.router] == nil {
		x.routers[e.router] = map[name]bool{}
	}
	x.routers[e.router][e.name] = true
}

// Remove removes a Kluster from the index, if it is known.
func (x *index) Remove(e entry) {
	router := x.places[e.name].router
	delete(x.places, e.name)
	delete(x.routers[router], e.name)
	if len(x.routers[router]) == 0 {
		delete(x.routers, router)
	}
}
