// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

// facts are what the routes of a backend are like.
type facts struct {
	// matching is how many there are.
	matching int
	// drained is how many of them send the backend nothing, by their weights.
	drained int
	// recorded is how many of them have a record of its weights.
	recorded int
	// left is how many are still to be written; those that the API server rejects are not among them.
	left int
	// wanted and now are how many of their requests they send to the backend by the weights that users want, and by those that they have: the sum
	// of its parts of all rules. Endpoints that are withheld get none.
	wanted, now float64
	// sole are those in which no other target can respond.
	sole []string
	// invalid describes references in them that are no alternative because implementations reject them, or may reject them.
	invalid map[string][]string
	// withhold are the Services of which weights may not keep the requests of some routes away, serving is how many routes
	// send to the backend by their weights.
	withhold sets.Set[types.NamespacedName]
	serving  int
	// unwritten are the Services in routes whose weights are still to be written.
	unwritten sets.Set[types.NamespacedName]
	// sending are those that send to it even when the copied endpoints are withheld, and are not written as users want them;
	// unsettled is how many do so because a copy is still ready.
	sending   []problem
	unsettled int
	// others are objects of other kinds that refer to Services of the backend.
	others []problem
	// alone is set when no other cluster is known to serve, if that matters.
	alone bool
	// twins are the backends that lead, or may lead, to the same cluster.
	twins twins
	// Problems of routes: those that cannot be written, and those whose saved weights were lost.
	rejected, lost []problem
}

// problem is what is wrong with a route.
type problem struct{ route, message string }

// observer counts the routes of backends in the caches.
type observer struct {
	cluster *cluster
	kinds   []*drain.Kind
	others  []*otherKind
	ledger  *ledger
}

