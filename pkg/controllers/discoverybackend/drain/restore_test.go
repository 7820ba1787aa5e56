// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

var epoch = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// existing is a lookup for which every Service exists.
func existing(types.NamespacedName) bool { return true }

// remove removes the references to a backend from the route of a server, and records them.
func remove(t *testing.T, s *apiServer, kind *Kind, backend string, at time.Time, backends Backends) Removed {
	t.Helper()
	object := s.get()
	removed, err := kind.Remove(object, Removal{Backend: backend, Deleted: isOf(backend), Time: at}, backends)
	if err != nil {
		t.Fatal(err)
	}
	if removed.Changed {
		s.update(t, object, Manager)
		s.settle(t, kind, backends, always)
	}
	return removed
}

// restore puts the references to a backend back into the route of a server.
func restore(t *testing.T, s *apiServer, kind *Kind, backend string, exists func(types.NamespacedName) bool, backends Backends) Restored {
	t.Helper()
	object := s.get()
	restored, err := kind.Restore(object, backend, exists, backends)
	if err != nil {
		t.Fatal(err)
	}
	if len(restored.Elements) > 0 {
		s.update(t, object, Manager)
		s.settle(t, kind, backends, always)
	} else if !cmp.Equal(object.Object, s.live.Object) {
		t.Error("the route changed, and nothing was restored")
	}
	return restored
}

func removedReferences(s *apiServer) string {
	return s.live.GetAnnotations()[gimbalv1.AnnotationRemovedReferences]
}

// TestRestore checks that a removal is undone in every kind, including the owners of fields.
func TestRestore(t *testing.T) {
	for name, test := range map[string]struct {
		kind  string
		rules []string
	}{
		"one of two":                    {"HTTPProxy", []string{"us-web=30 web=70"}},
		"a sole service":                {"HTTPProxy", []string{"us-web us-api", "web"}},
		"a mirror":                      {"HTTPProxy", []string{"web mirror:us-web"}},
		"a tcpproxy":                    {"HTTPProxy", []string{"web", "tcpproxy: us-web"}},
		"a tcpproxy with another":       {"HTTPProxy", []string{"tcpproxy: us-web=2 web=3"}},
		"several rules":                 {"HTTPProxy", []string{"us-web web", "web us-web=4", "web", "us-api us-web"}},
		"IngressRoute":                  {"IngressRoute", []string{"us-web=3 web", "web"}},
		"HTTPRoute":                     {"HTTPRoute", []string{"a: us-web=3", "b: web us-web mirror:us-api"}},
		"GRPCRoute":                     {"GRPCRoute", []string{"web us-web=3 mirror:web mirror:us-web"}},
		"TCPRoute, a sole one":          {"TCPRoute", []string{"us-web=3 us-api=2"}},
		"TLSRoute":                      {"TLSRoute", []string{"us-web=3 web=1", "web"}},
		"Ingress, one path":             {"Ingress", []string{"us-web", "web"}},
		"Ingress, the default":          {"Ingress", []string{"web", "default: us-web"}},
		"Ingress, all except a default": {"Ingress", []string{"us-web", "us-api", "default: web"}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			server := newAPIServer(kind, false)
			apply(t, server, route(kind, test.rules...), "alice")
			before := server.get()
			remove(t, server, kind, "us", epoch, drained())
			if removedReferences(server) == "" {
				t.Fatal("nothing was recorded")
			}
			if got := restore(t, server, kind, "eu", existing, drained()); len(got.Elements)+len(got.Skipped) > 0 {
				t.Errorf("another backend: restored %+v", got)
			}
			if got := restore(t, server, kind, "us", existing, drained()); len(got.Elements) == 0 || len(got.Skipped) > 0 {
				t.Fatalf("restored %+v, want all", got)
			}
			if diff := cmp.Diff(before.Object["spec"], server.live.Object["spec"]); diff != "" {
				t.Errorf("spec (-before +after):\n%s", diff)
			}
			if got := removedReferences(server); got != "" {
				t.Errorf("record = %s, want none", got)
			}
			if err := server.apply(route(kind, test.rules...), "alice", false); err != nil {
				t.Errorf("a server-side apply of the same manifest: %v", err)
			}
		})
	}
}

