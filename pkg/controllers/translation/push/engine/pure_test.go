// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
)

func TestHash(t *testing.T) {
	tests := map[string]struct {
		a, b           string
		parentA, other string
		same           bool
	}{
		"order of keys and blanks":      {a: `{"a":1,"b":[1, 2]}`, b: ` {"b":[1,2],"a":1} `, same: true},
		"escapes":                       {a: `{"a":"\u0041<"}`, b: `{"a":"A\u003c"}`, same: true},
		"order of a list":               {a: `{"b":[1,2]}`, b: `{"b":[2,1]}`},
		"numbers beyond floats":         {a: `{"a":9007199254740993}`, b: `{"a":9007199254740992}`},
		"null is not absent":            {a: `{"a":null}`, b: `{}`},
		"another parent":                {a: `{}`, b: `{}`, parentA: "p"},
		"the parent is not in the body": {a: `{}p`, b: `{}`, other: "p"},
		"no JSON":                       {a: `{`, b: `{`, same: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			a, b := digestOf([]byte(test.a), test.parentA), digestOf([]byte(test.b), test.other)
			expect(t, "same", a == b, test.same)
			expect(t, "read back", parseDigest(a.String()), a)
		})
	}
	for _, s := range []string{"", "x", strings.Repeat("g", 32), strings.Repeat("a", 31)} {
		expect(t, "digest of "+s, parseDigest(s), digest{})
	}
	expect(t, "no digest", digest{}.String(), "")
}

func TestBackoff(t *testing.T) {
	tests := []struct {
		n      int
		jitter float64
		want   time.Duration
	}{
		{1, 0, time.Second}, {2, 0, 2 * time.Second}, {3, 0, 4 * time.Second}, {6, 0, 32 * time.Second}, {7, 0, time.Minute},
		{100000, 0, time.Minute}, {1, 0.5, 950 * time.Millisecond}, {7, 0.5, 57 * time.Second}, {0, 0, time.Second},
	}
	for _, test := range tests {
		expect(t, fmt.Sprintf("try %d, jitter %v", test.n, test.jitter), backoff(test.n, retryFirst, retryLast, test.jitter), test.want)
	}
}

func TestOwner(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	aged := func(uid string, age int, owner string, current bool) *claim {
		return &claim{name: named(uid), uid: idOf(uid + "0000000-0000-5000-8000-000000000000"), created: at(age).UnixMicro(), owner: idOf(owner), current: current}
	}
	tests := map[string]struct {
		claims []*claim
		want   string
	}{
		"nobody":                                   {},
		"the older":                                {claims: []*claim{aged("a", 2, "", false), aged("b", 1, "", false)}, want: "b"},
		"of one age the lower uid":                 {claims: []*claim{aged("b", 1, "", false), aged("a", 1, "", false)}, want: "a"},
		"the current version of one owner":         {claims: []*claim{aged("a", 1, "o", false), aged("b", 2, "o", true)}, want: "b"},
		"current is nothing to another owner":      {claims: []*claim{aged("a", 1, "o", false), aged("b", 2, "p", true)}, want: "a"},
		"unknown owners are not the same":          {claims: []*claim{aged("a", 1, "", false), aged("b", 2, "", true)}, want: "a"},
		"a version inherits the age of its owner":  {claims: []*claim{aged("a", 1, "o", false), aged("c", 2, "", false), aged("b", 3, "o", true)}, want: "b"},
		"two current ones: the older":              {claims: []*claim{aged("a", 1, "o", false), aged("b", 3, "o", true), aged("c", 2, "o", true)}, want: "c"},
		"the older current one keeps it":           {claims: []*claim{aged("a", 1, "o", true), aged("b", 2, "o", true)}, want: "a"},
		"a later version of a younger owner loses": {claims: []*claim{aged("c", 1, "", false), aged("a", 2, "o", false), aged("b", 3, "o", true)}, want: "c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for range 5 {
				rand.Shuffle(len(test.claims), func(i, j int) { test.claims[i], test.claims[j] = test.claims[j], test.claims[i] })
				got := ""
				if winner := winnerOf(test.claims); winner != nil {
					got = winner.name.Name
				}
				expect(t, "owner", got, test.want)
			}
		})
	}
}

