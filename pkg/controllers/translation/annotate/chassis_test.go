// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"context"
	"errors"
	"strings"
	"testing"

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
		"hostname":          {chassis: []ovn.Chassis{{Name: "id-a", Hostname: "a"}, {Name: "id-b", Hostname: "b"}}, want: "id-a", patches: 1, event: `groundskeeper.io/ovn-chassis="id-a"`},
		"name":              {chassis: []ovn.Chassis{{Name: "a", Hostname: "a.example.com"}}},
		"name and hostname": {chassis: []ovn.Chassis{{Name: "a", Hostname: "a"}}},
		"annotated":         {chassis: []ovn.Chassis{{Name: "id-a", Hostname: "a"}}, set: "other", want: "other"},
		"none":              {chassis: []ovn.Chassis{{Name: "id-b", Hostname: "b"}}, event: reasonNoHost},
		"several":           {chassis: []ovn.Chassis{{Name: "id-1", Hostname: "a"}, {Name: "id-2", Hostname: "a"}}, event: reasonManyHosts},
		"name of another":   {chassis: []ovn.Chassis{{Name: "a", Hostname: "b"}, {Name: "id-a", Hostname: "a"}}, event: reasonManyHosts},
		"not listed":        {err: errors.New("no response"), event: reasonBackend},
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
