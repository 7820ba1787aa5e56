// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const always = 100

func manages(s *apiServer, manager string) bool {
	for _, entry := range s.live.GetManagedFields() {
		if entry.Manager == manager {
			return true
		}
	}
	return false
}

// TestOwnership checks that owners of fields can apply them again without a conflict, during a drain and after it, and that
// managedFields are restored.
func TestOwnership(t *testing.T) {
	for name, test := range map[string]struct {
		kind     string
		granular bool
		rules    []string
		drained  int // writes for it
		// applies is set when alice can apply the same again at any time.
		applies bool
		// conflicts is set when alice cannot apply the same again during a drain.
		conflicts bool
		owners    func(t *testing.T, s *apiServer, object *unstructured.Unstructured)
	}{
		"one applies": {"HTTPProxy", false, []string{"us-web web"}, 2, true, false, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			apply(t, s, object, "alice")
		}},
		// Two who share the rules are in each other's way when the rules report something else than either.
		"two apply": {"HTTPRoute", false, []string{"us-web=4 web"}, 2, false, true, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			apply(t, s, object, "bob")
			object.SetLabels(map[string]string{"a": "b"})
			apply(t, s, object, "alice")
		}},
		"one updates, and has nothing else": {"HTTPRoute", false, []string{"us-web=4 web"}, 2, false, false, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			bare := object.DeepCopy()
			bare.Object["spec"] = map[string]any{"hostnames": []any{"a"}}
			apply(t, s, bare, "alice")
			changed := s.get()
			changed.Object["spec"].(map[string]any)["rules"] = object.Object["spec"].(map[string]any)["rules"]
			s.update(t, changed, "bob")
		}},
		"one applies and updates": {"HTTPRoute", false, []string{"us-web=4 web"}, 2, false, false, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			bare := object.DeepCopy()
			bare.Object["spec"] = map[string]any{"hostnames": []any{"a"}}
			apply(t, s, bare, "alice")
			changed := s.get()
			changed.Object["spec"].(map[string]any)["rules"] = object.Object["spec"].(map[string]any)["rules"]
			s.update(t, changed, "alice")
		}},
		"each service has an owner": {"IngressRoute", true, []string{"us-web=4 web=4", "us-api api"}, 2, true, false, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			apply(t, s, object, "alice")
		}},
		"no field has an owner": {"HTTPRoute", false, []string{"us-web=4 web"}, 1, false, false, func(t *testing.T, s *apiServer, object *unstructured.Unstructured) {
			s.live = object.DeepCopy()
		}},
	} {
		t.Run(name, func(t *testing.T) {
			kind := kindOf(t, test.kind)
			server := newAPIServer(kind, test.granular)
			object := route(kind, test.rules...)
			test.owners(t, server, object)
			server.ages(t, "alice")
			server.ages(t, "bob")
			before := server.get()
			server.writes = 0
			server.settle(t, kind, drained("us"), always)
			if server.writes != test.drained {
				t.Errorf("%d writes, want %d", server.writes, test.drained)
			}
			if cmp.Equal(before.Object["spec"], server.live.Object["spec"]) {
				t.Error("nothing is drained")
			}
			if test.applies {
				if err := server.apply(object, "alice", false); err != nil {
					t.Errorf("during the drain: %v", err)
				}
				server.ages(t, "alice")
				server.settle(t, kind, drained("us"), always)
			}
			if test.conflicts {
				if err := server.apply(object, "alice", false); !apierrors.IsConflict(err) {
					t.Errorf("during the drain: error = %v, want a conflict with the other owner", err)
				}
			}
			server.settle(t, kind, drained(), always)
			after := server.get()
			if test.conflicts {
				if err := server.apply(object, "alice", false); err != nil {
					t.Errorf("after the drain: %v", err)
				}
			}
			if test.applies {
				before, after = withoutTimes(before), withoutTimes(after) // of the apply
			}
			if diff := cmp.Diff(before.Object, after.Object); diff != "" {
				t.Error(diff)
			}
			if test.applies {
				if err := server.apply(object, "alice", false); err != nil {
					t.Errorf("after the drain: %v", err)
				}
			}
		})
	}
}

