// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/test/support/clienttest"
)

// period is how often the tests' cloud is listed.
const period = 30 * time.Second

// sky is a Cloud whose content a test sets.
type sky struct {
	mu       sync.Mutex
	projects []openstack.Project
	err      error
	identity string
	// recognize is nil when every cloud is copied.
	recognize func(context.Context, []gimbalv1.ClusterIdentity) error
	octavias  map[string]*octavia
	renewed   map[string]int
}

// octavia is what a project has.
type octavia struct {
	sky  *sky
	errs map[string]error // by what is listed
	*inventory
	requests map[string]int
}

func newSky(projects ...string) *sky {
	s := &sky{projects: named(projects...), octavias: map[string]*octavia{}, renewed: map[string]int{}}
	for _, p := range s.projects {
		s.octavias[p.ID] = &octavia{sky: s, errs: map[string]error{}, requests: map[string]int{}, inventory: &inventory{
			listeners: map[string][]openstack.Listener{}, pools: map[string]openstack.Pool{}, members: map[string][]openstack.Member{},
		}}
	}
	return s
}

// change changes the content while there is no reader.
func (s *sky) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// Projects implements Cloud.
func (s *sky) Projects(context.Context) ([]openstack.Project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.projects), s.err
}

// Identity implements Cloud.
func (s *sky) Identity(context.Context) ([]gimbalv1.ClusterIdentity, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []gimbalv1.ClusterIdentity{{Object: objectProject, ID: s.identity}}, s.err
}

// LoadBalancing implements Cloud.
func (s *sky) LoadBalancing(_ context.Context, project string) (LoadBalancing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.octavias[project], s.octavias[project].errs["token"]
}

// Retain implements Cloud.
func (s *sky) Retain(func(string) bool) {}

// Renew implements Cloud.
func (s *sky) Renew(project string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.renewed[project]++
}

func respond[T any](o *octavia, what string, of func() []T) ([]T, error) {
	o.sky.mu.Lock()
	defer o.sky.mu.Unlock()
	o.requests[what]++
	if err := o.errs[what]; err != nil {
		return nil, err
	}
	return slices.Clone(of()), nil
}

// LoadBalancers implements LoadBalancing.
func (o *octavia) LoadBalancers(context.Context) ([]openstack.LoadBalancer, error) {
	return respond(o, "loadbalancers", func() []openstack.LoadBalancer { return o.balancers })
}

// Listeners implements LoadBalancing.
func (o *octavia) Listeners(context.Context) ([]openstack.Listener, error) {
	return respond(o, "listeners", func() []openstack.Listener { return slices.Concat(slices.Collect(maps.Values(o.listeners))...) })
}

// Pools implements LoadBalancing.
func (o *octavia) Pools(context.Context) ([]openstack.Pool, error) {
	return respond(o, "pools", func() []openstack.Pool { return slices.Collect(maps.Values(o.pools)) })
}

// Members implements LoadBalancing.
func (o *octavia) Members(_ context.Context, pool string) ([]openstack.Member, error) {
	return respond(o, "members "+pool, func() []openstack.Member { return o.members[pool] })
}

// add makes a load balancer with a listener and these members.
func (s *sky) add(project, id string, places ...string) {
	s.change(func() {
		o := s.octavias[project]
		o.balancers = append(o.balancers, openstack.LoadBalancer{ID: id, Name: "name of " + id, ProjectID: project, ProvisioningStatus: "ACTIVE", AdminUp: true})
		o.listeners[id] = []openstack.Listener{{ID: "l-" + id, Protocol: "HTTP", Port: 80, AdminUp: true, DefaultPoolID: "p-" + id, LoadBalancerIDs: []string{id}}}
		var members []openstack.Member
		for _, place := range places {
			members = append(members, member(place))
		}
		o.pool("p-"+id, members...)
	})
}

// remove deletes a load balancer.
func (s *sky) remove(project string, ids ...string) {
	s.change(func() {
		o := s.octavias[project]
		o.balancers = slices.DeleteFunc(o.balancers, func(b openstack.LoadBalancer) bool { return slices.Contains(ids, b.ID) })
	})
}

// edit changes a load balancer.
func (s *sky) edit(project, id string, how func(*openstack.LoadBalancer)) {
	s.change(func() {
		for i := range s.octavias[project].balancers {
			if b := &s.octavias[project].balancers[i]; b.ID == id {
				how(b)
			}
		}
	})
}

// fail makes a question about a project fail, nil that it does not.
func (s *sky) fail(project, what string, err error) {
	s.change(func() { s.octavias[project].errs[what] = err })
}