func TestBelieved(t *testing.T) {
	hash := digestOf([]byte("{}"), "").String()
	tests := []struct {
		state State
		hash  string
		mode  Mode
		want  knowledge
	}{
		{Synced, hash, Repair, landed}, {Synced, "", Repair, unknown}, {Synced, "no hash", Repair, unknown},
		{Drifted, hash, Observe, landed}, {Drifted, hash, Repair, unknown}, {Drifted, "", Observe, unknown},
		{Pending, "", Repair, absent}, {Pending, hash, Repair, unknown}, {NotApplicable, "", Repair, absent},
		{Failed, "", Repair, unknown}, {Failed, hash, Repair, unknown}, {Deleting, "", Repair, unknown}, {"", "", Repair, unknown},
	}
	for _, test := range tests {
		expect(t, fmt.Sprintf("%+v", test), implied(Pushed{State: test.state, Hash: test.hash}, test.mode), test.want)
	}
}

func TestDecide(t *testing.T) {
	now := time.Unix(1000, 0)
	later, before := now.Add(time.Second), now.Add(-time.Second)
	need := &node{}
	tests := map[string]struct {
		situation
		action action
		state  State
		reason Reason
		retry  time.Duration
	}{
		"new":                       {situation: situation{}, action: actWrite},
		"in sync":                   {situation: situation{know: landed, same: true}, state: Synced, reason: ReasonSynced},
		"in sync, whatever is not":  {situation: situation{know: landed, same: true, short: shortage{node: need}, retry: &trouble{until: later}}, state: Synced, reason: ReasonSynced},
		"other content":             {situation: situation{know: landed}, action: actWrite},
		"misplaced":                 {situation: situation{know: landed, same: true, misplaced: true}, action: actWrite},
		"a copy may be left":        {situation: situation{know: landed, same: true, copied: true}, action: actWrite},
		"unknown":                   {situation: situation{know: unknown, same: true}, action: actWrite},
		"another's":                 {situation: situation{know: landed, same: true, winner: "w"}, state: Failed, reason: ReasonConflict},
		"drifted, observing":        {situation: situation{know: deleted, same: true, drift: "d", mode: Observe}, state: Drifted, reason: ReasonDrifted},
		"drifted and changed":       {situation: situation{know: landed, drift: "d", mode: Observe}, action: actWrite},
		"drifted, repairing":        {situation: situation{know: unknown, same: true, drift: "d", mode: Repair}, action: actWrite},
		"drifted, waiting":          {situation: situation{know: deleted, drift: "d", mode: Repair, busy: true}, action: actWait, state: Drifted, reason: ReasonWaiting},
		"no response":               {situation: situation{retry: &trouble{until: later, verdict: verdict{reason: ReasonRetrying}}}, state: Pending, reason: ReasonRetrying, retry: time.Second},
		"no response, may be there": {situation: situation{know: unknown, retry: &trouble{until: later, verdict: verdict{reason: ReasonRetrying}}}, state: Failed, reason: ReasonRetrying, retry: time.Second},
		"no response, was there":    {situation: situation{know: unknown, hashed: true, retry: &trouble{until: later, verdict: verdict{reason: ReasonRetrying}}}, state: Pending, reason: ReasonRetrying, retry: time.Second},
		"time to try again":         {situation: situation{retry: &trouble{until: before}, trouble: &trouble{until: now}}, action: actWrite},
		"refused":                   {situation: situation{trouble: &trouble{until: later, verdict: verdict{state: Failed, reason: ReasonRefused}}}, action: actWait, state: Failed, reason: ReasonRefused, retry: time.Second},
		"still missing":             {situation: situation{short: shortage{node: need, unlisted: true}, trouble: &trouble{until: later, missing: true, verdict: verdict{state: Pending, reason: ReasonWaiting}}}, action: actWait, state: Pending, reason: ReasonWaiting, retry: time.Second},
		"missing no more":           {situation: situation{trouble: &trouble{until: later, missing: true}}, action: actWrite},
		"waits for a listed one":    {situation: situation{short: shortage{node: need}}, action: actWait, state: Pending, reason: ReasonWaiting},
		"waits for an unlisted":     {situation: situation{short: shortage{node: need, unlisted: true, wait: time.Second}}, action: actWait, state: Pending, reason: ReasonWaiting, retry: time.Second},
		"has waited":                {situation: situation{short: shortage{node: need, unlisted: true}}, action: actWrite},
		"in sync, but in work":      {situation: situation{know: landed, same: true, busy: true}, action: actWait, state: Pending, reason: ReasonWaiting},
		"busy":                      {situation: situation{busy: true}, action: actWait, state: Pending, reason: ReasonWaiting},
		"own slot":                  {situation: situation{slot: slotOwn}, action: actEvict, state: Pending, reason: ReasonWaiting},
		"slot is left":              {situation: situation{slot: slotLeaving}, action: actWait, state: Pending, reason: ReasonWaiting},
		"slot is taken":             {situation: situation{slot: slotTaken}, action: actWait, state: Failed, reason: ReasonConflict},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			test.now = now
			action, v := decide(test.situation)
			expect(t, "action", action, test.action)
			expect(t, "state", v.state, test.state)
			expect(t, "reason", v.reason, test.reason)
			expect(t, "retry", v.retry, test.retry)
		})
	}
}

