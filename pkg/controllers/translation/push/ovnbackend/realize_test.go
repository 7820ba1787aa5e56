// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnbackend

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/test/ovnserver"
)

func TestConfirmations(t *testing.T) {
	r := newRealization()
	if _, wanted := r.begin(); wanted {
		t.Error("a confirmation is requested for nothing")
	}
	b := &Backend{realization: r}
	first := b.Written()
	request, _ := r.begin()
	second := b.Written() // the request may be earlier than this write
	r.sent(request, 7, 0, nil)
	for _, tc := range []struct {
		value         int64
		first, second bool
	}{{6, false, false}, {7, true, false}, {100, true, false}} {
		r.confirmed(tc.value)
		if b.Realized(first) != tc.first || b.Realized(second) != tc.second {
			t.Errorf("with %d confirmed: %v and %v, want %v and %v", tc.value, b.Realized(first), b.Realized(second), tc.first, tc.second)
		}
	}
	request, wanted := r.begin()
	r.sent(request, 0, 0, errors.New("no connection"))
	again, repeated := r.begin()
	r.sent(again, 101, 0, nil)
	if !r.confirmed(101) || !wanted || !repeated || !b.Realized(second) {
		t.Error("a request that failed is not repeated")
	}
	for range 3 * mostOpen {
		b.Written()
		request, _ := r.begin()
		r.sent(request, 1000, 0, nil)
	}
	if len(r.open) > mostOpen {
		t.Errorf("%d requests are remembered", len(r.open))
	}
}

// TestConfirmedDuringTheRequest checks that a confirmation counts which is reported before the value is known that it confirms, and that
// one from before the request does not.
func TestConfirmedDuringTheRequest(t *testing.T) {
	for name, tc := range map[string]struct {
		before, during, read int64
		want                 bool
	}{
		"not confirmed":               {before: 6, during: notObserved, read: 7},
		"confirmed when it was read":  {before: 6, during: notObserved, read: 8, want: true},
		"reported before it was read": {before: 6, during: 8, read: 7, want: true},
		"an earlier one was reported": {before: 6, during: 7, read: 7},
		"of a database before":        {before: 100, during: notObserved, read: 7},
	} {
		b := &Backend{realization: newRealization()}
		b.realization.confirmed(tc.before)
		point := b.Written()
		request, _ := b.realization.begin()
		if tc.during != notObserved {
			b.realization.confirmed(tc.during)
		}
		if got := b.realization.sent(request, 8, tc.read, nil); got != tc.want || b.Realized(point) != tc.want {
			t.Errorf("%s: more is confirmed: %t, the write: %t, want %t", name, got, b.Realized(point), tc.want)
		}
	}
}

func TestConnected(t *testing.T) {
	r := newRealization()
	for _, tc := range []struct {
		up      map[string]bool
		all     bool
		changed []string
	}{
		{map[string]bool{"a": true, "b": true}, true, []string{"a", "b"}}, {map[string]bool{"a": true}, false, nil}, {map[string]bool{"a": false, "c": true}, false, []string{"a", "c"}},
		{map[string]bool{"d": true}, true, []string{"b", "c", "d"}},
	} {
		var got []string
		for _, key := range r.connected(tc.up, tc.all) {
			got = append(got, key.ID)
		}
		if slices.Sort(got); !slices.Equal(got, tc.changed) {
			t.Errorf("%v changed %v, want %v", tc.up, got, tc.changed)
		}
	}
}

// TestRealizeOfServer confirms changes in place of ovn-northd.
func TestRealizeOfServer(t *testing.T) {
	server := ovnserver.Start(t, ovnserver.Options{})
	b := dial(t, server, holds(1, "a"))
	mustCreate(t, b, resolve(t, b, "LogicalSwitch", "", `{"id":%q,"name":"a"}`, zone))
	mustCreate(t, b, resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"p"}`, port))
	server.Nbctl(t, "set", "Logical_Switch_Port", "p", "up=true")
	ref := backend.Ref{Key: backend.Key{Kind: "LogicalSwitchPort", ID: port}}
	ctx, cancel := context.WithCancel(t.Context())
	changed, ended := make(chan struct{}, 100), make(chan error, 1)
	go func() {
		ended <- b.Realize(ctx, func([]backend.Key) {
			select {
			case changed <- struct{}{}:
			default:
			}
		})
	}()
	await := func(what string, is func() bool) {
		t.Helper()
		for !is() {
			select {
			case <-changed:
			case err := <-ended:
				t.Fatalf("%s: it ended: %v", what, err)
			case <-time.After(30 * time.Second):
				t.Fatalf("%s was not reported", what)
			}
		}
	}
	await("a port that is up", func() bool { return b.Connected(ref) })
	mustCreate(t, b, resolve(t, b, "LogicalSwitchPort", zone, `{"id":%q,"name":"l","type":"localnet"}`, group))
	await("a port of a physical network, which is never up", func() bool {
		return b.Connected(backend.Ref{Key: backend.Key{Kind: "LogicalSwitchPort", ID: group}})
	})
	point := b.Written()
	if b.Realized(point) {
		t.Error("it is realized before it was confirmed")
	}
	server.Nbctl(t, "wait-until", "NB_Global", ".", "nb_cfg=1")
	server.Nbctl(t, "set", "NB_Global", ".", "hv_cfg=1")
	await("a confirmation", func() bool { return b.Realized(point) })
	server.Nbctl(t, "set", "Logical_Switch_Port", "p", "up=false")
	await("a port that is down", func() bool { return !b.Connected(ref) })
	server.Nbctl(t, "set", "Logical_Switch_Port", "p", "up=true")
	await("a port that is up again", func() bool { return b.Connected(ref) })
	if err := b.Delete(t.Context(), ref); err != nil {
		t.Error(err)
	}
	await("a port that was deleted", func() bool { return !b.Connected(ref) })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("error = %v, want the end of the context", err)
	}
}
