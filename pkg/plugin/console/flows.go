// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
)

const (
	// maxRoutes is how many routes the page draws. The others are one node.
	maxRoutes = 40
	// defaultAdminNamespace is the namespace whose backends reach all namespaces by default.
	defaultAdminNamespace = "gimbal-discovery"
)

// Flows are the routes of backends, with where they send requests. Each route counts as 1, distributed over its rules.
type Flows struct {
	Backends []FlowBackend `json:"backends"`
	// Routes are the most important ones, Rest are the links of the other ones of Total, by backend.
	Routes []FlowRoute `json:"routes"`
	Rest   []FlowLink  `json:"rest"`
	Total  int         `json:"total"`
	// WhatIf is what an assumption about a backend makes of its routes.
	WhatIf *WhatIf `json:"whatIf,omitempty"`
	// Problems are what could not be read, Notes what has to be known to read the flows.
	Problems []string `json:"problems"`
	Notes    []string `json:"notes"`
}

// FlowBackend is a backend to which routes refer.
type FlowBackend struct {
	Name string `json:"name"`
	// Key is its path on the page, "" if there is no such DiscoveryBackend.
	Key    string `json:"key,omitempty"`
	Status string `json:"status,omitempty"`
	// Reason and Message are those of the condition Drained.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Matching and Drained are the counts of the controller while it drains or restores, Percent is the share that a ramp gives it.
	Matching int32  `json:"matching"`
	Drained  int32  `json:"drained"`
	Percent  *int32 `json:"percent,omitempty"`
	// Routes refer to it, and Alone of these have no other backend.
	Routes int `json:"routes"`
	Alone  int `json:"alone"`
	// elsewhere reports that its namespace is not the default one of backends that reach all namespaces.
	elsewhere bool
}

// filter selects routes.
type filter struct {
	words   []string
	backend string
	// grouped adds up the routes of each namespace.
	grouped bool
}

// flows reads the traffic for the page.
func (r *reader) flows(ctx context.Context, query url.Values) (*Flows, error) {
	viewer, assumedConfig, err := r.traffic.follow(ctx)
	if err != nil {
		return nil, err
	}
	selected := filter{strings.Fields(strings.ToLower(query.Get("q"))), query.Get("backend"), query.Get("group") == "namespace"}
	var assume *maintenance.Assumption
	if status := query.Get("if"); status != "" && selected.backend != "" {
		assume = &maintenance.Assumption{Backend: selected.backend, Status: gimbalv1.ClusterStatus(status)}
		if assume.Status != gimbalv1.ClusterMaintenance && assume.Status != gimbalv1.ClusterEnabled {
			return nil, &failure{http.StatusBadRequest,
				fmt.Sprintf("if: %q is not %s or %s", status, gimbalv1.ClusterMaintenance, gimbalv1.ClusterEnabled)}
		}
	}
	found, err := viewer.Traffic(ctx, assume)
	if errors.Is(err, maintenance.ErrNoBackend) {
		return nil, &failure{http.StatusNotFound, err.Error()}
	}
	if err != nil {
		return &Flows{Backends: []FlowBackend{}, Routes: []FlowRoute{}, Rest: []FlowLink{}, Notes: []string{},
			Problems: []string{r.unknown(err, r.unknownRoutes(err, "routes"))}}, nil
	}
	view := flowsOf(found, assume, selected)
	for _, err := range found.Unknown {
		view.Problems = append(view.Problems, r.unknown(err, r.unknownRoutes(err, "routes of one kind")))
	}
	if assumedConfig != nil && slices.ContainsFunc(view.Backends, func(b FlowBackend) bool { return b.elsewhere }) {
		view.Notes = append(view.Notes, "Backends outside of namespace "+defaultAdminNamespace+" are taken for those of their namespace, "+
			"because the configuration of the controller manager is unknown.")
	}
	return view, nil
}