// TestReplacementHasNoGap runs a replacement from each possible state.
func TestReplacementHasNoGap(t *testing.T) {
	for bits := range 16 {
		r := replacement{there: bits&1 > 0, right: bits&3 == 3, copied: bits&4 > 0, copyRight: bits&12 == 12}
		had := r.there || r.copied
		for range 10 {
			switch r.next() {
			case stepDone:
			case stepCopy:
				r.copied, r.copyRight = true, true
			case stepDropCopy:
				r.copied, r.copyRight = false, false
			case stepDrop:
				r.there = false
			case stepMake:
				r.there, r.right = true, true
			}
			if had && !r.there && !r.copied {
				t.Fatalf("state %04b: nothing is there in between", bits)
			}
		}
		expect(t, fmt.Sprintf("end of %04b", bits), r, replacement{there: true, right: true})
	}
}

func keys(ids string) []backend.Key {
	var out []backend.Key
	for _, id := range strings.Fields(ids) {
		out = append(out, backend.Key{Kind: "Rule", ID: id})
	}
	return out
}

func TestPlace(t *testing.T) {
	tests := []struct {
		list, before, behind string
		want                 int
	}{
		{"", "a", "b", 1}, {"x y", "", "", 1}, {"x a y", "a", "", 3}, {"x a y c", "c a", "", 5}, {"x b y", "", "b", 2}, {"x c b y", "", "b c", 2},
		{"a b", "a", "b", 2}, {"a x b", "a", "b", 2}, {"b a", "a", "b", 3},
	}
	for _, test := range tests {
		expect(t, fmt.Sprintf("%+v", test), placeIn(keys(test.list), keys(test.before), keys(test.behind)), test.want)
	}
}

func TestMisplaced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 7).Draw(t, "n")
		places := make([]int, n)
		for i := range places {
			places[i] = i
		}
		if n > 0 {
			places = rapid.Permutation(places).Draw(t, "places")
		}
		moved := misplacedIn(places)
		var stays []int
		for i, place := range places {
			if !slices.Contains(moved, i) {
				stays = append(stays, place)
			}
		}
		if !slices.IsSorted(stays) {
			t.Fatalf("%v without %v is out of order", places, moved)
		}
		// No larger subset is in order.
		for bits := range 1 << n {
			var part []int
			for i, place := range places {
				if bits&(1<<i) > 0 {
					part = append(part, place)
				}
			}
			if slices.IsSorted(part) && len(part) > len(stays) {
				t.Fatalf("%v: %v would do, not only %v", places, part, stays)
			}
		}
	})
}

func TestOrphansMayBeDeleted(t *testing.T) {
	fine := orphanage{mode: Repair, deletes: true, complete: true, claims: 1, orphans: 1, observed: 2}
	tests := map[string]struct {
		change func(*orphanage)
		want   bool
	}{
		"fine":                {func(*orphanage) {}, true},
		"only observing":      {func(o *orphanage) { o.mode = Observe }, false},
		"planning":            {func(o *orphanage) { o.mode = Plan }, false},
		"not requested to":    {func(o *orphanage) { o.deletes = false }, false},
		"not all was read":    {func(o *orphanage) { o.complete = false }, false},
		"there is no claim":   {func(o *orphanage) { o.claims = 0 }, false},
		"more than half":      {func(o *orphanage) { o.observed = 1 }, false},
		"more than half of 5": {func(o *orphanage) { o.orphans, o.observed = 3, 5 }, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			o := fine
			test.change(&o)
			expect(t, "may delete", o.mayDelete(), test.want)
		})
	}
}

