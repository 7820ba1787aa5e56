// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package translation

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// The steps that all kinds share are tested in the package registry.
func TestRules(t *testing.T) {
	good := func() *midonetv1.Translation {
		return &midonetv1.Translation{
			ObjectMeta: metav1.ObjectMeta{Name: "pod.4.web-0", Namespace: "default", ResourceVersion: "1"},
			Resources:  []midonetv1.BackendResource{{Kind: "Port", Body: "{}"}},
		}
	}
	prepared := good()
	Kind().PrepareForUpdate(prepared, good())
	if diff := cmp.Diff(good(), prepared); diff != "" {
		t.Errorf("PrepareForUpdate changed the Translation (-want +got):\n%s", diff)
	}
	if Kind().PrepareForCreate != nil {
		t.Error("the server decides something of a new Translation")
	}
	bad, unreasoned := good(), good()
	bad.Resources[0].Body = "x"
	unreasoned.Status.Conditions = []metav1.Condition{{Type: midonetv1.ConditionSynced, Status: metav1.ConditionTrue}}
	for name, tc := range map[string]struct{ accepted, rejected int }{
		"creation":         {len(Kind().Validate(good())), len(Kind().Validate(bad))},
		"update":           {len(Kind().ValidateUpdate(good(), good())), len(Kind().ValidateUpdate(bad, good()))},
		"update of status": {len(Kind().ValidateStatusUpdate(good(), good())), len(Kind().ValidateStatusUpdate(unreasoned, good()))},
	} {
		if tc.accepted != 0 || tc.rejected == 0 {
			t.Errorf("%s: %d errors for a valid Translation, %d for an invalid one, want none and some", name, tc.accepted, tc.rejected)
		}
	}
}

func TestRecordShrink(t *testing.T) {
	const (
		bridge, other = "13fb0355-e2d9-5a9f-83a6-1efd43edebbc", "21607839-c6b4-5b98-8aa1-89a1aab61bca"
		host, zone    = "23b6f94b-2fb5-55b0-9614-3cbb6d6dc17f", "51329ede-9b0f-5923-98ee-bf4ef08af54f"
	)
	resource := func(kind, parent, body string) midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: kind, Parent: parent, Body: body}
	}
	entry := func(kind, parent, id string) midonetv1.BackendResourceStatus {
		return midonetv1.BackendResourceStatus{Kind: kind, ID: id, Parent: parent, State: midonetv1.BackendResourceDeleting}
	}
	var (
		chain   = resource("Chain", "", `{"id":"`+zone+`","name":"a"}`)
		renamed = resource("Chain", "", `{"id":"`+zone+`","name":"b"}`)
		port    = resource("Port", bridge, `{"id":"`+host+`","type":"Bridge"}`)
		moved   = resource("Port", other, `{"id":"`+host+`","type":"Bridge"}`)
		binding = resource("HostInterfacePort", host, `{"hostId":"`+host+`","portId":"`+other+`","interfaceName":"a"}`)
		rebound = resource("HostInterfacePort", zone, `{"hostId":"`+zone+`","portId":"`+other+`","interfaceName":"a"}`)
		link    = resource("PortLink", host, `{"portId":null,"peerId":"`+other+`"}`)
		mac     = resource("MACPort", bridge, `{"macAddr":"AC:CA:BA:FA:69:0B","portId":"`+host+`"}`)
	)
	type resources = []midonetv1.BackendResource
	type entries = []midonetv1.BackendResourceStatus
	synced := midonetv1.BackendResourceStatus{Kind: "Chain", ID: zone, State: midonetv1.BackendResourceSynced, BodyHash: "h"}
	for name, tc := range map[string]struct {
		old, now resources
		status   entries
		// added are the new entries of the status.
		added entries
	}{
		"nothing":                         {resources{chain, port}, resources{chain, port}, nil, nil},
		"another order":                   {resources{chain, port}, resources{port, chain}, nil, nil},
		"one more":                        {resources{chain}, resources{chain, port}, nil, nil},
		"another body":                    {resources{chain}, resources{renamed}, nil, nil},
		"a child moves":                   {resources{port}, resources{moved}, nil, nil},
		"one less":                        {resources{chain, port}, resources{chain}, nil, entries{entry("Port", bridge, host)}},
		"all":                             {resources{chain, link}, nil, nil, entries{entry("Chain", "", zone), entry("PortLink", host, "")}},
		"its path has the parent":         {resources{binding}, resources{rebound}, nil, entries{entry("HostInterfacePort", host, other)}},
		"an id of two fields":             {resources{mac}, nil, nil, entries{entry("MACPort", bridge, "ac-ca-ba-fa-69-0b_"+host)}},
		"the status has it":               {resources{chain}, nil, entries{synced}, nil},
		"the status has it and not all":   {resources{chain, port}, nil, entries{synced}, entries{entry("Port", bridge, host)}},
		"wanted again":                    {nil, resources{chain}, entries{entry("Chain", "", zone)}, nil},
		"removed again":                   {resources{chain}, nil, entries{entry("Chain", "", zone)}, nil},
		"twice in the list":               {resources{port, moved}, nil, nil, entries{entry("Port", bridge, host)}},
		"no JSON":                         {resources{resource("Chain", "", "{")}, nil, nil, nil},
		"no id":                           {resources{resource("Chain", "", "{}")}, nil, nil, nil},
		"a parent that is no id":          {resources{resource("Port", "x", port.Body)}, nil, nil, nil},
		"a kind that MidoNet has not":     {resources{resource("LogicalRouter", "", chain.Body)}, nil, nil, entries{entry("LogicalRouter", "", zone)}},
		"such a kind under a parent":      {resources{resource("LogicalSwitchPort", other, port.Body), chain}, resources{chain}, nil, entries{entry("LogicalSwitchPort", other, host)}},
		"one of such a kind moves":        {resources{resource("LogicalSwitchPort", other, port.Body)}, resources{resource("LogicalSwitchPort", bridge, port.Body)}, nil, nil},
		"the status has one of such kind": {resources{resource("LogicalSwitchPort", other, port.Body)}, nil, entries{entry("LogicalSwitchPort", bridge, host)}, nil},
		"such a kind without an id":       {resources{resource("LogicalRouter", "", `{"name":"a"}`)}, nil, nil, nil},
		"what has no identity hides none": {resources{chain}, resources{resource("Chain", "", "{}")}, nil, entries{entry("Chain", "", zone)}},
	} {
		t.Run(name, func(t *testing.T) {
			// As from the watch cache: there is room behind the slice, which must not be written to.
			status := append(make(entries, 0, len(tc.status)+5), tc.status...)
			old := &midonetv1.Translation{Resources: tc.old, Status: midonetv1.TranslationStatus{ObservedGeneration: 3, Resources: status}}
			got := &midonetv1.Translation{Resources: slices.Clone(tc.now), Status: old.Status}
			want := &midonetv1.Translation{Resources: slices.Clone(tc.now), Status: midonetv1.TranslationStatus{ObservedGeneration: 3, Resources: slices.Concat(tc.status, tc.added)}}
			for range 2 { // an update is prepared again when it loses a race
				Kind().PrepareForUpdate(got, old)
			}
			if len(want.Status.Resources) == 0 {
				want.Status.Resources = status
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if room := status[:cap(status)]; !cmp.Equal(room, append(slices.Clone(tc.status), make(entries, 5)...)) {
				t.Errorf("the old object was written to: %v", room)
			}
		})
	}
}