// unknownRoutes is what could not be read, by an error of the API server that names the resource.
func (r *reader) unknownRoutes(err error, what string) string {
	scope := "in all namespaces"
	if r.Namespace != "" {
		scope = "in namespace " + r.Namespace
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil && status.Status().Details.Kind != "" {
		what = status.Status().Details.Kind
	}
	return fmt.Sprintf("list %s %s", what, scope)
}

// flowsOf is the view of the traffic.
func flowsOf(t *maintenance.Traffic, assume *maintenance.Assumption, f filter) *Flows {
	view := &Flows{Backends: []FlowBackend{}, Routes: []FlowRoute{}, Rest: []FlowLink{}, Problems: []string{}, Notes: []string{}}
	backends := map[string]*FlowBackend{}
	for name, backend := range t.Backends {
		backends[name] = flowBackendOf(backend)
	}
	if assume != nil {
		view.WhatIf = &WhatIf{Backend: assume.Backend, Status: string(assume.Status), Fails: Named{Names: []string{}},
			Keeps: Named{Names: []string{}}, Moves: Named{Names: []string{}}}
	}
	var all []FlowRoute
	for i := range t.Routes {
		route := flowRouteOf(&t.Routes[i])
		count(backends, &route)
		if assume != nil {
			view.WhatIf.count(&route)
		}
		if f.selects(&route) {
			all = append(all, route)
		}
	}
	if f.grouped {
		all = byNamespace(all)
	}
	slices.SortStableFunc(all, func(a, b FlowRoute) int { return cmp.Compare(a.rank(), b.rank()) })
	view.Total = len(all)
	view.Routes = append(view.Routes, all[:min(len(all), maxRoutes)]...)
	view.Rest = rest(all[len(view.Routes):])
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		view.Backends = append(view.Backends, *backends[name])
	}
	return view
}

func flowBackendOf(b *gimbalv1.DiscoveryBackend) *FlowBackend {
	view := &FlowBackend{Name: b.Name, elsewhere: b.Namespace != defaultAdminNamespace,
		Key: keyOf(Kind{Name: "discoverybackend"}, client.ObjectKeyFromObject(b)), Status: string(b.Cluster.ClusterStatus)}
	if c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionDrained); c != nil {
		view.Reason, view.Message = c.Reason, c.Message
	}
	if routes := b.Status.Routes; routes != nil {
		view.Matching, view.Drained = routes.Matching, routes.Drained
	}
	if ramp := b.Status.Ramp; ramp != nil {
		view.Percent = &ramp.Percent
	}
	return view
}

func (f *filter) selects(r *FlowRoute) bool {
	if f.backend != "" && !slices.ContainsFunc(r.Links, func(l FlowLink) bool { return l.Backend == f.backend }) {
		return false
	}
	return !slices.ContainsFunc(f.words, func(word string) bool {
		return !strings.Contains(strings.ToLower(r.label()), word) &&
			!slices.ContainsFunc(r.Links, func(l FlowLink) bool { return strings.Contains(l.Service, word) })
	})
}

func count(backends map[string]*FlowBackend, r *FlowRoute) {
	refers := map[string]bool{}
	for _, l := range r.Links {
		if l.Backend != "" {
			refers[l.Backend] = refers[l.Backend] || l.State == linkFails || l.State == linkAlone
		}
	}
	for name, alone := range refers {
		b := backends[name]
		if b == nil {
			b = &FlowBackend{Name: name}
			backends[name] = b
		}
		b.Routes++
		if alone {
			b.Alone++
		}
	}
}

// rest adds up the links of routes that are not drawn, by backend.
func rest(routes []FlowRoute) []FlowLink {
	sums := map[string]*FlowLink{}
	for i := range routes {
		for _, l := range routes[i].Links {
			sum := sums[l.Backend]
			if sum == nil {
				sum = &FlowLink{Backend: l.Backend}
				sums[l.Backend] = sum
			}
			sum.add(l)
		}
	}
	all := []FlowLink{}
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, *sums[name])
	}
	return all
}

// byNamespace adds up the routes of each namespace, by backend and state. Such a sum has no kind, and the number of routes as its name.
func byNamespace(routes []FlowRoute) (all []FlowRoute) {
	slices.SortStableFunc(routes, func(a, b FlowRoute) int { return cmp.Compare(a.Namespace, b.Namespace) })
	for len(routes) > 0 {
		sum := FlowRoute{Namespace: routes[0].Namespace}
		count, links := 0, map[string]*FlowLink{}
		for ; count < len(routes) && routes[count].Namespace == sum.Namespace; count++ {
			sum.Alone, sum.Lost = sum.Alone || routes[count].Alone, sum.Lost || routes[count].Lost
			for _, l := range routes[count].Links {
				key := l.Backend + " " + l.State
				if links[key] == nil {
					service := fmt.Sprintf("Services of %s in %s", cmp.Or(l.Backend, "no backend"), sum.Namespace)
					links[key] = &FlowLink{Service: service, Backend: l.Backend, State: l.State}
				}
				links[key].add(l)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(links)) {
			sum.Links = append(sum.Links, *links[key])
		}
		sum.Name = fmt.Sprintf("%d routes", count)
		all, routes = append(all, sum), routes[count:]
	}
	return all
}

func (l *FlowLink) add(other FlowLink) {
	l.Now, l.Wanted, l.Next = l.Now+other.Now, l.Wanted+other.Wanted, l.Next+other.Next
}
