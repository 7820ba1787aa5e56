// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
)

const (
	router = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc"
	group  = "21607839-c6b4-5b98-8aa1-89a1aab61bca"
	zone   = "37d1e7b7-1b7b-5a0e-8f3b-0a1f6f0c0001"
	port   = "4b2b1a9c-5c1d-5e0f-9a3b-0a1f6f0c0002"
	random = "5ff1a5f3-0bb9-4f8a-8d9b-5c35a7f5a1d0"
)

// ours is the Translation whose ids are derived in tests: all of version 5 but theirs, which is that of another tenant.
var ours = types.NamespacedName{Namespace: "default", Name: "ours"}

const theirs = "0b7f3a52-4f0e-5d1f-8c55-0a1f6f0c0003"

func derived(translation types.NamespacedName, id string) bool {
	return translation == ours && ovn.IsDerived(id) && id != theirs
}

func TestResolve(t *testing.T) {
	b := New(nil, "t", nil, derived)
	for name, tc := range map[string]struct {
		item    backend.Item
		needs   []backend.Key
		slots   []string
		problem string
		unknown bool
	}{
		"alone":   {backend.Item{Kind: "LogicalSwitch", Body: `{"id":"` + zone + `","name":"a","load_balancer_group":["` + group + `"]}`}, []backend.Key{{Kind: "LoadBalancerGroup", ID: group}}, nil, "", false},
		"below":   {backend.Item{Kind: "LogicalSwitchPort", Parent: zone, Body: `{"id":"` + port + `","name":"p"}`}, []backend.Key{{Kind: "LogicalSwitch", ID: zone}}, []string{`name of LogicalSwitchPort "p"`}, "", false},
		"invalid": {backend.Item{Kind: "LogicalSwitchPort", Parent: zone, Body: `{"id":"` + port + `"}`}, nil, nil, "name: is missing", false},
		"unknown": {backend.Item{Kind: "Bridge", Body: `{}`}, nil, nil, "OVN has no such rows", true},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := b.Resolve(tc.item)
			if tc.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tc.problem) || errors.Is(err, backend.ErrUnknownKind) != tc.unknown {
					t.Errorf("error = %v, want %q", err, tc.problem)
				}
				return
			}
			if err != nil || !slices.Equal(r.Needs, tc.needs) || !slices.Equal(r.Slots, tc.slots) || !r.Updatable {
				t.Errorf("resource = %+v, %v; want the needs %v and the slots %q", r, err, tc.needs, tc.slots)
			}
		})
	}
	for _, place := range [][3]string{{"Bridge", "", zone}, {"LogicalSwitch", "", "x"}, {"LogicalSwitchPort", "", port}} {
		if ref, err := b.Locate(place[0], place[1], place[2]); err == nil {
			t.Errorf("located %v as %+v, want an error", place, ref)
		}
	}
}

