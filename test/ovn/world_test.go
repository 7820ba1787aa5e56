// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/engine"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// tenant is part of all ids.
const tenant = "cluster"

// alone is a leader without an election.
type alone struct{}

func (alone) Check() error          { return nil }
func (alone) Term() ovnbackend.Term { return ovnbackend.Term{} }

func (alone) Cluster(context.Context) (string, error) { return "cluster", nil }

// world is a cluster on a real OVN: the objects, their Translations, and the engine that pushes these.
type world struct {
	t      testing.TB
	server *ovnserver.Server
	driver *counting
	engine *engine.Engine
	claims map[types.NamespacedName]engine.Claim
	// endpoint replaces that of the server, if it is set.
	endpoint string
}

// counting counts the writes that succeed. What a new process does not know to exist it tries to create.
type counting struct {
	*ovnbackend.Backend
	count atomic.Int64
	mu    sync.Mutex
	// writes are what was written, for messages.
	writes []string
}

func (c *counting) Create(ctx context.Context, r backend.Resource, position int) error {
	return c.counted("create", r.Ref, c.Backend.Create(ctx, r, position))
}

func (c *counting) Update(ctx context.Context, r backend.Resource) error {
	return c.counted("update", r.Ref, c.Backend.Update(ctx, r))
}

func (c *counting) Delete(ctx context.Context, ref backend.Ref) error {
	return c.counted("delete", ref, c.Backend.Delete(ctx, ref))
}

func (c *counting) counted(verb string, ref backend.Ref, err error) error {
	if err == nil {
		c.count.Add(1)
		c.mu.Lock()
		defer c.mu.Unlock()
		c.writes = append(c.writes, fmt.Sprintf("%s %s %s", verb, ref.Kind, ref.ID))
	}
	return err
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return newWorldWith(t, ovnserver.Options{Northd: true})
}

func newWorldWith(t testing.TB, o ovnserver.Options) *world {
	t.Helper()
	w := &world{t: t, server: ovnserver.Start(t, o), claims: map[types.NamespacedName]engine.Claim{}}
	w.restart()
	return w
}

// restart is another process, which knows of the backend what the Translations report.
func (w *world) restart() {
	w.t.Helper()
	endpoints := w.server.Endpoints()
	if w.endpoint != "" {
		endpoints = []string{w.endpoint}
	}
	client, err := ovnbackend.NewClient(configv1alpha1.OVNConfiguration{Endpoints: endpoints, Timeout: &metav1.Duration{Duration: 30 * time.Second}}, prometheus.NewRegistry())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(client.Close)
	w.driver = &counting{Backend: ovnbackend.New(client, tenant, alone{}, w.emitter().Derives)}
	w.engine = engine.New(w.driver, engine.Options{Mode: engine.Repair, DeleteOrphans: true, Concurrency: 16})
	for _, claim := range w.claims {
		w.engine.Observe(claim)
	}
}

// put has the Translations of an object be those of a result.
func (w *world) put(owner string, result convert.Result) {
	w.t.Helper()
	if result.Waiting != nil {
		w.t.Fatalf("%s waits: %s", owner, result.Waiting.Message)
	}
	wanted := map[types.NamespacedName]bool{}
	for _, translation := range result.Translations {
		name := types.NamespacedName{Namespace: translation.Namespace, Name: translation.Name}
		wanted[name] = true
		var items []backend.Item
		for _, r := range translation.Resources {
			items = append(items, backend.Item{Kind: r.Kind, Parent: r.Parent, Body: r.Body})
		}
		// Earlier pushes are reported by the engine, and stored like the status of a Translation.
		w.observe(engine.Claim{Name: name, UID: types.UID(name.String()), Created: time.Unix(1, 0), Owner: owner, Current: true, Items: engine.Listed(items)})
	}
	for name, claim := range w.claims {
		if claim.Owner == owner && !wanted[name] {
			claim.Deleting = true
			w.observe(claim)
		}
	}
}

func (w *world) observe(claim engine.Claim) {
	w.claims[claim.Name] = claim
	w.engine.Observe(claim)
}

// settle pushes all Translations until all are in sync, and waits until ovn-northd has made flows of them.
func (w *world) settle() {
	w.t.Helper()
	w.sync()
	w.server.Nbctl(w.t, "--wait=sb", "sync")
}

// sync pushes all Translations in a random order until all are in sync.
func (w *world) sync() {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		open := w.push()
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("not in sync: %v", open)
		}
	}
}