func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s set[int]
		var members [21]int
		model := map[*int]bool{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			v := &members[rapid.IntRange(0, len(members)-1).Draw(t, "v")]
			if rapid.IntRange(0, 2).Draw(t, "remove") == 0 {
				s.remove(v)
				delete(model, v)
			} else {
				s.add(v)
				model[v] = true
			}
			seen := 0
			for v := range s.all() {
				if seen++; !model[v] {
					t.Fatalf("%p is not in it", v)
				}
			}
			for i := range members {
				if v := &members[i]; s.has(v) != model[v] {
					t.Fatalf("has member %d: %v", i, s.has(v))
				}
			}
			if seen != len(model) || s.size() != len(model) {
				t.Fatalf("have %d, size %d, want %d", seen, s.size(), len(model))
			}
		}
	})
}

func TestIDs(t *testing.T) {
	const low, high = "00000000-0000-5000-8000-000000000001", "ffffffff-0000-5000-8000-000000000000"
	itself := idOf(high)
	expect(t, "a UUID is itself", hex.EncodeToString(itself[:]), strings.ReplaceAll(high, "-", ""))
	expect(t, "order", idOf(low).compare(idOf(high)), -1)
	expect(t, "nothing", idOf(""), id{})
	seen := map[id]string{}
	for _, text := range []string{"", "global", "a", "b", low, high, low + "0", "zzzzzzzz-0000-5000-8000-000000000001"} {
		if other, twice := seen[idOf(text)]; twice {
			t.Errorf("%q has the id of %q", text, other)
		}
		seen[idOf(text)] = text
	}
}

func TestContent(t *testing.T) {
	seen := map[id]int{}
	for i, items := range [][]backend.Item{
		nil, {{}}, {{Kind: "ab"}}, {{Kind: "a", Parent: "b"}}, {{Parent: "ab"}}, {{Body: "ab"}}, {{Kind: "ab"}, {}}, {{}, {Kind: "ab"}},
	} {
		content := contentOf(items)
		if other, twice := seen[content]; twice {
			t.Errorf("lists %d and %d have one content", i, other)
		}
		seen[content] = i
		expect(t, "the same list", contentOf(slices.Clone(items)), content)
	}
}

func TestLocks(t *testing.T) {
	l := locks{held: map[string]*lock{}}
	inside, most := 0, 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			_ = l.do(context.Background(), "a", func() error {
				mu.Lock()
				inside++
				most = max(most, inside)
				mu.Unlock()
				mu.Lock()
				inside--
				mu.Unlock()
				return nil
			})
		})
	}
	wg.Wait()
	expect(t, "immediately", most, 1)

	err := l.do(context.Background(), "a", func() error {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if err := l.do(ctx, "a", func() error { t.Error("called without the lock"); return nil }); err == nil {
			t.Error("no error though ctx ended")
		}
		return l.do(context.Background(), "b", func() error { return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "locks left", len(l.held), 0)
}

func TestSummary(t *testing.T) {
	waiting := verdict{reason: ReasonWaiting, coming: true, key: "A", message: "it waits"}
	tests := map[string]struct {
		verdicts []verdict
		age      time.Duration
		want     Outcome
	}{
		"nothing":  {want: Outcome{Reason: ReasonSynced}},
		"in sync":  {verdicts: []verdict{{reason: ReasonSynced}}, want: Outcome{Reason: ReasonSynced}},
		"settling": {verdicts: []verdict{waiting}, age: time.Second, want: Outcome{Reason: ReasonWaiting, Message: "A: it waits", Settling: true, RetryAfter: time.Second}},
		"waiting":  {verdicts: []verdict{waiting}, age: settleTime, want: Outcome{Reason: ReasonWaiting, Message: "A: it waits"}},
		"waiting for what no Claim lists": {
			verdicts: []verdict{waiting, {reason: ReasonWaiting, retry: time.Minute, message: "B"}}, age: time.Second,
			want: Outcome{Reason: ReasonWaiting, Message: "A: it waits; B", RetryAfter: time.Minute},
		},
		"the gravest": {
			verdicts: []verdict{waiting, {reason: ReasonRefused, key: "B", message: "no", retry: time.Hour}, {reason: ReasonRetrying, retry: time.Second}},
			want:     Outcome{Reason: ReasonRefused, Message: "B: no", Stalled: true, RetryAfter: time.Second},
		},
		"many": {
			verdicts: slices.Repeat([]verdict{{reason: ReasonConflict, key: "A", message: "b"}}, 5),
			want:     Outcome{Reason: ReasonConflict, Message: "A: b; A: b; A: b; and 2 more", Stalled: true},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := summarize(test.verdicts, test.age)
			expect(t, "outcome", fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", test.want))
		})
	}
}