// TestSupersedes checks that a term is replaced by a later one of the same Lease, and by that of the process that recreated the
// Lease, that a replaced process does not return, and that a process of another cluster replaces nothing.
func TestSupersedes(t *testing.T) {
	second := Term{Lease: "ns/lease", Transitions: 2, Holder: "b"}
	first := Term{Lease: "ns/lease", Transitions: 0, Holder: "c", First: true}
	unelected := Term{}
	for name, tc := range map[string]struct {
		term     Term
		recorded writer
		entered  bool
		want     bool
	}{
		"nothing is recorded":                             {second, writer{}, false, true},
		"the record was removed":                          {second, writer{}, true, true},
		"its own":                                         {second, writer{"here", "ns/lease 2 b"}, true, true},
		"an earlier one":                                  {second, writer{"here", "ns/lease 1 a"}, false, true},
		"an earlier one, restored":                        {second, writer{"here", "ns/lease 1 a"}, true, true},
		"a later one":                                     {second, writer{"here", "ns/lease 3 a"}, false, false},
		"a later one, entered":                            {second, writer{"here", "ns/lease 3 a"}, true, false},
		"another process, same number":                    {second, writer{"here", "ns/lease 2 a"}, false, false},
		"another Lease":                                   {second, writer{"here", "ns/other 1 a"}, false, false},
		"not understood":                                  {second, writer{"here", "x"}, false, false},
		"the Lease was created":                           {first, writer{"here", "ns/lease 7 a"}, false, true},
		"the Lease was created once more":                 {first, writer{"here", "ns/lease 0 d"}, true, false},
		"the Lease was created, other one":                {first, writer{"here", "ns/other 7 a"}, false, true},
		"only the cluster is recorded":                    {second, writer{"here", ""}, false, true},
		"without an election":                             {unelected, writer{"here", ""}, false, true},
		"without an election, after one":                  {unelected, writer{"here", "ns/lease 3 a"}, false, true},
		"another cluster":                                 {second, writer{"there", ""}, false, false},
		"another cluster, an earlier term":                {second, writer{"there", "ns/lease 1 a"}, false, false},
		"another cluster, the same record":                {second, writer{"there", "ns/lease 2 b"}, true, false},
		"another cluster, the Lease was created":          {first, writer{"there", "ns/lease 7 a"}, false, false},
		"another cluster, without an election":            {unelected, writer{"there", ""}, false, false},
		"an earlier version, its own Lease":               {second, writer{"", "ns/lease 1 a"}, false, true},
		"an earlier version, its own record":              {second, writer{"", "ns/lease 2 b"}, false, true},
		"an earlier version, and the Lease was created":   {first, writer{"", "ns/lease 7 a"}, false, false},
		"an earlier version, and there is no election":    {unelected, writer{"", "ns/lease 1 a"}, false, false},
		"an earlier version, and a later term of a Lease": {second, writer{"", "ns/lease 3 a"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := tc.term.supersedes("here", tc.recorded, tc.entered); got != tc.want {
				t.Errorf("supersedes = %v, want %v", got, tc.want)
			}
		})
	}
}

func TestReasonOf(t *testing.T) {
	for code, want := range map[string]backend.Reason{
		"duplicate uuid": backend.Conflict, "referential integrity violation": backend.NotFound, "constraint violation": backend.Refused,
		"syntax error": backend.Refused, "timed out": backend.Transient, "I/O error": backend.Transient, "not owner": backend.Transient, "unknown database": backend.Transient,
	} {
		if got := backend.ReasonOf(failure(&ovsdb.Error{Code: code})); got != want {
			t.Errorf("%s: reason = %v, want %v", code, got, want)
		}
	}
	if got := backend.ReasonOf(failure(io.EOF)); got != backend.Transient {
		t.Errorf("a lost connection: reason = %v, want Transient", got)
	}
	fencedOff := fenced(io.EOF)
	if got := failure(fencedOff); !errors.Is(got, fencedOff) || failure(nil) != nil {
		t.Errorf("failure of an error of a backend = %v, want it unchanged", got)
	}
}

// TestConcerns checks that changes by other clients are reported if the row may be Groundskeeper's.
func TestConcerns(t *testing.T) {
	b := New(nil, "t", nil, derived)
	done, purged := b.writes("Logical_Switch", zone), b.purges()
	for _, tc := range []struct {
		change ovsdb.Change
		want   bool
	}{
		{ovsdb.Change{Table: "Logical_Switch", ID: zone}, false},
		{ovsdb.Change{Table: "Logical_Switch", ID: group}, true},
		{ovsdb.Change{Table: "Logical_Switch", ID: group, Deleted: true}, false},
		{ovsdb.Change{Table: "Logical_Switch", ID: random}, false},
	} {
		if got := b.concerns(tc.change); got != tc.want {
			t.Errorf("%+v: concerns = %v, want %v", tc.change, got, tc.want)
		}
	}
	done()
	purged()
	for _, deleted := range []bool{false, true} {
		if !b.concerns(ovsdb.Change{Table: "Logical_Switch", ID: zone, Deleted: deleted}) {
			t.Error("a change after Groundskeeper's own does not count")
		}
	}
	if len(b.writing) != 0 {
		t.Errorf("%d rows are remembered, want none", len(b.writing))
	}
}
