// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"context"
	"maps"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/process"
	"groundskeeper.io/groundskeeper/pkg/statusz"
)

// Roles of a replica.
const (
	roleLeader  = "leader"
	roleStandby = "standby"
	roleAlone   = "leader, without election"
)

// statusPage is the page /statusz. It has no names of objects, because readers of the metrics can read it.
type statusPage struct {
	statusz.Component
	Role        string             `json:"role"`
	Lease       *leaseStatus       `json:"lease,omitempty"`
	WaitingFor  []string           `json:"waitingFor"`
	Controllers []controllerStatus `json:"controllers"`
	// BackgroundTasks are periodic tasks that are not controllers.
	BackgroundTasks []controllerStatus `json:"backgroundTasks"`
}

type leaseStatus struct {
	Name string `json:"name"`
	// Renewed is the time since this replica, if it is the holder, renewed the Lease.
	Renewed string `json:"renewed,omitempty"`
}

type controllerStatus struct {
	Name  string `json:"name"`
	State string `json:"state"`
	// Reasons explain why it is disabled, which permissions it lacks, or which kinds it does not watch.
	Reasons []string `json:"reasons,omitempty"`
	outcomes
}

// overview has the data of the page.
type overview struct {
	started  time.Time
	now      func() time.Time
	fence    *Fence
	ready    *readiness
	activity *tally
	// all are the names of the controllers in their order; disabled has the reasons of those that do not run.
	all      []string
	disabled map[string]string
}

// newOverview records the reasons of the controllers that are not among the enabled ones.
func newOverview(config *v1alpha1.ControllersConfiguration, fence *Fence, ready *readiness, all, enabled []controller) *overview {
	o := &overview{started: time.Now(), now: time.Now, fence: fence, ready: ready, all: names(all), disabled: map[string]string{}}
	o.activity = newTally(o.now)
	runs := names(enabled)
	for _, c := range all {
		switch {
		case slices.Contains(runs, c.name):
		case !isEnabled(c.name, config.Enabled):
			o.disabled[c.name] = "not in controllers.enabled"
		default:
			o.disabled[c.name] = c.off(config)
		}
	}
	return o
}

// page returns the current status.
func (o *overview) page() any {
	page := statusPage{
		Component: statusz.NewComponent(Name, o.started, o.now()), Role: roleAlone, WaitingFor: o.ready.waitingFor(),
		BackgroundTasks: []controllerStatus{},
	}
	if lease, held, renewed := o.fence.holder(); lease != "" {
		page.Role, page.Lease = roleStandby, &leaseStatus{Name: lease}
		if held {
			page.Role, page.Lease.Renewed = roleLeader, renewed.Round(time.Second).String()+" ago"
		}
	}
	done := o.activity.snapshot()
	for _, name := range o.all {
		state := o.stateOf(name, page.WaitingFor, page.Role == roleStandby)
		c := controllerStatus{Name: name, State: state.State, outcomes: done[name]}
		delete(done, name)
		if state.Reason != "" {
			c.Reasons = []string{state.Reason}
		} else {
			c.Reasons = o.ready.idle(name)
		}
		page.Controllers = append(page.Controllers, c)
	}
	for _, name := range slices.Sorted(maps.Keys(done)) {
		page.BackgroundTasks = append(page.BackgroundTasks, controllerStatus{Name: name, State: controllerstate.Running, outcomes: done[name]})
	}
	return page
}

// stateOf returns the state of a controller, with the reason if it does not run.
func (o *overview) stateOf(name string, waitingFor []string, standby bool) controllerstate.State {
	reason, disabled := o.disabled[name]
	switch held := o.ready.heldBack(name); {
	case disabled:
		return controllerstate.State{State: controllerstate.Disabled, Reason: reason}
	case held != "":
		return controllerstate.State{State: controllerstate.Waiting, Reason: held}
	case slices.Contains(waitingFor, cachesOf(name)):
		return controllerstate.State{State: controllerstate.Starting}
	case standby && name != webhooksName:
		return controllerstate.State{State: controllerstate.Standby}
	}
	return controllerstate.State{State: controllerstate.Running}
}

// states returns the state of each controller of the leader.
func (o *overview) states() map[string]controllerstate.State {
	states, waitingFor := make(map[string]controllerstate.State, len(o.all)), o.ready.waitingFor()
	for _, name := range o.all {
		state := o.stateOf(name, waitingFor, false)
		state.Findings = o.activity.findings(name)
		states[name] = state
	}
	return states
}

// listen opens the port right away, so that a port that is taken ends the process before anything happens.
func listen(ctx context.Context, address v1alpha1.AddressConfiguration) (net.Listener, error) {
	return (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(address.BindAddress, strconv.Itoa(int(*address.Port))))
}

// pages are what is served besides health and metrics, by their paths.
type pages map[string]http.Handler

// healthHandler serves /healthz and /livez (the process is running), /readyz, /metrics and more pages.
func healthHandler(ready *readiness, metrics prometheus.Gatherer, more pages) http.Handler {
	mux := process.Mux("/metrics", metrics, func(w http.ResponseWriter, r *http.Request) {
		err := ready.check()
		report := "ok"
		if r.URL.Query().Has("verbose") {
			report = ready.report()
		} else if err != nil {
			report = err.Error() + "\n"
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(report))
	})
	mux.HandleFunc("GET /livez", process.Alive)
	for path, handler := range more {
		mux.Handle("GET "+path, handler)
	}
	return mux
}

// outcomes counts the reconciles of a controller since the process started.
type outcomes struct {
	Succeeded int64 `json:"succeeded"`
	Failed    int64 `json:"failed"`
	// LastSuccess and LastFailure are times, or empty. Errors are in the log only, because they contain names of objects.
	LastSuccess string `json:"lastSuccess,omitempty"`
	LastFailure string `json:"lastFailure,omitempty"`
}

// tally counts reconciles, and keeps what controllers find. It is an instrument.Observer and an instrument.Finder.
type tally struct {
	now func() time.Time

	mu    sync.Mutex
	done  map[string]outcomes
	found map[string][]string
}

func newTally(now func() time.Time) *tally {
	return &tally{now: now, done: map[string]outcomes{}, found: map[string][]string{}}
}

// Find implements instrument.Finder.
func (a *tally) Find(controller string, findings []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.found[controller] = findings
}

func (a *tally) findings(controller string) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.found[controller]
}

// Begin implements instrument.Observer.
func (a *tally) Begin(ctx context.Context, controller, _ string) (context.Context, func(reconcile.Result, error)) {
	return ctx, func(_ reconcile.Result, err error) {
		at := a.now().UTC().Format(time.RFC3339)
		a.mu.Lock()
		defer a.mu.Unlock()
		o := a.done[controller]
		if err != nil {
			o.Failed, o.LastFailure = o.Failed+1, at
		} else {
			o.Succeeded, o.LastSuccess = o.Succeeded+1, at
		}
		a.done[controller] = o
	}
}

func (a *tally) snapshot() map[string]outcomes {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.done)
}
