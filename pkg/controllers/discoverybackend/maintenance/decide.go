// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

// Reasons of the condition Drained.
const (
	// reasonEnabled: the backend takes requests, and nothing is left to restore.
	reasonEnabled = "Enabled"
	// reasonRestoring: weights or endpoints are still as in maintenance.
	reasonRestoring = "Restoring"
	// reasonDraining: not all routes were rewritten yet, or not all endpoints.
	reasonDraining = "Draining"
	// reasonGracePeriod: they were, and open connections may continue for a while.
	reasonGracePeriod = "GracePeriod"
	// reasonRefused: the API server rejects a change of some routes.
	reasonRefused = "Refused"
	// reasonStillReceiving: neither weights nor endpoints keep the requests of some routes away.
	reasonStillReceiving = "StillReceiving"
	// reasonDrained: nothing is sent to the backend, except for what the message reports.
	reasonDrained = "Drained"
	// reasonUnknown: it is unknown which routes exist.
	reasonUnknown = "RoutesUnknown"
)

// namesInMessage is how many routes a message names.
const namesInMessage = 3

// endpoints is what is known of the endpoints of a backend.
type endpoints struct {
	// True when it is known how many are still to be changed; pending is how many those are.
	requested bool
	pending   int
}

// done reports that all endpoints are as they should be.
func (e endpoints) done() bool { return e.requested && e.pending == 0 }

// plan is what the status of a backend is to report, and what is to be done.
type plan struct {
	condition metav1.Condition
	routes    gimbalv1.RouteStatus
	// withhold reports whether all endpoints of the backend are to be withheld.
	withhold bool
	errors   []gimbalv1.DiscoveryError
	// failing are the routes that status.routes.withoutEndpoints is to name.
	failing []problem
	// ramp is how far the traffic is to be moved.
	ramp *gimbalv1.RampStatus
	// rampSince is since when its step counts.
	rampSince time.Time
	// automatic is the condition AutomaticMaintenance, nil for none.
	automatic *metav1.Condition
	// unique is the condition ClusterUnique, nil for none.
	unique *metav1.Condition
	// after is when to recheck the backend, 0: after the next event only.
	after time.Duration
}

// planFor decides. Of the endpoints it needs to know how far the state is that status.endpointsDrained reports, of the ramp since when its
// stored step is observed.
func planFor(backend *gimbalv1.DiscoveryBackend, phase phase, f facts, e endpoints, since, now time.Time) plan {
	p := plan{routes: gimbalv1.RouteStatus{Matching: int32(f.matching)}, errors: errorsOf(backend, phase, f), failing: f.failing}
	p.ramp, p.rampSince = nextRamp(backend, phase, since, now)
	if f.alone && phase == phaseEnabled {
		p.ramp = nil
	}
	p.routes.WithoutAlternative, p.routes.WithoutEndpoints = namesOf(f.sole), namesOf(routesOf(f.failing))
	if phase == phaseDraining {
		p.drain(backend, f, e, now)
	} else {
		p.restore(backend, phase, f)
	}
	p.condition, p.unique = f.twins.settle(p.condition, backend), f.twins.condition(backend)
	if next := nextStep(p.ramp, drainDuration(backend), p.rampSince); !next.IsZero() && phase != phaseHeld {
		p.after = max(next.Sub(now), time.Millisecond)
	}
	return p
}