func apply(t *testing.T, s *apiServer, object *unstructured.Unstructured, manager string) {
	t.Helper()
	if err := s.apply(object, manager, false); err != nil {
		t.Fatal(err)
	}
}

func withoutTimes(object *unstructured.Unstructured) *unstructured.Unstructured {
	bare := object.DeepCopy()
	for _, entry := range objects(bare.Object["metadata"].(map[string]any)["managedFields"]) {
		delete(entry, "time")
	}
	return bare
}

// TestCrashes checks that, after a crash between any two writes, the next reconciliation completes the change byte for byte,
// including times.
func TestCrashes(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	for drainWrites := range 3 {
		for restoreWrites := range 3 {
			for _, meanwhile := range []string{"", "bob"} {
				server := newAPIServer(kind, false)
				object := route(kind, "us-web web", "us-web=100 web=50")
				apply(t, server, object, "alice")
				server.ages(t, "alice")
				before := server.get()
				server.settle(t, kind, drained("us"), drainWrites)
				if meanwhile != "" {
					// Another manager edits what Groundskeeper does not touch, between Groundskeeper's writes.
					changed := server.get()
					changed.SetLabels(map[string]string{"a": "b"})
					server.update(t, changed, meanwhile)
				}
				server.settle(t, kind, drained(), restoreWrites)
				server.settle(t, kind, drained(), always)
				if meanwhile != "" {
					changed := server.get()
					changed.SetLabels(nil)
					server.update(t, changed, "alice-too")
				}
				if diff := cmp.Diff(before.Object, server.live.Object); diff != "" {
					t.Errorf("after %d and %d writes: %s", drainWrites, restoreWrites, diff)
				}
			}
		}
	}
}

// TestTakenMeanwhile checks that a manager that takes ownership of the rules between Groundskeeper's two writes keeps them: the
// earlier owner has lost them to that manager, not to Groundskeeper.
func TestTakenMeanwhile(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	server := newAPIServer(kind, false)
	object := route(kind, "us-web web")
	apply(t, server, object, "alice")
	server.settle(t, kind, drained("us"), 1)
	changed := server.get()
	changed.Object["spec"] = route(kind, "us-web=3 web=3").Object["spec"]
	server.update(t, changed, "bob")
	server.settle(t, kind, drained("us"), always)
	server.settle(t, kind, drained(), always)
	if diff := cmp.Diff([]string{"us-web=3 web=3"}, rulesOf(kind, server.live)); diff != "" {
		t.Error(diff)
	}
	err := server.apply(object, "alice", false)
	if err == nil || !strings.Contains(err.Error(), "bob") {
		t.Errorf("alice applies what bob has: %v", err)
	}
	if manages(server, Manager) {
		t.Error("Groundskeeper owns something")
	}
}

// TestPartlyTakenMeanwhile covers the same for one of two lists, with an edit that does not affect the drain.
func TestPartlyTakenMeanwhile(t *testing.T) {
	kind := kindOf(t, "HTTPProxy")
	server := newAPIServer(kind, false)
	object := route(kind, "us-web=1 web=5", "tcpproxy: us-web=1 web=5")
	apply(t, server, object, "alice")
	server.settle(t, kind, drained("us"), 1)
	changed := server.get()
	changed.Object["spec"].(map[string]any)["routes"] = route(kind, "us-web=0 web=6").Object["spec"].(map[string]any)["routes"]
	server.update(t, changed, "bob")
	server.settle(t, kind, drained("us"), always)
	server.settle(t, kind, drained(), always)
	if diff := cmp.Diff([]string{"us-web=1 web=6", "tcpproxy: us-web=1 web=5"}, rulesOf(kind, server.live)); diff != "" {
		t.Error(diff)
	}
	for _, entry := range server.live.GetManagedFields() {
		fields := entry.FieldsV1.String()
		if strings.Contains(fields, "f:routes") != (entry.Manager == "bob") || strings.Contains(fields, "f:tcpproxy") != (entry.Manager == "alice") {
			t.Errorf("%s owns %s", entry.Manager, fields)
		}
	}
}