// TestRestoreLeavesChangedElements checks that references are restored only where the route is unchanged since the removal and
// their Services exist.
func TestRestoreLeavesChangedElements(t *testing.T) {
	for name, test := range map[string]struct {
		kind   string
		rules  []string
		edit   func(*unstructured.Unstructured)
		exists func(types.NamespacedName) bool
		want   []string
		reason string
	}{
		"another weight": {"HTTPProxy", []string{"us-web=30 web=70", "us-web web"}, func(o *unstructured.Unstructured) {
			weigh(o, "routes", "services", 0, 0, 99)
		}, existing, []string{"web=99", "us-web web"}, "spec.routes[0]: it was changed since"},
		"the sole service was replaced": {"HTTPProxy", []string{"us-web"}, func(o *unstructured.Unstructured) {
			o.Object["spec"] = route(kindOf(t, "HTTPProxy"), "web").Object["spec"]
		}, existing, []string{"web"}, "it was changed since"},
		"a new tcpproxy": {"HTTPProxy", []string{"web", "tcpproxy: us-web"}, func(o *unstructured.Unstructured) {
			o.Object["spec"] = route(kindOf(t, "HTTPProxy"), "web", "tcpproxy: web").Object["spec"]
		}, existing, []string{"web", "tcpproxy: web"}, "spec.tcpproxy: it was changed since"},
		"a Service is missing": {"HTTPRoute", []string{"a: us-web web", "b: us-api web"}, nil, func(s types.NamespacedName) bool { return s.Name != "us-api" },
			[]string{"a: us-web web", "b: web"}, "spec.rules[1]: Service shop/us-api is not a copy from backend us, or does not exist"},
		"rules moved": {"HTTPProxy", []string{"us-web=1 web=2", "web=3"}, func(o *unstructured.Unstructured) {
			routes := o.Object["spec"].(map[string]any)["routes"].([]any)
			slices.Reverse(routes)
		}, existing, []string{"web=3", "us-web=1 web=2"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			server := newAPIServer(kind, false)
			apply(t, server, route(kind, test.rules...), "alice")
			remove(t, server, kind, "us", epoch, drained())
			if test.edit != nil {
				object := server.get()
				test.edit(object)
				server.update(t, object, "bob")
			}
			got := restore(t, server, kind, "us", test.exists, drained())
			if diff := cmp.Diff(test.want, rulesOf(kind, server.live)); diff != "" {
				t.Errorf("rules (-want +got):\n%s", diff)
			}
			if skipped := strings.Join(got.Skipped, "; "); !strings.Contains(skipped, test.reason) || test.reason == "" && skipped != "" {
				t.Errorf("skipped = %q, want %q", skipped, test.reason)
			}
			if kept := removedReferences(server) != ""; kept != (test.reason != "") {
				t.Errorf("a record of what was not restored: %t", kept)
			}
		})
	}
}

func weigh(o *unstructured.Unstructured, list, references string, rule, ref int, weight int64) {
	rules := o.Object["spec"].(map[string]any)[list].([]any)
	rules[rule].(map[string]any)[references].([]any)[ref].(map[string]any)["weight"] = weight
}

