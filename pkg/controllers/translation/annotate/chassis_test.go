// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/ovn"
)

// southbound is a list of chassis, or fails.
type southbound struct {
	chassis []ovn.Chassis
	err     error
}

func (s *southbound) Chassis(context.Context) ([]ovn.Chassis, error) { return s.chassis, s.err }

// A Node is annotated with the name of the chassis that has its hostname, unless the name is the Node's or is annotated already.
func TestChassis(t *testing.T) {
	for name, tc := range map[string]struct {
		chassis []ovn.Chassis
		err     error
		set     string
		want    string
		patches int
		event   string
	}{
		"hostname":              {chassis: []ovn.Chassis{{Name: "id-a", Hostname: "a"}, {Name: "id-b", Hostname: "b"}}, want: "id-a", patches: 1, event: `groundskeeper.io/ovn-chassis="id-a"`},
		"name":                  {chassis: []ovn.Chassis{{Name: "a", Hostname: "a.example.com"}}},
		"name and hostname":     {chassis: []ovn.Chassis{{Name: "a", Hostname: "a"}}},
		"annotated":             {chassis: []ovn.Chassis{{Name: "id-a", Hostname: "a"}}, set: "other", want: "other", event: reasonNoChassis, patches: 1},
		"annotated, a hostname": {chassis: []ovn.Chassis{{Name: "id-b", Hostname: "b"}}, set: "b", want: "b"},
		"annotated, not listed": {err: errors.New("no response"), set: "other", want: "other"},
		"none":                  {chassis: []ovn.Chassis{{Name: "id-b", Hostname: "b"}}, event: reasonNoHost},
		"several":               {chassis: []ovn.Chassis{{Name: "id-1", Hostname: "a"}, {Name: "id-2", Hostname: "a"}}, event: reasonManyHosts},
		"name of another":       {chassis: []ovn.Chassis{{Name: "a", Hostname: "b"}, {Name: "id-a", Hostname: "a"}}, event: reasonManyHosts},
		"not listed":            {err: errors.New("no response"), event: reasonBackend},
	} {
		t.Run(name, func(t *testing.T) {
			node := testNode("a")
			if tc.set != "" {
				node.Annotations = map[string]string{midonetv1.AnnotationOVNChassis: tc.set}
			}
			w := newWorld(t, node)
			r := newReconciler(chassis(), hostsOf{&southbound{tc.chassis, tc.err}}, w.clock, w.meters)
			r.client, r.recorder = w.reconciler.client, w.recorder
			w.reconciler = r
			w.pass("a", tc.patches)
			if got := w.node("a").Annotations[midonetv1.AnnotationOVNChassis]; got != tc.want {
				t.Errorf("chassis = %q, want %q", got, tc.want)
			}
			if got := strings.Join(w.events(), ""); (got == "") != (tc.event == "") || !strings.Contains(got, tc.event) {
				t.Errorf("events = %q, want %q", got, tc.event)
			}
			w.pass("a", 0)
		})
	}
}

// TestChassisOfReinstalledNode checks what follows the Southbound database: what the annotator wrote, to the one chassis that has the name
// or the hostname of the Node. What is unknown or ambiguous changes nothing.
func TestChassisOfReinstalledNode(t *testing.T) {
	old, renamed, other := ovn.Chassis{Name: "id-1", Hostname: "a"}, ovn.Chassis{Name: "id-2", Hostname: "a"}, ovn.Chassis{Name: "id-9", Hostname: "b"}
	for name, tc := range map[string]struct {
		chassis  []ovn.Chassis
		err      error
		written  string // by the annotator, "" for nothing
		want     string
		recorded bool
		reason   string // of the problem, "" for none
	}{
		"unchanged":                    {chassis: []ovn.Chassis{old, other}, written: "id-1", want: "id-1", recorded: true},
		"another chassis":              {chassis: []ovn.Chassis{renamed, other}, written: "id-1", want: "id-2", recorded: true},
		"another beside the old one":   {chassis: []ovn.Chassis{old, renamed}, written: "id-1", want: "id-1", recorded: true, reason: reasonManyChassis},
		"the Node's name":              {chassis: []ovn.Chassis{{Name: "a", Hostname: "a"}}, written: "id-1", want: ""},
		"none":                         {chassis: []ovn.Chassis{other}, written: "id-1", want: "id-1", recorded: true, reason: reasonNoChassis},
		"no response":                  {err: errors.New("no response"), written: "id-1", want: "id-1", recorded: true},
		"of a user":                    {chassis: []ovn.Chassis{renamed}, want: "id-1", reason: reasonNoChassis},
		"of a user, over the record":   {chassis: []ovn.Chassis{renamed}, written: "id-0", want: "id-1", reason: reasonNoChassis},
		"of a user, and it exists":     {chassis: []ovn.Chassis{old, renamed}, want: "id-1"},
		"hostname of the old one only": {chassis: []ovn.Chassis{{Name: "id-1", Hostname: "new"}}, written: "id-1", want: "id-1", recorded: true},
	} {
		t.Run(name, func(t *testing.T) {
			node := testNode("a")
			node.Annotations = map[string]string{midonetv1.AnnotationOVNChassis: "id-1"}
			if tc.written != "" {
				node.Annotations[midonetv1.AnnotationWrittenOVNChassis] = tc.written
			}
			w := newWorld(t, node)
			list := &southbound{tc.chassis, tc.err}
			r := newReconciler(chassis(), hostsOf{list}, w.clock, w.meters)
			r.client, r.recorder = w.reconciler.client, w.recorder
			w.reconciler = r
			result, err := w.reconcile("a")
			if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > followPeriod {
				t.Fatalf("reconcile = %+v, %v, want another one soon", result, err)
			}
			got := w.node("a").Annotations
			if got[midonetv1.AnnotationOVNChassis] != tc.want {
				t.Errorf("chassis = %q, want %q", got[midonetv1.AnnotationOVNChassis], tc.want)
			}
			if _, recorded := got[midonetv1.AnnotationWrittenOVNChassis]; recorded != tc.recorded {
				t.Errorf("annotations = %v, want a record: %v", got, tc.recorded)
			}
			if text := got[midonetv1.AnnotationOVNChassisProblem]; (text != "") != (tc.reason != "") {
				t.Errorf("recorded problem = %q, want one: %v", text, tc.reason != "")
			}
			if events := strings.Join(w.events(), ""); tc.reason != "" && !strings.Contains(events, tc.reason) {
				t.Errorf("events = %q, want %s", events, tc.reason)
			}
			for _, reason := range []string{reasonNoChassis, reasonManyChassis} {
				if got := testutil.ToFloat64(w.meters.differing.WithLabelValues(reason)); (got == 1) != (tc.reason == reason) {
					t.Errorf("nodes with %s = %v, want one: %v", reason, got, tc.reason == reason)
				}
			}
			w.pass("a", 0)
			if tc.reason == "" {
				return
			}
			list.chassis = []ovn.Chassis{old}
			w.step(listingAge)
			w.pass("a", 1)
			if text := w.node("a").Annotations[midonetv1.AnnotationOVNChassisProblem]; text != "" {
				t.Errorf("recorded problem of a chassis that exists = %q, want none", text)
			}
		})
	}
}