// drain plans for a backend in maintenance: all routes first, then the grace period, then, where weights are of no
// help, the endpoints. Endpoints that were withheld stay so while there is a reason for it, whatever happens to a route.
func (p *plan) drain(backend *gimbalv1.DiscoveryBackend, f facts, e endpoints, now time.Time) {
	report := func(value metav1.ConditionStatus, reason, format string, args ...any) {
		p.condition = status.Condition(backend, gimbalv1.ConditionDrained, value, reason, fmt.Sprintf(format, args...))
	}
	all, withheld := status.Plural(f.matching, "route"), backend.Status.EndpointsDrained
	keeps := status.KeepsSole(backend)
	strict := !keeps && len(f.withhold) > 0
	p.routes.Drained, p.routes.Recorded = int32(f.drained), new(int32(f.recorded))
	if withheld && e.done() {
		p.routes.Drained += int32(f.serving - f.unsettled)
	}
	// Until all routes are written, those that are not may still send where the endpoints are withheld.
	p.withhold = withheld && !keeps
	switch {
	case p.ramp != nil && p.ramp.Percent > 0:
		report(metav1.ConditionFalse, reasonDraining,
			"%s send %d %% of the requests for the backend%s", all, f.share(p.ramp.Percent), p.until(backend))
		return
	case !equality.Semantic.DeepEqual(p.ramp, backend.Status.Ramp):
		report(metav1.ConditionFalse, reasonDraining, "%s to be rewritten", all) // they follow what is stored
		return
	case f.left > 0:
		report(metav1.ConditionFalse, reasonDraining, "%d of %s rewritten", f.matching-f.left-len(f.rejected), all)
		return
	case len(f.rejected) > 0:
		report(metav1.ConditionFalse, reasonRefused,
			"%s cannot be rewritten, see status.errors: %s", status.Plural(len(f.rejected), "route"), names(routesOf(f.rejected)))
		return
	}
	p.routes.DrainedTime = drainedTime(backend, now)
	if over := p.routes.DrainedTime.Add(grace(backend)); now.Before(over) {
		p.after = over.Sub(now)
		report(metav1.ConditionFalse, reasonGracePeriod,
			"all of %s rewritten, open connections may continue until %s", all, over.UTC().Format(time.RFC3339))
		return
	}
	p.withhold = strict
	switch {
	case strict && !withheld, withheld && !e.requested:
		report(metav1.ConditionFalse, reasonDraining, "all of %s rewritten, the endpoints are about to be made not ready", all)
	case strict && e.pending > 0:
		report(metav1.ConditionFalse, reasonDraining,
			"all of %s rewritten, %s to be made not ready", all, status.Plural(e.pending, "EndpointSlice"))
	case strict && len(f.sending) > 0:
		report(metav1.ConditionFalse, reasonStillReceiving,
			"%s still send to the backend, see status.errors: %s", status.Plural(len(f.sending), "route"), names(routesOf(f.sending)))
	case strict && f.unsettled > 0:
		report(metav1.ConditionFalse, reasonDraining,
			"all of %s rewritten, %s with endpoints that are still ready", all, status.Plural(f.unsettled, "route"))
	case keeps && len(f.sole)+len(f.others) > 0:
		report(metav1.ConditionTrue, reasonDrained,
			"%s rewritten; still served, because %s: %s", all, whyKept(backend), names(slices.Concat(f.sole, routesOf(f.others))))
	case strict && len(f.sole) == 0 && len(f.others) > 0:
		report(metav1.ConditionTrue, reasonDrained,
			"%s rewritten, and no endpoint is ready of the Services to which these refer: %s", all, names(routesOf(f.others)))
	case strict:
		report(metav1.ConditionTrue, reasonDrained,
			"%s rewritten, no endpoint is ready: %s without another backend, which respond with errors: %s",
			all, status.Plural(len(f.sole), "route"), names(f.sole))
	case len(f.sole) > 0:
		report(metav1.ConditionTrue, reasonDrained,
			"%s rewritten; without another backend that has a ready endpoint, so that they respond with errors: %s", all, names(f.sole))
	default:
		report(metav1.ConditionTrue, reasonDrained, "%s rewritten, the backend gets no requests from them", all)
	}
}

// restore plans for a backend that takes requests, or is about to: endpoints first, then weights.
func (p *plan) restore(backend *gimbalv1.DiscoveryBackend, phase phase, f facts) {
	reason, message, all := reasonEnabled, "the backend takes requests", status.Plural(f.matching, "route")
	switch {
	case phase == phaseHeld:
		reason, message = reasonRestoring, "the endpoints are being made ready, the weights follow"
	case p.ramp != nil:
		reason = reasonRestoring
		message = fmt.Sprintf("%s send %d %% of the requests for the backend%s", all, f.share(p.ramp.Percent), p.until(backend))
	case f.left > 0 || backend.Status.Ramp != nil:
		reason, message = reasonRestoring, fmt.Sprintf("%d of %s restored", f.matching-f.left-len(f.rejected), all)
	case len(f.rejected) > 0:
		reason = reasonRefused
		message = fmt.Sprintf("%s cannot be restored, see status.errors: %s",
			status.Plural(len(f.rejected), "route"), names(routesOf(f.rejected)))
	}
	p.condition = status.Condition(backend, gimbalv1.ConditionDrained, metav1.ConditionFalse, reason, message)
}

