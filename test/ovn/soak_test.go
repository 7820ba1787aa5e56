// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// rounds is how many there are of a random test.
func rounds(t *testing.T) int {
	t.Helper()
	return soaktest.Rounds(t, 4)
}

// TestSoakOVN changes objects at random while the leader of the database is killed, ovn-northd and the pusher restart in the middle of
// their work, and another client deletes rows. After each round the database has what the objects specify, which a pusher without
// memory confirms, and at the end nothing.
func TestSoakOVN(t *testing.T) {
	w := newWorldWith(t, ovnserver.Options{Northd: true, Members: 3})
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, services: map[*corev1.Service][]*discoveryv1.EndpointSlice{}}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for round := range rounds(t) {
		objects.change(random, round)
		w.convert(objects)
		stopped := -1
		switch random.IntN(5) {
		case 0:
			stopped = w.server.KillLeader(t)
		case 1:
			w.push() // each once, in a random order
			w.restart()
		case 2:
			w.server.RestartNorthd(t)
		case 3:
			tables := []string{"ACL", "Port_Group", "Load_Balancer", "Logical_Switch_Port", "Logical_Router_Static_Route"}
			table := tables[random.IntN(len(tables))]
			w.server.Nbctl(t, "--all", "destroy", table)
			if _, err := w.engine.Drift(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.settle()
		if stopped >= 0 {
			w.server.StartMember(t, stopped)
		}
		w.restart()
		w.settle()
		if w.driver.count.Load() != 0 {
			t.Fatalf("round %d: a pusher without memory wrote %d times: %v", round, w.driver.count.Load(), w.driver.writes)
		}
		if report, err := w.engine.Drift(t.Context()); err != nil || report.Drifted+report.Orphans != 0 {
			t.Fatalf("round %d: report = %+v, %v", round, report, err)
		}
	}
	for _, claim := range slices.Collect(maps.Values(w.claims)) {
		claim.Deleting = true
		w.observe(claim)
	}
	w.settle()
	if rest := w.rows(); rest != "" {
		t.Errorf("what is left of the tenant is %q", rest)
	}
}

// change adds, changes and removes some objects.
func (c *cluster) change(random *rand.Rand, round int) {
	changed := c.nodes[random.IntN(len(c.nodes))]
	changed.Status.Addresses = append(changed.Status.Addresses[:1:1], corev1.NodeAddress{Type: corev1.NodeExternalIP, Address: fmt.Sprintf("203.0.113.%d", random.IntN(200))})
	for i := range 1 + random.IntN(3) {
		number := 10 + (round*3+i)%200
		if slices.ContainsFunc(c.pods, func(p *corev1.Pod) bool { return p.Name == fmt.Sprintf("pod-%d", number) }) {
			continue
		}
		on := random.IntN(2)
		p := pod(fmt.Sprintf("pod-%d", number), []string{"node-a", "node-b"}[on], strconv.Itoa(on), strconv.Itoa(number))
		p.Labels = map[string]string{"app": strconv.Itoa(random.IntN(3))}
		c.pods = append(c.pods, p)
	}
	for len(c.pods) > 2 && random.IntN(2) == 0 {
		i := random.IntN(len(c.pods))
		c.pods = slices.Delete(c.pods, i, i+1)
	}
	c.pods[random.IntN(len(c.pods))].Labels = map[string]string{"app": strconv.Itoa(random.IntN(3))}
	maps.DeleteFunc(c.services, func(*corev1.Service, []*discoveryv1.EndpointSlice) bool { return random.IntN(6) == 0 })
	if len(c.services) < 5 {
		c.services[service(fmt.Sprintf("service-%d", round), fmt.Sprintf("10.0.0.%d", 10+round%200))] = nil
	}
	for s := range c.services {
		var addresses []string
		for _, p := range c.pods {
			if random.IntN(2) == 0 {
				addresses = append(addresses, p.Status.PodIP)
			}
		}
		c.services[s] = []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, addresses...)}
	}
	c.policies = nil
	for i := range random.IntN(4) {
		p := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("np-%d", i), UID: types.UID(strconv.Itoa(i))}}
		p.Spec = ingress(labelled("app", strconv.Itoa(random.IntN(3))), from(nil, peer{PodSelector: labelled("app", strconv.Itoa(random.IntN(3)))}))
		if random.IntN(2) == 0 {
			p.Spec = egress(&metav1.LabelSelector{}, to(ports{at(corev1.ProtocolTCP, 80+random.IntN(3))}, peer{NamespaceSelector: &metav1.LabelSelector{}}))
		}
		c.policies = append(c.policies, p)
	}
}
