// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// TestTunnelEndpointFollows checks that the address that the annotator wrote follows that of the Node, and that a different one of
// another client is reported and not changed.
func TestTunnelEndpointFollows(t *testing.T) {
	const ip, written = midonetv1.AnnotationTunnelEndpointIP, midonetv1.AnnotationWrittenTunnelEndpointIP
	const old, current = "192.0.2.1", "192.0.2.2"
	for name, tc := range map[string]struct {
		addresses   []string
		annotations map[string]string
		// want are the two annotations afterwards, patches how many requests that took.
		want    map[string]string
		patches int
		event   string
	}{
		"it was written":                   {[]string{current}, map[string]string{ip: old, written: old}, map[string]string{ip: current, written: current}, 1, "Normal NodeAnnotated"},
		"it is current":                    {[]string{current}, map[string]string{ip: current, written: current}, map[string]string{ip: current, written: current}, 0, ""},
		"it is another of the node's":      {[]string{current, old}, map[string]string{ip: old, written: old}, map[string]string{ip: old, written: old}, 0, ""},
		"the node has no address":          {nil, map[string]string{ip: old, written: old}, map[string]string{ip: old, written: old}, 0, ""},
		"the node has no IPv4 address":     {[]string{"fd00::1"}, map[string]string{ip: old, written: old}, map[string]string{ip: old, written: old}, 0, ""},
		"another client set it":            {[]string{current}, map[string]string{ip: old}, map[string]string{ip: old}, 0, "Warning TunnelEndpointDiffers"},
		"another client set it unchanged":  {[]string{current}, map[string]string{ip: current}, map[string]string{ip: current}, 0, ""},
		"another client changed it":        {[]string{current}, map[string]string{ip: "192.0.2.9", written: old}, map[string]string{ip: "192.0.2.9"}, 1, "Warning TunnelEndpointDiffers"},
		"another client set it to nothing": {[]string{current}, map[string]string{ip: "", written: old}, map[string]string{ip: ""}, 1, ""},
		"another client set it to no IP":   {[]string{current}, map[string]string{ip: "x"}, map[string]string{ip: "x"}, 0, ""},
		"another client removed it":        {[]string{current}, map[string]string{written: old}, map[string]string{ip: current, written: current}, 1, "Normal NodeAnnotated"},
		"it differs, and no address known": {nil, map[string]string{ip: old}, map[string]string{ip: old}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := testNode("a", tc.addresses...)
			node.Annotations = map[string]string{midonetv1.AnnotationHostID: "h", midonetv1.AnnotationTunnelZoneID: ""}
			for name, value := range tc.annotations {
				node.Annotations[name] = value
			}
			w := newWorld(t, node)
			w.hosts = several{{ID: "h", Name: "a"}}
			w.restart()
			w.pass("a", tc.patches)
			w.pass("a", 0)
			got := w.node("a").Annotations
			delete(got, midonetv1.AnnotationHostID)
			delete(got, midonetv1.AnnotationTunnelZoneID)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
			events := w.events()
			if tc.event == "" && len(events) > 0 || tc.event != "" && (len(events) != 1 || !strings.HasPrefix(events[0], tc.event)) {
				t.Errorf("events = %q, want %q", events, tc.event)
			}
			differing := 0.0
			if tc.event == "Warning TunnelEndpointDiffers" {
				differing = 1
			}
			if got := testutil.ToFloat64(w.meters.differing.WithLabelValues(reasonDiffers)); got != differing {
				t.Errorf("differing nodes = %v, want %v", got, differing)
			}
		})
	}
}

// TestTunnelEndpointOfNodeBeingDeleted checks that a Node that waits for a finalizer keeps its tunnels, which follow its address,
// and gets no missing annotations.
func TestTunnelEndpointOfNodeBeingDeleted(t *testing.T) {
	const ip, written = midonetv1.AnnotationTunnelEndpointIP, midonetv1.AnnotationWrittenTunnelEndpointIP
	node := testNode("a", "192.0.2.2")
	node.Finalizers = []string{"example.com/wait"}
	node.Annotations = map[string]string{ip: "192.0.2.1", written: "192.0.2.1"}
	w := newWorld(t, node)
	w.midonet.AddHost("a")
	w.store.Remove(node)
	w.pass("a", 1)
	w.pass("a", 0)
	if diff := cmp.Diff(map[string]string{ip: "192.0.2.2", written: "192.0.2.2"}, w.node("a").Annotations); diff != "" {
		t.Errorf("annotations (-want +got):\n%s", diff)
	}
}

// TestTunnelEndpointDiffersNoMore checks that the report ends with the difference, or with the Node.
func TestTunnelEndpointDiffersNoMore(t *testing.T) {
	node := testNode("a", "192.0.2.2")
	node.Annotations = map[string]string{midonetv1.AnnotationHostID: "h", midonetv1.AnnotationTunnelZoneID: "", midonetv1.AnnotationTunnelEndpointIP: "192.0.2.1"}
	w := newWorld(t, node)
	w.hosts = several{{ID: "h", Name: "a"}}
	w.restart()
	differing := func() float64 { return testutil.ToFloat64(w.meters.differing.WithLabelValues(reasonDiffers)) }
	w.pass("a", 0)
	want := "Warning TunnelEndpointDiffers annotation midonet.org/tunnel-endpoint-ip is 192.0.2.1, and the InternalIP of the node is 192.0.2.2: " +
		"correct the annotation, or remove it to have it updated automatically"
	if got := w.events(); len(got) != 1 || got[0] != want {
		t.Errorf("events = %q, want %q", got, want)
	}
	w.store.Change(node, func() { node.Annotations[midonetv1.AnnotationTunnelEndpointIP] = "192.0.2.2" })
	w.pass("a", 0)
	if got := differing(); got != 0 {
		t.Errorf("differing nodes = %v, want 0", got)
	}
	w.store.ChangeStatus(node, func() { node.Status.Addresses = testNode("a", "192.0.2.3").Status.Addresses })
	w.pass("a", 0)
	if got := differing(); got != 1 {
		t.Errorf("differing nodes = %v, want 1", got)
	}
	w.store.Remove(node)
	w.pass("a", 0)
	if got := differing(); got != 0 {
		t.Errorf("differing nodes = %v, want 0", got)
	}
}
