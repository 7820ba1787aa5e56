// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// clusters are a backend, this cluster, and a discoverer whose requests but those of its caches go through a gate.
type clusters struct {
	*testing.T
	gate        *faulttest.Gate
	there, here *kubetest.Server
	// start starts a process on its first step, and stop ends it.
	start func(ctx context.Context)
	stop  func()
	// failed is why the process ended on its own.
	failed atomic.Pointer[error]
	// wrong are copies that were deleted while their Services lived.
	wrong error
}

func newClusters(t *testing.T, g *faulttest.Gate) *clusters {
	t.Helper()
	byName := func(builder *fake.ClientBuilder) {
		builder.WithIndex(&corev1.Service{}, metav1.ObjectNameField, func(object client.Object) []string { return []string{object.GetName()} })
	}
	c := &clusters{T: t, gate: g, there: kubetest.Build(t, byName), here: kubetest.New(t)}
	c.there.Add(namespace(metav1.NamespaceSystem), service(metav1.NamespaceDefault, "kubernetes"))
	c.here.Add(namespace("shop"))
	c.here.Reject = func(w kubetest.Write) error {
		name, copied := strings.CutPrefix(w.Name, "us-")
		if copied && w.Verb == "delete" && w.Kind == "Service" && c.there.Find(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}) {
			c.wrong = fmt.Errorf("copy %s was deleted while its Service lived", w.Name)
		}
		return nil
	}
	c.restart()
	return c
}

// restart ends a process, and has another one start at the next step.
func (c *clusters) restart() {
	if c.stop != nil {
		c.stop()
	}
	c.stop = nil
	c.start = c.begin
}

// begin starts a process that leads.
func (c *clusters) begin(ctx context.Context) {
	queue := replica.NewQueue()
	meters := telemetry.New("us", "kubernetes", "v0", queue.Len)
	upstream := New(Options{
		Backend: "us", Client: kubetest.Typed(c.gate.Live(c.there.Uncached(), c.there)), Watching: kubetest.Typed(c.there.Watching()), Meters: meters, Clock: clock.RealClock{},
		Recognize: func(_ context.Context, observed []gimbalv1.ClusterIdentity) error {
			if len(observed) != 2 {
				return fmt.Errorf("the backend is recognized by %v", observed)
			}
			return nil
		},
	})
	r := replica.New(replica.Options{
		Backend: "us", Upstream: upstream, Client: kubetest.Typed(c.gate.Live(c.here.Uncached(), c.here)), Watching: kubetest.Typed(c.here.Watching()), Workers: 1, Resync: time.Hour,
		Ledger: report.NewLedger(clock.RealClock{}), Meters: meters, Clock: clock.RealClock{},
	}, queue)
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() { upstream.Watch(ctx) })
	group.Go(func() { r.Watch(ctx) })
	group.Go(func() {
		// An error ends the process, and another one follows.
		if err := r.Work(ctx); ctx.Err() == nil {
			c.failed.Store(&err)
		}
		queue.ShutDown()
	})
	c.start, c.stop = func(context.Context) {}, func() { cancel(); group.Wait() }
}

// step lets half a minute pass.
func (c *clusters) step(ctx context.Context) error {
	c.start(ctx)
	time.Sleep(30 * time.Second)
	synctest.Wait()
	if err := c.failed.Swap(nil); err != nil {
		c.restart()
		return *err
	}
	return nil
}

// oneByOne creates objects of the backend, each when the discoverer has dealt with the one before: every life has the same requests.
func (c *clusters) oneByOne(objects ...client.Object) {
	for _, object := range objects {
		c.there.Add(object)
		synctest.Wait()
	}
}

// content returns what is here, without what another client created with the name of a copy that is deleted.
func (c *clusters) content() []string {
	c.Helper()
	services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, err := range []error{c.here.List(c.Context(), services), c.here.List(c.Context(), parts)} {
		if err != nil {
			c.Fatal(err)
		}
	}
	var found []string
	for i := range services.Items {
		if s := &services.Items[i]; !c.gate.IsStranger(s, s.Namespace, s.Name) {
			var ports []string
			for _, port := range s.Spec.Ports {
				ports = append(ports, fmt.Sprint(port.Port))
			}
			found = append(found, s.Name+" "+strings.Join(ports, ","))
		}
	}
	for i := range parts.Items {
		if s := &parts.Items[i]; !c.gate.IsStranger(s, s.Namespace, s.Name) {
			var addresses []string
			for i := range s.Endpoints {
				addresses = append(addresses, s.Endpoints[i].Addresses...)
			}
			found = append(found, s.Labels[discoveryv1.LabelServiceName]+" at "+strings.Join(addresses, ","))
		}
	}
	slices.Sort(found)
	return found
}

