// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/midonetbackend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fake "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// plane is a store, the engine, and a fake MidoNet on a fake clock. It is deterministic, because it performs one operation at a
// time.
type plane struct {
	*store
	server *fake.Server
	// url is where the process reaches the server, and admin where administrators do.
	url, admin string
	clock      *testclock.FakePassiveClock
	mode       engine.Mode
	// orphans enables the deletion of orphans.
	orphans bool
	// shown has what the watch has shown, due what is requeued, and when.
	shown map[types.NamespacedName]*midonetv1.Translation
	due   map[types.NamespacedName]time.Time
	uids  int
	queue *added
	// gate is between the process and both systems, if not nil. unwatched reports that no event arrives.
	gate      *faulttest.Gate
	unwatched bool
}

func newPlane(t *testing.T, objects ...client.Object) *plane {
	t.Helper()
	return newPlaneBehind(t, nil, objects...)
}

// newPlaneBehind is newPlane with a gate.
func newPlaneBehind(t *testing.T, gate *faulttest.Gate, objects ...client.Object) *plane {
	t.Helper()
	p := &plane{store: newStore(t, objects...), server: fake.New(fake.Options{}), clock: testclock.NewFakePassiveClock(start), mode: engine.Repair, gate: gate}
	p.server.AddHost("node-a")
	var served http.Handler = p.server
	if gate != nil {
		served = gate.Handler(p.server, func(r *http.Request) bool {
			return r.Method != http.MethodGet && !strings.HasSuffix(r.URL.Path, "/login")
		})
	}
	web, admin := httptest.NewServer(served), httptest.NewServer(p.server)
	t.Cleanup(web.Close)
	t.Cleanup(admin.Close)
	p.url, p.admin = web.URL+fake.Root, admin.URL+fake.Root
	p.restart()
	return p
}

// restart starts a new process with the same API server and backend.
func (p *plane) restart() {
	p.t.Helper()
	options, writer := midonet.Options{URL: p.url, Attempts: 1}, p.Client()
	if p.gate != nil {
		options.BeforeWrite, writer = p.gate.Fence, p.gate.Client(writer, p.Server)
	}
	connection, err := midonet.New(options)
	if err != nil {
		p.t.Fatal(err)
	}
	p.shown, p.due = map[types.NamespacedName]*midonetv1.Translation{}, map[types.NamespacedName]time.Time{}
	p.reconciler = &reconciler{client: writer, recorder: p.recorder, checks: newDemand(), now: p.clock.Now}
	p.engine = engine.New(midonetbackend.New(connection, "midonetkube"), engine.Options{Mode: p.mode, DeleteOrphans: p.orphans, Concurrency: 4, Clock: p.clock, Wake: p.wake})
	p.queue = &added{}
	if err := p.useQueue(p.t.Context(), p.queue); err != nil {
		p.t.Fatal(err)
	}
	p.ResetLog()
	p.server.ResetRequests()
}

// create creates Translations like a converter.
func (p *plane) create(translations ...*midonetv1.Translation) {
	p.t.Helper()
	for _, tr := range translations {
		p.uids++
		tr.UID = types.UID(fmt.Sprintf("uid-%d", p.uids))
		if err := p.Create(p.t.Context(), tr); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (p *plane) delete(name string) {
	p.t.Helper()
	if err := p.Delete(p.t.Context(), p.read(name)); err != nil {
		p.t.Fatal(err)
	}
}

// settle runs the controller until it is idle, for at most the horizon on the clock.
func (p *plane) settle(horizon time.Duration) {
	p.t.Helper()
	end := p.clock.Now().Add(horizon)
	q := p.queue
	for range 10000 {
		p.watch(q)
		for name, at := range p.due {
			if !at.After(p.clock.Now()) {
				q.Add(reconcile.Request{NamespacedName: name})
				delete(p.due, name)
			}
		}
		if len(q.names) > 0 {
			names := slices.Compact(slices.Sorted(slices.Values(q.names)))
			q.names = nil
			for _, name := range names {
				p.push(name)
			}
			continue
		}
		next := end.Add(1)
		for _, at := range p.due {
			if at.Before(next) {
				next = at
			}
		}
		if next.After(end) {
			return
		}
		p.clock.SetTime(next)
	}
	p.t.Fatalf("it does not come to rest: %v", p.Writes())
}

func (p *plane) push(name string) {
	p.t.Helper()
	request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "default", Name: name}}
	result, err := p.Reconcile(p.t.Context(), request)
	if err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	delete(p.due, request.NamespacedName)
	if result.RequeueAfter > 0 {
		p.due[request.NamespacedName] = p.clock.Now().Add(result.RequeueAfter)
	}
}

// watch delivers the changes since the last call.
func (p *plane) watch(q *added) {
	p.t.Helper()
	if p.unwatched {
		return
	}
	var list midonetv1.TranslationList
	if err := p.List(p.t.Context(), &list); err != nil {
		p.t.Fatal(err)
	}
	h, there := p.handler(), map[types.NamespacedName]bool{}
	for i := range list.Items {
		now := &list.Items[i]
		name := client.ObjectKeyFromObject(now)
		there[name] = true
		before := p.shown[name]
		p.shown[name] = now
		if !now.DeletionTimestamp.IsZero() {
			// The store sets the real time, while everything else uses the clock.
			now.DeletionTimestamp = new(metav1.NewTime(p.clock.Now()))
			if before != nil && !before.DeletionTimestamp.IsZero() {
				now.DeletionTimestamp = before.DeletionTimestamp
			}
		}
		switch {
		case before == nil:
			h.Create(p.t.Context(), event.CreateEvent{Object: now}, q)
		case before.ResourceVersion != now.ResourceVersion:
			h.Update(p.t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: now}, q)
		}
	}
	for name, before := range p.shown {
		if !there[name] {
			delete(p.shown, name)
			h.Delete(p.t.Context(), event.DeleteEvent{Object: before}, q)
		}
	}
}

// drift runs a drift check and the repairs that follow.
func (p *plane) drift() engine.Report {
	p.t.Helper()
	report, err := p.engine.Drift(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	p.settle(time.Minute)
	return report
}

// content returns the content of the backend, by kind and id, rules in their order.
func (p *plane) content() []string {
	var lines []string
	for _, i := range p.server.Content() {
		if i.Kind != "Host" {
			lines = append(lines, i.Kind+" "+i.ID)
		}
	}
	return lines
}

// states returns the states of a Translation's resources, followed by its conditions.
func (p *plane) states(name string) []string {
	p.t.Helper()
	tr := p.read(name)
	if tr == nil {
		return []string{"gone"}
	}
	var lines []string
	for _, r := range tr.Status.Resources {
		line := r.Kind + " " + string(r.State)
		if r.HTTPStatus != 0 {
			line += fmt.Sprintf(" %d", r.HTTPStatus)
		}
		lines = append(lines, line)
	}
	for _, c := range tr.Status.Conditions {
		lines = append(lines, c.Type+"="+string(c.Status)+" "+c.Reason)
	}
	return lines
}

// manually sends a request like an administrator with curl.
func (p *plane) manually(method, path, mediaType string, body any) {
	p.t.Helper()
	data := ""
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			p.t.Fatal(err)
		}
		data = string(encoded)
	}
	request, err := http.NewRequestWithContext(p.t.Context(), method, p.admin+path, strings.NewReader(data))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/vnd.org.midonet."+mediaType+"+json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode/100 != 2 {
		p.t.Fatalf("%s %s: %s", method, path, response.Status)
	}
}