// push pushes each Translation once, and returns what is not in sync.
func (w *world) push() map[types.NamespacedName]string {
	w.t.Helper()
	names := make([]types.NamespacedName, 0, len(w.claims))
	for name := range w.claims {
		names = append(names, name)
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	open := map[types.NamespacedName]string{}
	for _, name := range names {
		outcome, err := w.engine.Push(w.t.Context(), name)
		switch {
		case errors.Is(err, engine.ErrUnknownClaim):
		case err != nil:
			w.t.Fatalf("push %s: %v", name, err)
		case outcome.Deleted:
			w.engine.Discard(name)
			delete(w.claims, name)
		case outcome.Reason != engine.ReasonSynced:
			open[name] = string(outcome.Reason) + ": " + outcome.Message
		}
	}
	return open
}

// cluster are objects.
type cluster struct {
	nodes      []*corev1.Node
	pods       []*corev1.Pod
	services   map[*corev1.Service][]*discoveryv1.EndpointSlice
	namespaces []*corev1.Namespace
	policies   []*networkingv1.NetworkPolicy
}

// emitter converts objects.
func (w *world) emitter() convert.OVN {
	return convert.OVN{Config: convert.Config{Tenant: tenant, NodeAddressTypes: []corev1.NodeAddressType{corev1.NodeInternalIP},
		ServiceTypes: []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort}}}
}

// apply converts and pushes all objects.
func (w *world) apply(c cluster) {
	w.t.Helper()
	w.convert(c)
	w.settle()
}

// convert has the Translations be those of the objects.
func (w *world) convert(c cluster) {
	w.t.Helper()
	emitter := w.emitter()
	present := map[string]bool{}
	w.put("globals", emitter.Globals())
	namespaces := map[string]*corev1.Namespace{}
	for _, namespace := range append([]*corev1.Namespace{{ObjectMeta: metav1.ObjectMeta{Name: "default"}}}, c.namespaces...) {
		namespaces[namespace.Name] = namespace
		w.put("Namespace "+namespace.Name, emitter.Namespace(namespace))
	}
	scope := convert.Scope{Translated: func(*convert.Policy, string) bool { return true }}
	for _, policy := range c.policies {
		read := convert.ReadPolicy(policy)
		scope.Policies = append(scope.Policies, read)
		present["NetworkPolicy "+policy.Name] = true
		logging, _ := convert.LoggingOf(namespaces[policy.Namespace])
		w.put("NetworkPolicy "+policy.Name, emitter.NetworkPolicy(read, slices.Collect(maps.Values(namespaces)), c.pods, logging))
	}
	byName := map[string]*corev1.Node{}
	for _, node := range c.nodes {
		byName[node.Name] = node
		present["Node "+node.Name] = true
		w.put("Node "+node.Name, emitter.Node(node, nil))
	}
	for _, pod := range c.pods {
		scope.Namespace = namespaces[pod.Namespace].Labels
		present["Pod "+pod.Namespace+"/"+pod.Name] = true
		w.put("Pod "+pod.Namespace+"/"+pod.Name, emitter.Pod(pod, byName[pod.Spec.NodeName], scope))
	}
	for service, endpoints := range c.services {
		present["Service "+service.Name] = true
		w.put("Service "+service.Name, emitter.Service(service, endpoints, nil))
	}
	for _, claim := range w.claims {
		if kind, _, _ := strings.Cut(claim.Owner, " "); slices.Contains([]string{"NetworkPolicy", "Node", "Pod", "Service"}, kind) && !present[claim.Owner] {
			w.put(claim.Owner, convert.Result{})
		}
	}
}

func node(name, number string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
	n.Spec.PodCIDR, n.Spec.PodCIDRs = "10.1."+number+".0/24", []string{"10.1." + number + ".0/24", "fd01:0:0:" + number + "::/64"}
	n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.1" + number}}
	return n
}

func pod(name, onNode, number, last string) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName, p.Status.Phase, p.Status.PodIP = onNode, corev1.PodRunning, "10.1."+number+"."+last
	p.Status.PodIPs = []corev1.PodIP{{IP: p.Status.PodIP}, {IP: "fd01:0:0:" + number + "::" + last}}
	return p
}

func service(name string, addresses ...string) *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}}
	s.Spec.Type, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeClusterIP, addresses[0], addresses
	s.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}}
	return s
}

func slice(kind discoveryv1.AddressType, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: string(kind)}, AddressType: kind}
	s.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}}
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return s
}
