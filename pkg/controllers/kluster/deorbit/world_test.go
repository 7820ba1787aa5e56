// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid/self"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

const (
	ownUID   types.UID = "own-cluster"
	otherUID types.UID = "workload-cluster"
)

func config() (config configv1alpha1.KlusterConfiguration) {
	of := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	config.OpenStack.Timeout, config.ClusterAPI.VerifyTimeout = of(30*time.Second), of(4*time.Hour)
	config.Deorbit = configv1alpha1.DeorbitConfiguration{
		Timeout: of(24 * time.Hour), StageTimeout: of(time.Hour), APIUnavailableTimeout: of(2 * time.Minute), ServiceGracePeriod: of(2 * time.Minute),
		PollInterval: of(15 * time.Second),
	}
	return config
}

// call is a check that reached a system.
type call struct {
	kluster string
	stage   kubernikusv1.DeorbitStage
	work    stage.Work
}

// script is all systems, and what they respond: by default that there is nothing to do.
type script struct {
	mu    sync.Mutex
	calls []call
	// The report of a stage; nil: nothing.
	response func(ctx context.Context, c call) (stage.Report, error)
	// id and openErr are what the workload cluster and OpenStack respond first.
	id      func(ctx context.Context) (types.UID, error)
	openErr error
	// thaws counts lifted freezes, unless thawErr rejects them.
	thaws   int
	thawErr error
	closed  int
	config  *rest.Config
}

func (s *script) run(ctx context.Context, which kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error) {
	c := call{kluster: w.Kluster.Name, stage: which, work: w}
	s.mu.Lock()
	s.calls = append(s.calls, c)
	response := s.response
	s.mu.Unlock()
	if response == nil {
		return stage.Report{}, nil
	}
	return response(ctx, c)
}

func (s *script) withdraw(ctx context.Context, k *kubernikusv1.Kluster) (stage.Report, error) {
	return s.run(ctx, drain, stage.Work{Kluster: k})
}

func (s *script) connect(config *rest.Config) (workload, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config = config
	return scriptedCluster{s}, nil
}

func (s *script) open(context.Context, *kubernikusv1.Kluster, *corev1.Secret) (project, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return scriptedProject{s}, s.openErr
}

type scriptedCluster struct{ *script }

func (c scriptedCluster) Run(ctx context.Context, which kubernikusv1.DeorbitStage, w stage.Work) (stage.Report, error) {
	return c.run(ctx, which, w)
}

func (c scriptedCluster) ID(ctx context.Context) (types.UID, error) {
	c.mu.Lock()
	id := c.id
	c.mu.Unlock()
	if id == nil {
		return otherUID, nil
	}
	return id(ctx)
}

func (c scriptedCluster) Thaw(context.Context) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.thawErr != nil {
		return false, c.thawErr
	}
	c.thaws++
	return true, nil
}

func (c scriptedCluster) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed++
}

type scriptedProject struct{ *script }

func (p scriptedProject) verify(ctx context.Context, w stage.Work, _ []kubernikusv1.Kluster) (stage.Report, error) {
	return p.run(ctx, verify, w)
}

func (p scriptedProject) routes(ctx context.Context, w stage.Work, _ []kubernikusv1.Kluster) (stage.Report, error) {
	return p.run(ctx, routes, w)
}

// stages returns the calls so far, in their order.
func (s *script) stages() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for _, c := range s.calls {
		names = append(names, string(c.stage))
	}
	return strings.Join(names, " ")
}

// It makes a stage report something from now on.
func (s *script) respond(response func(ctx context.Context, c call) (stage.Report, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.response, s.calls = response, nil
}

// flow is the controller on a store and scripted systems.
type flow struct {
	*script
	t        *testing.T
	store    *kubetest.Server
	r        *reconciler
	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
	queue    workqueue.TypedRateLimitingInterface[reconcile.Request]
	registry *prometheus.Registry
	// lost is the response of the fence.
	lost error
}

const kubeconfig = `{kind: Config, apiVersion: v1, current-context: c, clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}],
  users: [{name: u, user: {token: t}}], contexts: [{name: c, context: {cluster: c, user: u}}]}`

func secretOf(name string) *corev1.Secret {
	return klustertest.Secret(name, "https://keystone.example/v3", "gardener", "password", "garden", map[string][]byte{"kubeconfig": []byte(kubeconfig)})
}

func newFlow(t *testing.T, objects ...client.Object) *flow {
	t.Helper()
	f := &flow{script: &script{}, t: t, clock: clocktesting.NewFakePassiveClock(epoch), recorder: events.NewFakeRecorder(1000)}
	system := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem, UID: ownUID}}
	f.store = klustertest.NewStore(t, append(objects, system)...)
	f.queue = klustertest.Queue(t)
	f.restart()
	return f
}

// restart is a new process on the same store.
func (f *flow) restart() {
	f.t.Helper()
	f.registry = prometheus.NewRegistry()
	meters, err := NewMeters(f.registry)
	if err != nil {
		f.t.Fatal(err)
	}
	f.r = &reconciler{
		client: f.store.Client(), live: f.store.Live(), systems: systems{f.withdraw, f.connect, f.open}, config: config(), fence: func() error { return f.lost },
		clock: f.clock, recorder: f.recorder, meters: meters,
		clusters: kluster.ClusterPool[observed](time.Minute), clouds: kluster.CloudPool[observed](time.Minute),
		self: self.Cluster{Reader: f.store.Live()},
	}
	f.r.clouds.Clock = f.clock
	for _, pool := range f.r.pools() {
		if err := pool.Start(f.t.Context(), f.queue); err != nil {
			f.t.Fatal(err)
		}
	}
}

// A Kluster that is being deleted, whose Secret leads into a cluster.
func deleted(name string, changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
	return klustertest.Kluster(name, append([]func(*kubernikusv1.Kluster){klustertest.Going}, changes...)...)
}

func (f *flow) reconcile(k *kubernikusv1.Kluster) reconcile.Result {
	f.t.Helper()
	result, err := f.r.Reconcile(f.t.Context(), reconcile.Request{NamespacedName: client.ObjectKeyFromObject(k)})
	if err != nil {
		f.t.Fatal(err)
	}
	return result
}

// turn reconciles until nothing is due and no check is running. It returns the time until the next reconcile.
func (f *flow) turn(k *kubernikusv1.Kluster) time.Duration {
	f.t.Helper()
	key := client.ObjectKeyFromObject(k)
	result := f.reconcile(k)
	for f.r.clusters.Running(key) || f.r.clouds.Running(key) || f.queue.Len() > 0 {
		request, _ := f.queue.Get()
		f.queue.Done(request)
		result = f.reconcile(k)
	}
	return result.RequeueAfter
}

// after advances the clock before a turn.
func (f *flow) after(d time.Duration, k *kubernikusv1.Kluster) time.Duration {
	f.t.Helper()
	f.clock.SetTime(f.clock.Now().Add(d))
	return f.turn(k)
}

// is checks stage and condition of a Kluster.
func (f *flow) is(k *kubernikusv1.Kluster, which kubernikusv1.DeorbitStage, condition string) {
	f.t.Helper()
	if !f.store.Find(k) {
		f.t.Fatal("the Kluster has been deleted")
	}
	got := klustertest.Condition(k, kubernikusv1.ConditionDeorbited)
	if k.Status.Deorbit == nil || k.Status.Deorbit.Stage != which || got != condition {
		f.t.Errorf("it is %s in %+v, want %s in %s", got, k.Status.Deorbit, condition, which)
	}
}

// The events since the last call.
func (f *flow) reported() string { return strings.Join(kubetest.Events(f.recorder), "\n") }
