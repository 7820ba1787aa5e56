// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// TestACLsOfEarlierVersion checks that ACLs without names, and the priority that isolation had, are changed in place, each with one write,
// and that nothing else is written.
func TestACLsOfEarlierVersion(t *testing.T) {
	w := newWorldWith(t, ovnserver.Options{})
	policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "np", UID: "np"},
		Spec: ingress(labelled("app", "web"), from(ports{at(corev1.ProtocolTCP, 80)}), from(ports{at(corev1.ProtocolTCP, 81)}))}
	w.convert(cluster{nodes: []*corev1.Node{node("node-a", "0")}, pods: []*corev1.Pod{pod("web-0", "node-a", "0", "10")}, policies: []*networkingv1.NetworkPolicy{policy}})
	w.sync()
	rows := func() []string {
		return slices.Sorted(slices.Values(strings.Split(w.server.Nbctl(t, "--bare", "--columns=_uuid,name,priority,match", "list", "ACL"), "\n\n")))
	}
	current := rows()
	find := func(condition ...string) []string {
		return strings.Fields(w.server.Nbctl(t, append([]string{"--bare", "--columns=_uuid", "find", "ACL"}, condition...)...))
	}
	named, isolation := find("name!=[]"), find("action=drop")
	if len(named) != 2 || len(isolation) != 2 {
		t.Fatalf("ACLs with names are %q, those of isolated Pods %q, want two each", named, isolation)
	}
	for _, id := range named {
		w.server.Nbctl(t, "clear", "ACL", id, "name")
	}
	for _, id := range isolation {
		w.server.Nbctl(t, "set", "ACL", id, "priority=1000")
	}
	w.restart()
	w.sync()
	if got := w.driver.writes; len(got) != 4 || strings.Count(strings.Join(got, " "), "update ACL") != 4 {
		t.Errorf("writes = %q, want four updates of ACLs", got)
	}
	if got := rows(); !slices.Equal(got, current) {
		t.Errorf("ACLs are %q, want %q", got, current)
	}
}