// observe checks all routes that refer to Services of a backend, or have its weights in their records. It is an error when not all
// of them are known.
func (o *observer) observe(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (facts, error) {
	var f facts
	backends, err := o.cluster.backends(ctx)
	if err != nil {
		return f, err
	}
	services, err := o.cluster.reader.Find(ctx, servicesResource(), resourcewatch.Query{Index: byBackend, Value: backend.Name})
	if err != nil {
		return f, err
	}
	imports, err := o.cluster.importsOfBackend(ctx, backend.Name)
	if err != nil {
		return f, err
	}
	lost, clusters := o.ledger.lost(backend.Name), clustersOf(backends)
	for _, kind := range o.kinds {
		found, err := o.routesOf(ctx, kind, services, imports, backend.Name)
		if err != nil {
			return f, err
		}
		for name, object := range found {
			kept, ok := object.Value.(*route)
			if !ok || !reaches(backend, o.cluster.admins, object.Namespace) {
				continue
			}
			membership, err := o.cluster.membership(ctx, backends, clusters, object)
			if err != nil {
				return f, err
			}
			key := routeKey{routeResource(kind), name}
			f.count(backend, membership, kept.view.Decide(membership), observed{
				name: describe(kind, name), rejected: o.ledger.rejected(key, object.UID), lost: lost[key],
			})
		}
	}
	if err := o.observeOthers(ctx, &f, backend, services); err != nil {
		return f, err
	}
	f.sort()
	return f, nil
}

// routesOf finds the routes of a kind that name one of the Services or ServiceImports, or have the backend in their record.
func (o *observer) routesOf(ctx context.Context, kind *drain.Kind, services, imports []*resourcewatch.Object, backend string) (map[types.NamespacedName]*resourcewatch.Object, error) {
	// A backend may have 10,000 Services, and most kinds have no routes.
	if some, err := o.cluster.reader.Find(ctx, routeResource(kind), resourcewatch.Query{Any: true}); err != nil || len(some) == 0 {
		return nil, err
	}
	queries := []resourcewatch.Query{{Index: byBackend, Value: backend}}
	for _, service := range services {
		queries = append(queries, resourcewatch.Query{Index: byService, Value: service.Namespace + "/" + service.Name})
	}
	for _, imported := range imports {
		queries = append(queries, resourcewatch.Query{Index: byImport, Value: imported.Namespace + "/" + imported.Name})
	}
	routes := map[types.NamespacedName]*resourcewatch.Object{}
	for _, query := range queries {
		found, err := o.cluster.reader.Find(ctx, routeResource(kind), query)
		if err != nil {
			return nil, err
		}
		for _, object := range found {
			routes[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = object
		}
	}
	return routes, nil
}

// observed is what is known of a route besides its content.
type observed struct{ name, rejected, lost string }

// count adds a route to the facts about a backend.
func (f *facts) count(backend *gimbalv1.DiscoveryBackend, m *membership, decision drain.Decision, route observed) {
	outcome, refers := decision.Backends[backend.Name]
	if !refers {
		return
	}
	f.matching++
	if slices.Contains(m.recorded, backend.Name) {
		f.recorded++
	}
	f.wanted += outcome.Wanted
	if !m.withholds(outcome) {
		f.now += outcome.Now
	}
	if outcome.NoAlternative {
		f.sole = append(f.sole, route.name)
		if len(outcome.Invalid) > 0 {
			if f.invalid == nil {
				f.invalid = map[string][]string{}
			}
			f.invalid[route.name] = outcome.Invalid
		}
	}
	if len(outcome.Withhold)+len(outcome.WithholdImports) > 0 {
		f.withhold = inserted(f.withhold, outcome.Withhold)
		for _, name := range outcome.WithholdImports {
			if found := m.imports[name]; found != nil {
				f.withhold = inserted(f.withhold, found.copiedServices(name.Namespace))
			}
		}
		f.countWithheld(m, outcome, route.name)
	}
	if route.lost != "" {
		f.lost = append(f.lost, problem{route.name, route.lost})
	}
	due := decision.Write || decision.HandBack
	if phaseOf(backend, m.restored.has(backend.UID)) == phaseDraining {
		if outcome.Drained && !decision.Write {
			f.drained++
		}
		if decision.Write {
			f.unwritten = inserted(f.unwritten, m.servicesOf(backend.Name))
		}
	} else {
		// Pending writes for another backend that is being deleted do not affect this one.
		due = slices.Contains(m.recorded, backend.Name) || decision.HandBack && !isEnabled(backend) && !m.draining(decision)
	}
	switch {
	case due && route.rejected != "":
		f.rejected = append(f.rejected, problem{route.name, route.rejected})
	case due:
		f.left++
	}
}

// share is which part of the requests that users want the backend to get it gets, in percent; otherwise where they want none.
func (f *facts) share(otherwise int32) int32 {
	if f.wanted == 0 {
		return otherwise
	}
	return int32(math.Round(whole * f.now / f.wanted))
}

// withholds reports whether a backend gets nothing from a route because none of its endpoints there is ready.
func (m *membership) withholds(outcome drain.Outcome) bool {
	ready := func(names []types.NamespacedName, targets map[types.NamespacedName]*target) bool {
		return slices.ContainsFunc(names, func(name types.NamespacedName) bool { return targets[name].ready(true) || targets[name].ready(false) })
	}
	return len(outcome.Withhold)+len(outcome.WithholdImports) > 0 && !outcome.ExternalName &&
		!ready(outcome.Withhold, m.targets) && !ready(outcome.WithholdImports, m.imports)
}

// countWithheld adds a route of which weights may not keep requests away. Only the endpoints of its Services do: they are
// withheld when none is ready.
func (f *facts) countWithheld(m *membership, outcome drain.Outcome, name string) {
	why, settled := "", true
	check := func(kind string, names []types.NamespacedName, targets map[types.NamespacedName]*target) {
		for _, name := range names {
			found := targets[name]
			settled = settled && !found.ready(true)
			if found.ready(false) {
				why = "endpoints of " + kind + " " + name.String() + " are not copies of a discoverer, so they stay ready"
			}
		}
	}
	check("Service", outcome.Withhold, m.targets)
	check("ServiceImport", outcome.WithholdImports, m.imports)
	if outcome.ExternalName {
		why = "a Service of type ExternalName has no endpoints that could be withheld"
	}
	switch {
	case outcome.Drained:
		return // regardless of the endpoints
	case why != "":
		f.sending = append(f.sending, problem{name, why})
		return
	case !settled:
		f.unsettled++
	}
	f.serving++
}

// servicesOf returns the Services of a route that are of a backend, and those behind its ServiceImports.
func (m *membership) servicesOf(backend string) []types.NamespacedName {
	var all []types.NamespacedName
	for name := range m.targets {
		if of, _ := m.Of(name); of == backend {
			all = append(all, name)
		}
	}
	for name, found := range m.imports {
		if of, _ := m.OfImport(name); of == backend {
			all = append(all, found.copiedServices(name.Namespace)...)
		}
	}
	return all
}

// inserted adds names to a set, which may be nil.
func inserted(set sets.Set[types.NamespacedName], names []types.NamespacedName) sets.Set[types.NamespacedName] {
	if set == nil {
		set = sets.Set[types.NamespacedName]{}
	}
	return set.Insert(names...)
}

// isEnabled reports whether nothing is left to restore according to the status of a backend.
func isEnabled(backend *gimbalv1.DiscoveryBackend) bool {
	c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
	return c != nil && c.Reason == reasonEnabled
}

// draining reports whether any backend of a route is being drained.
func (m *membership) draining(decision drain.Decision) bool {
	for name := range decision.Backends {
		if backend := m.backends[name]; backend != nil && phaseOf(backend, m.restored.has(backend.UID)) == phaseDraining {
			return true
		}
	}
	return false
}

// sort makes reports of successive checks comparable.
func (f *facts) sort() {
	byRoute := func(a, b problem) int { return cmp.Compare(a.route, b.route) }
	slices.Sort(f.sole)
	slices.SortFunc(f.sending, byRoute)
	slices.SortFunc(f.rejected, byRoute)
	slices.SortFunc(f.lost, byRoute)
	slices.SortFunc(f.others, byRoute)
}
