// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestNodesOfHosts checks that why and status name the Node of a host of MidoNet, and leave other ids as they are.
func TestNodesOfHosts(t *testing.T) {
	const host, port = "8a1e3f70-92c4-4d5b-b6a7-c05d8e9f1b23", "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-7", Annotations: map[string]string{midonetv1.AnnotationHostID: strings.ToUpper(host)}}}
	failing := translated("default", "pod.4.web", "p")
	failing.Status.Conditions = []metav1.Condition{condition("Ready", "False", "Refused", "no host "+host), condition("Stalled", "True", "Refused", "no host "+host)}
	failing.Status.Resources = []midonetv1.BackendResourceStatus{{Kind: "HostInterfacePort", Parent: host, ID: port, State: midonetv1.BackendResourceFailed, Message: "404"}}
	c, out := on(t, nil, node, failing)
	_ = c.why(t.Context(), kinds()[3], failing.Name, "")
	r, err := c.inspect(t.Context(), "default")
	if err != nil {
		t.Fatal(err)
	}
	c.printReport(r)
	for want, count := range map[string]int{
		"Refused: no host " + host + " (Node worker-7)":                                          2,
		"resource HostInterfacePort " + port + " of host " + host + " (Node worker-7) is Failed": 1,
	} {
		if strings.Count(out.String(), want) != count {
			t.Errorf("printed\n%s\nwant %q %d times", out, want, count)
		}
	}
}
