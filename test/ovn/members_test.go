// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// TestFollowersAreNotUsed checks that one of three members is used, its leader: what a follower has may be of the past.
func TestFollowersAreNotUsed(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{Members: 3})
	used := 0
	for _, endpoint := range server.Endpoints() {
		client, err := ovnbackend.NewClient(configv1alpha1.OVNConfiguration{Endpoints: []string{endpoint}, Timeout: &metav1.Duration{Duration: 30 * time.Second}}, prometheus.NewRegistry())
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		_, err = client.Transact(t.Context())
		switch {
		case err == nil:
			used++
		case !strings.Contains(err.Error(), "the server is not the leader of its cluster"):
			t.Errorf("%s: %v", endpoint, err)
		}
	}
	if used != 1 {
		t.Errorf("%d of three members are used, want 1", used)
	}
}

// TestLeaderChange kills the leader of three members while objects are written, each of them once, and restarts ovn-northd. Everything is
// written even so, none of it twice, and all of it is deleted at the end.
func TestLeaderChange(t *testing.T) {
	w := newWorldWith(t, ovnserver.Options{Northd: true, Members: 3})
	objects := cluster{nodes: []*corev1.Node{node("node-a", "0"), node("node-b", "1")}, services: map[*corev1.Service][]*discoveryv1.EndpointSlice{}}
	for round := range 3 {
		stopped := w.server.KillLeader(t)
		for i := range 5 {
			number := round*5 + i
			objects.pods = append(objects.pods, pod(fmt.Sprintf("web-%d", number), "node-a", "0", fmt.Sprint(10+number)))
			web := service(fmt.Sprintf("web-%d", number), fmt.Sprintf("10.0.0.%d", 10+number))
			objects.services[web] = []*discoveryv1.EndpointSlice{slice(discoveryv1.AddressTypeIPv4, fmt.Sprintf("10.1.0.%d", 10+number))}
		}
		objects.policies = append(objects.policies, &networkingv1.NetworkPolicy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("np-%d", round), UID: types.UID(fmt.Sprintf("np-%d", round))},
			Spec:       ingress(&metav1.LabelSelector{}, from(nil, peer{PodSelector: &metav1.LabelSelector{}})),
		})
		w.apply(objects)
		w.server.RestartNorthd(t)
		w.server.StartMember(t, stopped)
		w.server.Nbctl(t, "--wait=sb", "sync")
		if got := w.trace(packet{pod: objects.pods[0], destination: objects.pods[len(objects.pods)-1].Status.PodIP, port: 80, via: strings.Repeat("--ct=new ", 6)}); !strings.Contains(got, fmt.Sprintf(`output("default_web-%d")`, round*5+4)) {
			t.Errorf("after leader change %d a packet to the last Pod gets %q", round, got)
		}
	}
	var ports []string
	for line := range strings.Lines(w.server.Nbctl(t, "--bare", "--columns=name", "list", "Logical_Switch_Port")) {
		if name := strings.TrimSpace(line); strings.HasPrefix(name, "default_web-") {
			ports = append(ports, name)
		}
	}
	slices.Sort(ports)
	if got := len(slices.Compact(ports)); got != len(objects.pods) {
		t.Errorf("%d ports, want %d", got, len(objects.pods))
	}

	// Tampering, and then everything is deleted.
	before := w.rows()
	for _, change := range [][]string{{"--all", "destroy", "ACL"}, {"--all", "destroy", "Port_Group"}, {"lsp-del", "default_web-0"}} {
		w.server.Nbctl(t, change...)
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		report, err := w.engine.Drift(t.Context())
		if err == nil && report.Drifted == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("report = %+v, %v", report, err)
		}
		w.settle()
	}
	if got := w.rows(); got != before {
		t.Errorf("the rows are\n%s\nwant\n%s", got, before)
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
