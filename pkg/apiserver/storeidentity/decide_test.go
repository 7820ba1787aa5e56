// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"regexp"
	"strings"
	"testing"
)

func TestDecide(t *testing.T) {
	a, older, b := &Record{"a", 9}, &Record{"a", 7}, &Record{"b", 9}
	owned := []string{"garden-1", "garden-2"}
	for _, test := range []struct {
		name     string
		facts    Facts
		want     Action
		messages []string
	}{
		{"first start", Facts{}, Adopt, nil},
		{"first start beside data", Facts{HasProjects: true, Dependents: owned}, Adopt, nil},
		{"ConfigMap was deleted", Facts{Stored: a, HasProjects: true, Dependents: owned}, Adopt, nil},
		{"same", Facts{Recorded: a, Stored: a}, Proceed, nil},
		{"same, no Project left", Facts{Recorded: a, Stored: a, Dependents: owned}, Proceed, nil},
		{"unrecorded writes", Facts{Recorded: older, Stored: a}, Proceed, nil},
		{"wiped", Facts{Recorded: a, Dependents: owned}, Reject, []string{"is empty", "store a was", "2 namespaces (garden-1, garden-2)", "--accept-store=a@9"}},
		{"wiped, nothing at stake yet", Facts{Recorded: a}, Reject, []string{"is empty", "--accept-store=a@9"}},
		{"id was deleted", Facts{Recorded: a, HasProjects: true}, Reject, []string{"has no id", "--accept-store=a@9"}},
		{"other store", Facts{Recorded: a, Stored: b, HasProjects: true}, Reject, []string{"store b", "store a was", "--accept-store=a@9"}},
		{"older state", Facts{Recorded: a, Stored: older, HasProjects: true}, Reject, []string{"older state", "revision 7", "revision 9", "--accept-store=a@9"}},
		{"wiped, and ConfigMap deleted", Facts{Dependents: owned}, Reject, []string{"no Project", "2 namespaces", "--accept-store=empty"}},
		{"wiped except for the id, and ConfigMap deleted", Facts{Stored: a, Dependents: owned}, Reject, []string{"--accept-store=empty"}},
		{"many at stake", Facts{Dependents: []string{"n1", "n2", "n3", "n4"}}, Reject, []string{"4 namespaces (n1, n2, n3, ...)"}},

		{"wiped, accepted", Facts{Recorded: a, Accept: "a@9"}, Adopt, nil},
		{"other store, accepted", Facts{Recorded: a, Stored: b, Accept: "a@9"}, Adopt, nil},
		{"older state, accepted", Facts{Recorded: a, Stored: older, Accept: "a@9"}, Adopt, nil},
		{"empty, accepted", Facts{Dependents: owned, Accept: "empty"}, Adopt, nil},
		{"flag left behind", Facts{Recorded: a, Stored: a, Accept: "a@9"}, Proceed, nil},
		{"flag of an older record", Facts{Recorded: a, Stored: older, Accept: "a@7"}, Reject, []string{"--accept-store=a@9"}},
		{"flag of another store", Facts{Recorded: a, Accept: "b@9"}, Reject, []string{"--accept-store=a@9"}},
		{"flag without revision", Facts{Recorded: a, Accept: "a"}, Reject, []string{"--accept-store=a@9"}},
		{"empty accepts no recorded store", Facts{Recorded: a, Accept: "empty"}, Reject, []string{"--accept-store=a@9"}},
		{"a record accepts no empty store", Facts{Dependents: owned, Accept: "a@9"}, Reject, []string{"--accept-store=empty"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, reason := Decide(test.facts)
			if got != test.want {
				t.Fatalf("got %v (%s), want %v", got, reason, test.want)
			}
			for _, want := range test.messages {
				if !strings.Contains(reason, want) {
					t.Errorf("%q is not in: %s", want, reason)
				}
			}
			if strings.Contains(reason, "\n") {
				t.Errorf("more than one line: %s", reason)
			}
		})
	}
}

var acceptFlag = regexp.MustCompile(`--accept-store=(\S+)$`)

// TestAcceptIsPrintedAndValidOnce takes the flag from the rejection, uses it, and leaves it there when the store is lost again.
func TestAcceptIsPrintedAndValidOnce(t *testing.T) {
	for name, facts := range map[string]Facts{
		"wiped": {Recorded: &Record{"a", 9}},
		"other": {Recorded: &Record{"a", 9}, Stored: &Record{"b", 3}},
		"older": {Recorded: &Record{"a", 9}, Stored: &Record{"a", 3}},
	} {
		t.Run(name, func(t *testing.T) {
			_, reason := Decide(facts)
			found := acceptFlag.FindStringSubmatch(reason)
			if found == nil {
				t.Fatalf("no flag at the end of: %s", reason)
			}
			facts.Accept = found[1]
			if action, reason := Decide(facts); action != Adopt {
				t.Fatalf("the printed flag is not accepted: %s", reason)
			}
			facts.Recorded = &Record{"c", 12} // the records of Adopt and of later writes
			facts.Stored = nil
			if action, _ := Decide(facts); action != Reject {
				t.Error("the flag that was left there accepts a second loss")
			}
		})
	}
}
