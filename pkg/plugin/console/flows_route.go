// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"slices"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
)

// FlowRoute is a route.
type FlowRoute struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Alone reports that a rule has no other backend, Lost that saved weights were lost.
	Alone bool       `json:"alone"`
	Lost  bool       `json:"lost"`
	Links []FlowLink `json:"links"`
}

// FlowLink is what a route sends to a Service: now, as users want it, and after the next write.
type FlowLink struct {
	Service string  `json:"service"`
	Backend string  `json:"backend"`
	Now     float64 `json:"now"`
	Wanted  float64 `json:"wanted"`
	Next    float64 `json:"next"`
	// State is "" or one of the states below.
	State string `json:"state,omitempty"`
}

// States of a link, the more important ones first.
const (
	// linkFails: the requests get errors.
	linkFails = "fails"
	// linkMissing: there is no such Service, or it has no such port; linkEmpty: none of its endpoints is ready.
	linkMissing = "missing"
	linkEmpty   = "empty"
	// linkKept: the backend is drained, and the rule keeps it because it has no other one.
	linkKept = "kept"
	// linkAlone: the rule has no other backend.
	linkAlone = "alone"
)

// flowRouteOf adds up the rules of a route, each of which counts the same.
func flowRouteOf(t *maintenance.RouteTraffic) FlowRoute {
	route := FlowRoute{Kind: t.Kind, Namespace: t.Namespace, Name: t.Name}
	links := map[string]*FlowLink{}
	var order []string
	for _, rule := range t.Rules {
		route.Lost = route.Lost || rule.Lost
		for _, p := range rule.Parts {
			service := p.Service.String()
			link := links[service]
			if link == nil {
				link = &FlowLink{Service: service, Backend: p.Backend}
				links[service], order = link, append(order, service)
			}
			share := 1 / float64(len(t.Rules))
			link.Now, link.Wanted, link.Next = link.Now+p.Now*share, link.Wanted+p.Wanted*share, link.Next+p.Next*share
			link.State = worse(link.State, stateOfPart(&p))
			route.Alone = route.Alone || p.NoAlternative
		}
	}
	for _, service := range order {
		route.Links = append(route.Links, *links[service])
	}
	return route
}

// stateOfPart is the state of a link as a reference of a rule has it.
func stateOfPart(p *drain.Part) string {
	switch {
	case p.NoAlternative && p.Drained:
		return linkFails
	case p.Target.Missing:
		return linkMissing
	case p.Target.Empty:
		return linkEmpty
	case p.NoAlternative:
		return linkAlone
	}
	return ""
}

func worse(a, b string) string {
	for _, state := range []string{linkFails, linkMissing, linkEmpty, linkKept, linkAlone} {
		if a == state || b == state {
			return state
		}
	}
	return ""
}

// rank orders routes: those that fail first, then those without an alternative, then those that are not as users want them, or will
// not be.
func (r *FlowRoute) rank() int {
	differs := func(l FlowLink) bool { return l.Now != l.Wanted || l.Next != l.Wanted }
	switch {
	case slices.ContainsFunc(r.Links, func(l FlowLink) bool { return l.State == linkFails }):
		return 0
	case r.Alone:
		return 1
	case slices.ContainsFunc(r.Links, differs):
		return 2
	}
	return 3
}

func (r *FlowRoute) label() string { return r.Kind + " " + r.Namespace + "/" + r.Name }