// world is a cloud, a cluster and a discoverer between them, in a bubble of fake time.
type world struct {
	*testing.T
	*sky
	here     *fake.Clientset
	upstream *Upstream
	replica  *replica.Replica
	ledger   *report.Ledger
	meters   *telemetry.Meters
}

// inWorld runs a test. The namespaces and objects are there.
func inWorld(t *testing.T, s *sky, watchlist []string, here []runtime.Object, test func(*world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		for _, name := range []string{"shop", "bank", "blog"} {
			here = append(here, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		}
		w := &world{T: t, sky: s, here: clienttest.NewStrict(t, here...), ledger: report.NewLedger(clock.RealClock{})}
		queue := replica.NewQueue()
		w.meters = telemetry.New("us", "openstack", "v0", queue.Len)
		w.upstream = New(Options{
			Backend: "us", Cloud: s, Recognize: s.recognize, Contact: func(report.Response) {}, Watchlist: watchlist, Admits: anywhere, Threads: 3, Ledger: w.ledger, Subject: "backend", Meters: w.meters, Clock: clock.RealClock{},
		})
		client := clienttest.Client{Clientset: w.here}
		w.replica = replica.New(replica.Options{
			Backend: "us", Upstream: w.upstream, Client: client, Watching: client, Workers: 2, Resync: 30 * time.Minute,
			Ledger: w.ledger, Meters: w.meters, Clock: clock.RealClock{},
		}, queue)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		defer queue.ShutDown() // which Work does, when it has begun
		defer group.Wait()
		defer cancel()
		group.Go(func() { w.replica.Watch(ctx) })
		group.Go(func() { _ = w.replica.Work(ctx) })
		group.Go(func() { w.upstream.Run(ctx, clock.RealClock{}.NewTicker(period)) })
		w.after(time.Second)
		test(w)
	})
}

// after lets time pass.
func (w *world) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// writes returns what was written since the last call, each as verb resource, with how often.
func (w *world) writes() map[string]int {
	counts := map[string]int{}
	for _, action := range w.here.Actions() {
		if !slices.Contains([]string{"get", "list", "watch"}, action.GetVerb()) {
			counts[action.GetVerb()+" "+action.GetResource().Resource]++
		}
	}
	w.here.ClearActions()
	return counts
}

func (w *world) expectWrites(what string, want map[string]int) {
	w.Helper()
	if got := w.writes(); !maps.Equal(got, want) {
		w.Errorf("%s: writes %v, want %v", what, got, want)
	}
}

// expect wants these copies: "namespace/name address address".
func (w *world) expect(what string, want ...string) {
	w.Helper()
	services, err := w.here.CoreV1().Services("").List(w.Context(), metav1.ListOptions{})
	if err != nil {
		w.Fatal(err)
	}
	var got []string
	for _, service := range services.Items {
		parts, err := w.here.DiscoveryV1().EndpointSlices(service.Namespace).List(w.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=" + service.Name})
		if err != nil {
			w.Fatal(err)
		}
		text := []string{service.Namespace + "/" + service.Name}
		for _, part := range parts.Items {
			for _, e := range part.Endpoints {
				text = append(text, e.Addresses[0])
			}
		}
		got = append(got, strings.Join(text, " "))
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		w.Errorf("%s: copies %q, want %q", what, got, want)
	}
}

// expectProblems wants entries of these types with these texts in them: "Type: text".
func (w *world) expectProblems(what string, want ...string) {
	w.Helper()
	entries := w.ledger.Entries()
	fits := len(entries) == len(want)
	for i := 0; fits && i < len(want); i++ {
		kind, text, _ := strings.Cut(want[i], ": ")
		fits = entries[i].Type == kind && strings.Contains(entries[i].Message, text)
	}
	if !fits {
		w.Errorf("%s: problems %+v, want %q", what, entries, want)
	}
}

// copyOf returns the copy that a discoverer left of a load balancer of sky.add.
func copyOf(namespace, id string, places ...string) []runtime.Object {
	s := newSky("x " + namespace)
	s.add("x", id, places...)
	i := s.octavias["x"].inventory
	source, _ := i.translate(namespace, &i.balancers[0])
	objects := desired.Build("us", source)
	all := []runtime.Object{objects.Service}
	for _, slice := range objects.Slices {
		all = append(all, slice)
	}
	return all
}

// An error of OpenStack.
func rejected(reason openstack.Reason, status int) error {
	return &openstack.Error{Op: "list", Reason: reason, Status: status, Message: fmt.Sprintf("request req-%d", time.Now().UnixNano())}
}