// TestRestoreSeveralBackends checks that two backends that were removed from a rule can be restored in either order, beside a third
// one that stays drained.
func TestRestoreSeveralBackends(t *testing.T) {
	for _, order := range [][]string{{"us", "eu"}, {"eu", "us"}} {
		kind := kindOf(t, "HTTPProxy")
		server := newAPIServer(kind, false)
		apply(t, server, route(kind, "us-web=1 eu-web=2 ap-web=3 web=4"), "alice")
		server.settle(t, kind, drained("ap"), always)
		remove(t, server, kind, "us", epoch, drained("ap"))
		remove(t, server, kind, "eu", epoch, drained("ap"))
		if diff := cmp.Diff([]string{"ap-web=0 web=4"}, rulesOf(kind, server.live)); diff != "" {
			t.Fatal(diff)
		}
		restore(t, server, kind, order[0], existing, drained("ap"))
		restore(t, server, kind, order[1], existing, drained("ap"))
		if diff := cmp.Diff([]string{"us-web=1 eu-web=2 ap-web=0 web=4"}, rulesOf(kind, server.live)); diff != "" {
			t.Errorf("%v: rules (-want +got):\n%s", order, diff)
		}
		server.settle(t, kind, drained(), always)
		if diff := cmp.Diff([]string{"us-web=1 eu-web=2 ap-web=3 web=4"}, rulesOf(kind, server.live)); diff != "" {
			t.Errorf("%v, all Enabled: rules (-want +got):\n%s", order, diff)
		}
		if server.live.GetAnnotations() != nil {
			t.Errorf("annotations = %v, want none", server.live.GetAnnotations())
		}
	}
}

// TestDiscardRemovals checks that the record lists what was removed before a time until it is discarded, for each backend.
func TestDiscardRemovals(t *testing.T) {
	kind := kindOf(t, "HTTPRoute")
	server := newAPIServer(kind, false)
	apply(t, server, route(kind, "us-web=1 eu-web=2 web=4"), "alice")
	remove(t, server, kind, "us", epoch, drained())
	remove(t, server, kind, "eu", epoch.Add(time.Hour), drained())
	if since, ok := RemovedSince(removedReferences(server)); !ok || !since.Equal(epoch) {
		t.Errorf("removed since %v, %t, want %v", since, ok, epoch)
	}
	object := server.get()
	if kind.DiscardRemovals(object, epoch) || !cmp.Equal(object.Object, server.live.Object) {
		t.Error("something was discarded too early")
	}
	if !kind.DiscardRemovals(object, epoch.Add(time.Second)) {
		t.Fatal("nothing was discarded")
	}
	server.update(t, object, Manager)
	if got := restore(t, server, kind, "us", existing, drained()); len(got.Elements) > 0 {
		t.Errorf("what was discarded is restored: %+v", got)
	}
	restore(t, server, kind, "eu", existing, drained())
	if diff := cmp.Diff([]string{"eu-web=2 web=4"}, rulesOf(kind, server.live)); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if since, ok := RemovedSince(removedReferences(server)); ok {
		t.Errorf("removed since %v, want nothing removed", since)
	}
	annotate(object.Object, gimbalv1.AnnotationRemovedReferences, "{")
	if _, err := kind.Restore(object, "us", existing, drained()); err == nil || !strings.Contains(err.Error(), "is damaged") {
		t.Errorf("a damaged record: %v", err)
	}
	if !kind.DiscardRemovals(object, epoch) || object.GetAnnotations() != nil {
		t.Errorf("a damaged record stays: %v", object.GetAnnotations())
	}
}

// TestRecordOfRemovalsIsBounded checks that a long record is compressed, and that a removal continues without a record that is too
// long.
func TestRecordOfRemovalsIsBounded(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	var rules []string
	for i := range 300 {
		rules = append(rules, fmt.Sprintf("%032x: us-web=%d web", i, i+1))
	}
	server := newAPIServer(kind, false)
	apply(t, server, route(kind, rules...), "alice")
	if removed := remove(t, server, kind, "us", epoch, drained()); removed.Unrecorded {
		t.Error("a record that can be compressed is left out")
	}
	if record := removedReferences(server); !strings.HasPrefix(record, compressed) {
		t.Errorf("the record has %d bytes and is not compressed", len(record))
	}
	restore(t, server, kind, "us", existing, drained())
	object := server.get()
	object.SetAnnotations(map[string]string{"example.com/long": strings.Repeat("x", 200<<10)})
	server.update(t, object, "alice")
	if removed := remove(t, server, kind, "us", epoch, drained()); !removed.Unrecorded || !removed.Changed || removedReferences(server) != "" {
		t.Errorf("removed %+v, record of %d bytes, want none", removed, len(removedReferences(server)))
	}
}
