// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// FuzzResolve checks that any content of a Translation is parsed or rejected. What is parsed can be found by its status and is in
// sync when the server returns what was sent, and so are its copy and the body with a position.
func FuzzResolve(f *testing.F) {
	for _, i := range wanted() {
		f.Add(i.Kind, i.Parent, i.Body)
	}
	f.Add("Rule", chainID, `{"id":"`+ruleID+`","position":null,"natTargets":[null,1,{"a":[]}],"x":1e999}`)
	f.Add("Chain", "", `{"id":"`+chainID+`","id":"`+preID+`","ID":7}`)
	f.Add("PortLink", bPortID, `{"peerId":"`+bPortID+`"}`)
	f.Fuzz(func(t *testing.T, kind, parent, body string) {
		b := New(nil, tenant)
		_, _ = b.Locate(kind, parent, body)
		r, err := b.Resolve(backend.Item{Kind: kind, Parent: parent, Body: body})
		if err != nil {
			return
		}
		if located, err := b.Locate(r.Kind, r.Parent, r.ID); err != nil || located != r.Ref {
			t.Errorf("it is at %v, a status finds %v, %v", r.Ref, located, err)
		}
		b.Collection(r)
		if got := b.Differences(r, backend.Observed{Ref: r.Ref, Body: r.Body}); len(got) > 0 {
			t.Errorf("it differs from itself in %v", got)
		}
		placed, err := withPosition(r.Body, 3)
		if err != nil {
			t.Fatal(err)
		}
		if got := b.Differences(r, backend.Observed{Ref: r.Ref, Body: placed}); r.Ordered && len(got) > 0 {
			t.Errorf("with a position it differs in %v: %s", got, placed)
		}
		if !r.Doubles {
			return
		}
		if c := b.Copy(r); c.ID == r.ID {
			t.Errorf("the copy is no other: %s", c.Body)
		} else if got := b.Differences(r, backend.Observed{Ref: r.Ref, Body: c.Body}); len(got) != 1 || got[0] != "id" {
			t.Errorf("the copy differs in %v: %s", got, c.Body)
		}
	})
}