// whyKept describes why routes without another backend keep their traffic.
func whyKept(backend *gimbalv1.DiscoveryBackend) string {
	if status.IsAutomatic(backend) {
		return "the maintenance is automatic"
	}
	return "cluster.drainPolicy is KeepSole"
}

// until describes when the next step of a ramp is.
func (p *plan) until(backend *gimbalv1.DiscoveryBackend) string {
	next := nextStep(p.ramp, drainDuration(backend), p.rampSince)
	if next.IsZero() {
		return ""
	}
	return ", the next step is at " + next.UTC().Format(time.RFC3339)
}

// drainedTime is since when all routes are rewritten.
func drainedTime(backend *gimbalv1.DiscoveryBackend, now time.Time) *metav1.Time {
	if routes := backend.Status.Routes; routes != nil && routes.DrainedTime != nil {
		return routes.DrainedTime
	}
	return new(metav1.NewTime(now).Rfc3339Copy())
}

func grace(backend *gimbalv1.DiscoveryBackend) time.Duration {
	return ptr.Deref(backend.Cluster.DrainGracePeriod, metav1.Duration{}).Duration
}

// errorsOf returns the entries of status.errors that maintenance is to have, the worst first.
func errorsOf(backend *gimbalv1.DiscoveryBackend, phase phase, f facts) []gimbalv1.DiscoveryError {
	var entries []gimbalv1.DiscoveryError
	add := func(kind, message string) {
		if len(entries) < gimbalv1.MaxErrorsPerWriter {
			entries = append(entries, gimbalv1.DiscoveryError{Type: kind, Message: status.Bounded(message)})
		}
	}
	addAll := func(kind string, problems []problem, verb, remedy string) {
		for _, p := range problems {
			add(kind, p.route+verb+p.message+remedy)
		}
	}
	addAll(gimbalv1.ErrorRouteRefused, f.rejected, ": its weights cannot be changed: ", "")
	addAll(gimbalv1.ErrorWeightsLost, f.lost,
		": the saved weights were lost, so its traffic is spread evenly; set the weights again: ", "")
	addAll(gimbalv1.ErrorServiceFailedOver, f.over, ": requests go to the other receivers until an endpoint is ready for long enough: ", "")
	if phase != phaseDraining {
		return entries
	}
	other := "the endpoints of the Service are not ready after the weights are written"
	what := "it returns errors until the backend is Enabled, or cluster.drainPolicy is KeepSole"
	if status.KeepsSole(backend) {
		what = "it is still served, because " + whyKept(backend)
		other = what
	} else {
		addAll(gimbalv1.ErrorStillReceiving, f.sending, " still sends to the backend: ", "; add a Service of another backend to it")
	}
	addAll(gimbalv1.ErrorNotDrained, f.others, " refers to ", ", and maintenance does not change it: "+other)
	for _, route := range f.sole {
		why := what
		if invalid := f.invalid[route]; len(invalid) > 0 {
			why = what + "; no alternative: " + strings.Join(invalid, ", ")
		}
		add(gimbalv1.ErrorNoAlternative, route+" has no other backend to send its traffic to that is valid and has a ready endpoint: "+why)
	}
	return entries
}

// namesOf names the first of some routes, and counts all of them; nil for none.
func namesOf(routes []string) *gimbalv1.RouteNames {
	if len(routes) == 0 {
		return nil
	}
	return &gimbalv1.RouteNames{Names: routes[:min(len(routes), gimbalv1.MaxRouteNames)], Count: int32(len(routes))}
}

func routesOf(problems []problem) []string {
	var routes []string
	for _, p := range problems {
		routes = append(routes, p.route)
	}
	return routes
}

// names lists some names of many.
func names(all []string) string {
	if len(all) <= namesInMessage {
		return strings.Join(all, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(all[:namesInMessage], ", "), len(all)-namesInMessage)
}
