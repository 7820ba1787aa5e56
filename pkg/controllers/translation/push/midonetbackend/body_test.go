// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

// A rule's place is the only thing that is added to a body; nothing of the rest is written another way.
func TestWithPosition(t *testing.T) {
	for _, tc := range []struct{ body, want string }{
		{`{"id":"x","b":1.50,"a":9007199254740993}`, `{"id":"x","b":1.50,"a":9007199254740993,"position":7}`},
		{`{ "id" : "}" } `, `{ "id" : "}" ,"position":7}`},
		{`{}`, `{"position":7}`},
		{`{"position":3,"id":"x","big":1e400}`, `{"big":1e400,"id":"x","position":7}`},
	} {
		got, err := withPosition(json.RawMessage(tc.body), 7)
		if err != nil || string(got) != tc.want {
			t.Errorf("%s became %s, %v; want %s", tc.body, got, err, tc.want)
		}
	}
	for _, body := range []string{``, `{`, `[]`, `null`} {
		if got, err := withPosition(json.RawMessage(body), 1); err == nil {
			t.Errorf("%q became %s", body, got)
		}
	}
}

// A copy is the same resource under another id, always the same one, and nothing of the original changes.
func TestCopy(t *testing.T) {
	b := New(nil, tenant)
	for _, kind := range []string{"Rule", "Route"} {
		original, err := b.Resolve(item(kind))
		if err != nil {
			t.Fatal(err)
		}
		body := string(original.Body)
		copied := b.Copy(original)
		if string(original.Body) != body || original.ID == copied.ID {
			t.Errorf("%s: the copy is no other: %s, %s", kind, original.ID, copied.ID)
		}
		if diff := cmp.Diff(copied, b.Copy(original)); diff != "" {
			t.Errorf("%s: a second copy differs: %s", kind, diff)
		}
		resolved, err := b.Resolve(backend.Item{Kind: kind, Parent: copied.Parent, Body: string(copied.Body)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(resolved, copied); diff != "" {
			t.Errorf("%s: the body does not match the copy: %s", kind, diff)
		}
		if got := b.Differences(original, backend.Observed{Ref: copied.Ref, Body: copied.Body}); !cmp.Equal(got, []string{"id"}) {
			t.Errorf("%s: the copy differs in %v", kind, got)
		}
	}
}