// has returns what differs from what should be here. While another client has the name of the copy of Service web, or of its slice,
// there is none.
func (c *clusters) has(want ...string) func() string {
	slices.Sort(want)
	return func() string {
		service := c.gate.IsStranger(&corev1.Service{}, "shop", "us-web")
		part := c.gate.IsStranger(&discoveryv1.EndpointSlice{}, "shop", sliceName("web", "web-a"))
		possible := slices.DeleteFunc(slices.Clone(want), func(line string) bool {
			return service && strings.HasPrefix(line, "us-web ") || part && strings.HasPrefix(line, "us-web at ")
		})
		return cmp.Diff(possible, c.content())
	}
}

// TestEveryFault checks that the copies are what the backend has, and that no copy of a living Service and nothing of another client
// is deleted, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	// One of them sleeps until a while after the last error, which is later than anything in the next bubble.
	handlers := runtime.ErrorHandlers
	runtime.ErrorHandlers = handlers[:1:1]
	defer func() { runtime.ErrorHandlers = handlers }()
	faulttest.Loop{Bubble: true, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		c := newClusters(t, g)
		// What others have here.
		c.here.Add(service("shop", "mine"), labelled(service("shop", "eu-web"), map[string]string{gimbalv1.LabelBackend: "eu", gimbalv1.LabelService: "web"}))
		others := []string{"eu-web 80", "mine 80"}
		// Most copies of a discoverer that ran before have lost their Services meanwhile: that takes a second listing.
		for i := range 10 {
			name := fmt.Sprintf("s%d", i)
			s, e := service("shop", name), endpoints("shop", name, "a", "10.1.0.1")
			for _, object := range copied("us", s, e) {
				c.here.Add(object.(client.Object))
			}
			if i >= 8 {
				c.there.Add(s, e)
			}
		}
		living := append([]string{"us-s8 80", "us-s8 at 10.1.0.1", "us-s9 80", "us-s9 at 10.1.0.1"}, others...)
		has := func(more ...string) func() string { return c.has(append(more, living...)...) }
		var before faulttest.Inventory
		uids := func() faulttest.Inventory {
			return faulttest.Objects(t, c.here, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{})
		}
		web, api := service("shop", "web"), service("shop", "api")
		return &faulttest.Life{
			Step: c.step, Restart: c.restart,
			Freeze: func(all bool) {
				c.there.FreezeAround(&corev1.Service{})(all)
				c.here.FreezeAround(&corev1.Service{})(all)
			},
			Thaw: func() { c.there.CatchUp(); c.here.CatchUp() },
			Acts: []faulttest.Act{
				{Name: "deleted meanwhile", Do: func() { before = uids() }, Left: has()},
				{Name: "create", Do: func() {
					c.oneByOne(web, endpoints("shop", "web", "a", "10.1.0.1"), endpoints("shop", "web", "b", "10.1.0.2"))
				}, Left: has("us-web 80", "us-web at 10.1.0.1", "us-web at 10.1.0.2")},
				{Name: "change", Do: func() {
					c.there.Change(web, func() { web.Spec.Ports[0].Port = 81 })
					synctest.Wait()
					part := endpoints("shop", "web", "a")
					c.there.Change(part, func() { part.Endpoints[0].Addresses[0] = "10.1.0.3" })
					synctest.Wait()
					c.there.Remove(endpoints("shop", "web", "b"))
				}, Left: has("us-web 81", "us-web at 10.1.0.3")},
				{Name: "a user deletes a copy", Do: func() {
					c.here.Remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "us-web"}})
				}, Left: has("us-web 81", "us-web at 10.1.0.3")},
				{Name: "recreate", Do: func() {
					c.there.Remove(web)
					synctest.Wait()
					web = service("shop", "web")
					web.Spec.Ports[0].Port = 82
					c.there.Add(web)
				}, Left: has("us-web 82", "us-web at 10.1.0.3")},
				{Name: "a name of another client", Do: func() {
					c.here.Add(service("shop", "us-api"))
					c.oneByOne(api, endpoints("shop", "api", "a", "10.1.0.4"))
				}, Left: has("us-api 80", "us-web 82", "us-web at 10.1.0.3")},
				{Name: "delete", Do: func() {
					c.there.Remove(web)
					synctest.Wait()
					c.there.Remove(api)
					synctest.Wait()
					c.there.Remove(endpoints("shop", "web", "a"))
					c.there.Remove(endpoints("shop", "api", "a"))
				}, Left: has("us-api 80")},
			},
			Check: func() error {
				return errors.Join(c.wrong, faulttest.Living(before, uids(), func(name string) bool {
					return !slices.ContainsFunc([]string{"s8", "s9", "mine", "eu-web"}, func(kept string) bool { return strings.Contains(name, kept) })
				}))
			},
		}
	}}.Test(t)
}
