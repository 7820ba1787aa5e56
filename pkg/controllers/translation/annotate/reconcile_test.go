// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

func TestMissing(t *testing.T) {
	const id, zone, ip = midonetv1.AnnotationHostID, midonetv1.AnnotationTunnelZoneID, midonetv1.AnnotationTunnelEndpointIP
	typed := func(kind corev1.NodeAddressType, address string) *corev1.Node {
		node := testNode("a")
		node.Status.Addresses = []corev1.NodeAddress{{Type: kind, Address: address}}
		return node
	}
	with := func(annotations map[string]string) *corev1.Node {
		node := testNode("a", "192.0.2.1")
		node.Annotations = annotations
		return node
	}
	for name, tc := range map[string]struct {
		node *corev1.Node
		want map[string]string
	}{
		"all":                  {testNode("a", "192.0.2.1"), map[string]string{id: "h", zone: "", ip: "192.0.2.1"}},
		"the first address":    {testNode("a", "192.0.2.2", "192.0.2.1"), map[string]string{id: "h", zone: "", ip: "192.0.2.2"}},
		"the first of IPv4":    {testNode("a", "fd00::1", "192.0.2.1"), map[string]string{id: "h", zone: "", ip: "192.0.2.1"}},
		"only IPv6":            {testNode("a", "fd00::1"), map[string]string{id: "h", zone: ""}},
		"no address":           {testNode("a"), map[string]string{id: "h", zone: ""}},
		"no valid address":     {testNode("a", "host"), map[string]string{id: "h", zone: ""}},
		"external address":     {typed(corev1.NodeExternalIP, "192.0.2.1"), map[string]string{id: "h", zone: ""}},
		"all there":            {with(map[string]string{id: "x", zone: "y", ip: "z"}), map[string]string{}},
		"all there, and empty": {with(map[string]string{id: "", zone: "", ip: ""}), map[string]string{}},
		"no host-id":           {with(map[string]string{zone: "y", ip: "z"}), map[string]string{id: "h"}},
		"no zone":              {with(map[string]string{id: "x", ip: "z"}), map[string]string{zone: ""}},
		"no endpoint":          {with(map[string]string{id: "x", zone: "y"}), map[string]string{ip: "192.0.2.1"}},
		"others":               {with(map[string]string{"other": "x"}), map[string]string{id: "h", zone: "", ip: "192.0.2.1"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]string{}
			for name, value := range changes(tc.node, "h") {
				if !slices.Contains(records(), name) {
					got[name] = *value
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestAnnotate checks that a Node gets all missing annotations with one request and none after that, and that one list serves all
// Nodes.
func TestAnnotate(t *testing.T) {
	w := newWorld(t, testNode("a", "192.0.2.1"), testNode("b", "192.0.2.2"))
	a, b := w.midonet.AddHost("a"), w.midonet.AddHost("b")
	w.pass("a", 1)
	want := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q,%q:%q,%q:%q,%q:""},"resourceVersion":"999"}}`, midonetv1.AnnotationWrittenHostID, a, midonetv1.AnnotationWrittenTunnelEndpointIP, "192.0.2.1",
		midonetv1.AnnotationHostID, a, midonetv1.AnnotationTunnelEndpointIP, "192.0.2.1", midonetv1.AnnotationTunnelZoneID)
	if got := w.store.Log()[0].Patch; got != want {
		t.Errorf("patch = %s, want %s", got, want)
	}
	w.pass("b", 1)
	if got := w.node("b").Annotations[midonetv1.AnnotationHostID]; got != b {
		t.Errorf("b has host %s", got)
	}
	wantEvent := fmt.Sprintf(`Normal NodeAnnotated the node was annotated: midonet.org/host-id=%q, midonet.org/tunnel-endpoint-ip="192.0.2.1", midonet.org/tunnel-zone-id=""`, a)
	if got := w.events(); len(got) != 2 || got[0] != wantEvent {
		t.Errorf("events %q", got)
	}
	w.restart()
	w.pass("a", 0)
	w.pass("b", 0)
	if got := w.listings(); got != 2 { // one before the restart
		t.Errorf("%d listings", got)
	}
	if got := testutil.ToFloat64(w.meters.annotated); got != 2 {
		t.Errorf("%v annotated", got)
	}
}

// TestNothingIsOverwritten checks that existing annotations remain, whatever they contain, and that a host-id that no host has is reported.
func TestNothingIsOverwritten(t *testing.T) {
	node := testNode("a", "192.0.2.1")
	node.Annotations = map[string]string{midonetv1.AnnotationHostID: "not a uuid", midonetv1.AnnotationTunnelEndpointIP: ""}
	w := newWorld(t, node)
	w.midonet.AddHost("a")
	w.pass("a", 1)
	want := map[string]string{midonetv1.AnnotationHostID: "not a uuid", midonetv1.AnnotationTunnelEndpointIP: "", midonetv1.AnnotationTunnelZoneID: ""}
	if diff := cmp.Diff(want, w.node("a").Annotations); diff != "" {
		t.Error(diff)
	}
	if got := strings.Join(w.events(), ""); !strings.Contains(got, "Warning HostIDNotFound annotation midonet.org/host-id is \"not a uuid\", and MidoNet has no host") {
		t.Errorf("events = %q, want that no host has the id", got)
	}
}

// TestReinstalledHost checks what follows MidoNet: what the annotator wrote, to the one host that has the name of the Node. What is unknown
// or ambiguous changes nothing.
func TestReinstalledHost(t *testing.T) {
	old, reinstalled, other := midonet.Host{ID: "1", Name: "a"}, midonet.Host{ID: "2", Name: "a"}, midonet.Host{ID: "9", Name: "b"}
	for name, tc := range map[string]struct {
		hosts    Hosts
		written  string // by the annotator, "" for nothing
		want     string
		recorded bool
		reason   string // of the problem, "" for none
	}{
		"unchanged":                    {several{old, other}, "1", "1", true, ""},
		"another host":                 {several{reinstalled, other}, "1", "2", true, ""},
		"another beside the old one":   {several{old, reinstalled}, "1", "1", true, reasonManyHosts},
		"its id is not understood":     {several{{Name: "a"}, other}, "1", "1", true, ""},
		"none":                         {several{other}, "1", "1", true, reasonNoHostID},
		"renamed":                      {several{{ID: "1", Name: "c"}}, "1", "1", true, ""},
		"no response":                  {&moody{}, "1", "1", true, ""},
		"of a user":                    {several{reinstalled}, "", "1", false, reasonNoHostID},
		"of a user, over the record":   {several{reinstalled}, "0", "1", false, reasonNoHostID},
		"of a user, and it exists":     {several{old, reinstalled}, "", "1", false, ""},
		"of a user, with another name": {several{{ID: "1", Name: "c"}, reinstalled}, "", "1", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			node := testNode("a")
			node.Annotations = map[string]string{midonetv1.AnnotationHostID: "1", midonetv1.AnnotationTunnelZoneID: ""}
			if tc.written != "" {
				node.Annotations[midonetv1.AnnotationWrittenHostID] = tc.written
			}
			w := newWorld(t, node)
			w.hosts = tc.hosts
			w.restart()
			result, err := w.reconcile("a")
			if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > followPeriod {
				t.Fatalf("reconcile = %+v, %v, want another one soon", result, err)
			}
			got := w.node("a").Annotations
			if _, recorded := got[midonetv1.AnnotationWrittenHostID]; got[midonetv1.AnnotationHostID] != tc.want || recorded != tc.recorded {
				t.Errorf("annotations = %v, want host %s, and a record: %v", got, tc.want, tc.recorded)
			}
			for _, reason := range []string{reasonNoHostID, reasonManyHosts} {
				if got := testutil.ToFloat64(w.meters.differing.WithLabelValues(reason)); (got == 1) != (tc.reason == reason) {
					t.Errorf("nodes with %s = %v, want one: %v", reason, got, tc.reason == reason)
				}
			}
			w.pass("a", 0)
		})
	}
}

// TestAddressFollowsWithoutMidoNet checks that the tunnel endpoint follows the address of the Node while MidoNet does not respond.
func TestAddressFollowsWithoutMidoNet(t *testing.T) {
	node := testNode("a", "192.0.2.2")
	node.Annotations = map[string]string{midonetv1.AnnotationHostID: "1", midonetv1.AnnotationTunnelZoneID: "",
		midonetv1.AnnotationTunnelEndpointIP: "192.0.2.1", midonetv1.AnnotationWrittenTunnelEndpointIP: "192.0.2.1"}
	w := newWorld(t, node)
	w.hosts = &moody{}
	w.restart()
	w.pass("a", 1)
	if got := w.node("a").Annotations[midonetv1.AnnotationTunnelEndpointIP]; got != "192.0.2.2" {
		t.Errorf("tunnel endpoint = %s, want 192.0.2.2", got)
	}
}

// TestAddressIsAssignedLater checks that an address that is assigned later is added later.
func TestAddressIsAssignedLater(t *testing.T) {
	w := newWorld(t, testNode("a"))
	w.midonet.AddHost("a")
	w.pass("a", 1)
	node := w.node("a")
	w.store.ChangeStatus(node, func() { node.Status.Addresses = testNode("a", "192.0.2.1").Status.Addresses })
	w.pass("a", 1)
	if got := w.node("a").Annotations[midonetv1.AnnotationTunnelEndpointIP]; got != "192.0.2.1" {
		t.Errorf("%q", got)
	}
}

// A host that does not exist yet is searched for with backoff, reported once, and found when it appears. Names are compared
// exactly.
func TestHostComesLater(t *testing.T) {
	w := newWorld(t, testNode("a"), testNode("b"))
	w.midonet.AddHost("A")
	w.midonet.AddHost("a.example.org")
	first := w.pass("a", 0)
	second := w.pass("a", 0)
	if first.RequeueAfter != minPatience || second.RequeueAfter != 2*minPatience {
		t.Errorf("again after %v and %v", first.RequeueAfter, second.RequeueAfter)
	}
	w.pass("b", 0)
	if got := w.events(); len(got) != 2 || !strings.HasPrefix(got[0], "Warning HostNotFound MidoNet has no host named a: start its agent") {
		t.Errorf("events %q", got)
	}
	if w.listings() != 1 || w.waiting(reasonNoHost) != 2 {
		t.Errorf("%d listings, %v nodes wait", w.listings(), w.waiting(reasonNoHost))
	}
	if annotations := w.node("a").Annotations; len(annotations) != 0 {
		t.Errorf("annotations without a host: %v", annotations)
	}
	w.midonet.AddHost("a")
	w.step(listingPause)
	w.pass("a", 1)
	w.pass("b", 0)
	if got := w.listings(); got != 2 {
		t.Errorf("%d listings", got)
	}
	if w.waiting(reasonNoHost) != 1 || w.reconciler.patience.NumRequeues(request("a")) != 0 {
		t.Errorf("%v nodes wait, patience of %d tries", w.waiting(reasonNoHost), w.reconciler.patience.NumRequeues(request("a")))
	}
}

// TestListingAges checks that a list is used for a limited time.
func TestListingAges(t *testing.T) {
	w := newWorld(t, testNode("a"), testNode("b"), testNode("c"))
	for _, name := range []string{"a", "b", "c"} {
		w.midonet.AddHost(name)
	}
	w.pass("a", 1)
	w.step(listingAge - 1)
	w.pass("b", 1)
	if got := w.listings(); got != 1 {
		t.Errorf("%d listings", got)
	}
	w.step(1)
	w.pass("c", 1)
	if got := w.listings(); got != 2 {
		t.Errorf("%d listings", got)
	}
}

// several is a MidoNet in which hosts share a name, which the fake does not allow.
type several []midonet.Host

func (s several) Hosts(context.Context) ([]midonet.Host, error) { return s, nil }

func TestHostsOfOneName(t *testing.T) {
	w := newWorld(t, testNode("a", "192.0.2.1"))
	w.hosts = several{{ID: "2", Name: "a", Alive: true}, {ID: "1", Name: "a"}, {ID: "3", Name: "b"}}
	w.restart()
	w.pass("a", 0)
	w.step(listingAge)
	w.hosts.(several)[0], w.hosts.(several)[1] = w.hosts.(several)[1], w.hosts.(several)[0]
	w.pass("a", 0)
	if got := w.events(); len(got) != 1 || got[0] != "Warning HostAmbiguous MidoNet has 2 hosts named a (1, 2): remove all except one, or set annotation midonet.org/host-id" {
		t.Errorf("events %q", got)
	}
	if got := w.waiting(reasonManyHosts); got != 1 {
		t.Errorf("%v nodes wait", got)
	}
	if got := few([]string{"4", "3", "2", "1"}); got != "1, 2, 3, …" {
		t.Errorf("%q", got)
	}
}

// TestInvalidHost checks that a host with an id that cannot be parsed is neither absent nor used.
func TestInvalidHost(t *testing.T) {
	w := newWorld(t, testNode("a", "192.0.2.1"), testNode("b"))
	w.hosts = several{{Name: "a"}, {ID: "1", Name: "b"}, {Name: "b"}}
	w.restart()
	w.pass("a", 0)
	w.pass("b", 0)
	got := w.events()
	if len(got) != 2 || got[0] != "Warning HostInvalid the host named a in MidoNet has no id that is a UUID: set annotation midonet.org/host-id" ||
		!strings.HasPrefix(got[1], "Warning HostAmbiguous MidoNet has 2 hosts named b (no UUID, 1)") {
		t.Errorf("events = %q", got)
	}
}

// TestBackendFails checks that a failing backend is queried periodically for all Nodes and reported once, and that the report is
// discarded when it recovers.
func TestBackendFails(t *testing.T) {
	w := newWorld(t, testNode("a"), testNode("b"))
	w.midonet.AddHost("a")
	w.midonet.AddHost("b")
	if err := w.midonet.Inject(fakemidonet.Fault{Path: "/hosts", Status: http.StatusServiceUnavailable, Message: "down", Times: 2}); err != nil {
		t.Fatal(err)
	}
	if result := w.pass("a", 0); result.RequeueAfter != minPatience {
		t.Errorf("again after %v", result.RequeueAfter)
	}
	w.pass("b", 0)
	if w.listings() != 1 || w.waiting(reasonBackend) != 2 {
		t.Errorf("%d listings, %v nodes wait", w.listings(), w.waiting(reasonBackend))
	}
	w.step(listingPause)
	w.pass("a", 0)
	if got := w.events(); len(got) != 2 || !strings.HasPrefix(got[0], "Warning HostsUnknown the hosts of MidoNet cannot be listed: list Host: 503 Service Unavailable: down") {
		t.Errorf("events %q", got)
	}
	w.step(listingPause)
	w.pass("a", 1)
	w.pass("b", 1)
	if got := w.waiting(reasonBackend); got != 0 {
		t.Errorf("%v nodes wait", got)
	}
	for outcome, want := range map[string]float64{"failed": 2, "done": 1} {
		if got := testutil.ToFloat64(w.meters.listings.WithLabelValues(outcome)); got != want {
			t.Errorf("%v listings are %s", got, outcome)
		}
	}
}

// TestChangingErrorsAreOne checks that an error of the backend whose message changes each time is reported once.
func TestChangingErrorsAreOne(t *testing.T) {
	w := newWorld(t, testNode("a"))
	w.hosts = &moody{}
	w.restart()
	for range 3 {
		w.pass("a", 0)
		w.step(listingPause)
	}
	if got := w.events(); len(got) != 1 {
		t.Errorf("events %q", got)
	}
}

type moody struct{ times int }

func (m *moody) Hosts(context.Context) ([]midonet.Host, error) {
	m.times++
	return nil, fmt.Errorf("error %d", m.times)
}

// TestDeletedNode checks that a Node that has been or is being deleted is left alone, and that its state is discarded.
func TestDeletedNode(t *testing.T) {
	node := testNode("a")
	node.Finalizers = []string{"some/thing"}
	w := newWorld(t, node)
	w.pass("a", 0)
	w.store.Remove(node)
	w.midonet.AddHost("a")
	w.step(listingAge)
	if result := w.pass("a", 0); result.RequeueAfter != 0 || w.waiting(reasonNoHost) != 0 {
		t.Errorf("again after %v", result.RequeueAfter)
	}
	w.store.Change(node, func() { node.Finalizers = nil })
	if result := w.pass("a", 0); result.RequeueAfter != 0 {
		t.Errorf("again after %v", result.RequeueAfter)
	}
}

// TestWriteFails covers the API server's responses to a write.
func TestWriteFails(t *testing.T) {
	nodes, errNoServer := corev1.Resource("nodes"), errors.New("connection refused")
	for name, tc := range map[string]struct {
		fault    error
		after    time.Duration
		want     func(error) bool
		rejected bool
	}{
		"conflict":  {apierrors.NewConflict(nodes, "a", errors.New("changed")), 0, apierrors.IsConflict, false},
		"gone":      {apierrors.NewNotFound(nodes, "a"), 0, func(err error) bool { return errors.Is(err, kit.ErrChanged) }, false},
		"forbidden": {apierrors.NewForbidden(nodes, "a", errors.New("no permission to patch")), minPatience, func(err error) bool { return err == nil }, true},
		"no server": {errNoServer, 0, func(err error) bool { return errors.Is(err, errNoServer) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, testNode("a"))
			w.midonet.AddHost("a")
			w.store.Fault = func(int, kubetest.Write) error { return tc.fault }
			result, err := w.reconcile("a")
			if !tc.want(err) || result.RequeueAfter != tc.after {
				t.Errorf("result %v, error %v", result, err)
			}
			events := w.events()
			if (len(events) == 1) != tc.rejected || tc.rejected && !strings.HasPrefix(events[0], `Warning AnnotationRefused nodes "a" is forbidden: no permission to patch`) {
				t.Errorf("events %q", events)
			}
		})
	}
}

// TestLateRead checks that an annotation that another client sets concurrently is not overwritten.
func TestLateRead(t *testing.T) {
	w := newWorld(t, testNode("a"))
	w.midonet.AddHost("a")
	w.store.Fault = func(int, kubetest.Write) error {
		node := testNode("a")
		w.store.Change(node, func() { metav1.SetMetaDataAnnotation(&node.ObjectMeta, midonetv1.AnnotationHostID, "theirs") })
		return nil
	}
	if _, err := w.reconcile("a"); !apierrors.IsConflict(err) || w.store.Count() != 1 {
		t.Errorf("error = %v after %q, want a conflict", err, w.store.Writes())
	}
	if got := w.node("a").Annotations[midonetv1.AnnotationHostID]; got != "theirs" {
		t.Errorf("%q", got)
	}
}
