// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// kindSource is the source of one kind, which starts and syncs as it is told.
type kindSource struct{ err error }

func (s kindSource) Start(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	return nil
}

func (s kindSource) WaitForSync(context.Context) error { return s.err }

// discoveryScript answers for each kind in turn; the last answer stays.
type discoveryScript struct {
	mu      sync.Mutex
	answers map[string][]any
}

func (d *discoveryScript) served(_ context.Context, kind schema.GroupVersionKind) (bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	answers := d.answers[kind.Kind]
	if len(answers) > 1 {
		d.answers[kind.Kind] = answers[1:]
	}
	if err, ok := answers[0].(error); ok {
		return false, err
	}
	return answers[0].(bool), nil
}

// startedSource starts a source on a script. It makes no pause, but counts them: the channels have one entry for each
// pause of their length. After ten of a length it stands still.
func startedSource(t *testing.T, script map[string][]any, kind func(schema.GroupVersionKind) source.SyncingSource) (*contentSource, map[time.Duration]chan struct{}) {
	t.Helper()
	pauses := map[time.Duration]chan struct{}{discoveryRetry: make(chan struct{}, 10), discoveryPeriod: make(chan struct{}, 10)}
	s := newContentSource(newContents(nil, nil, (&discoveryScript{answers: script}).served), kind)
	s.after = func(pause time.Duration) <-chan time.Time {
		over := make(chan time.Time, 1)
		select {
		case pauses[pause] <- struct{}{}:
			over <- time.Time{}
		default:
		}
		return over
	}
	if err := s.Start(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	return s, pauses
}

func synced(schema.GroupVersionKind) source.SyncingSource { return kindSource{} }

func TestContentSourceWatchesWhatIsServed(t *testing.T) {
	s, _ := startedSource(t, map[string][]any{"Kluster": {true}, "DiscoveryBackend": {errors.New("503"), errors.New("503"), true}, "Shoot": {false}}, synced)
	if err := s.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, true, false} {
		if kind := blockingKinds()[i]; s.contents.watches(kind) != want {
			t.Errorf("%s is watched: %t", kind, !want)
		}
	}
}

func TestContentSourceFindsAKindThatAppears(t *testing.T) {
	s, pauses := startedSource(t, map[string][]any{"Kluster": {true}, "DiscoveryBackend": {true}, "Shoot": {false, false, true}}, synced)
	if err := s.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-pauses[discoveryPeriod]
	<-pauses[discoveryPeriod]
	eventually(t, func() bool { return s.contents.watches(blockingKinds()[2]) })
}

// As long as the API server does not answer for a kind, nobody knows what keeps a namespace, and no worker may start.
func TestContentSourceIsNotSyncedWithoutAnAnswer(t *testing.T) {
	for name, test := range map[string]struct {
		script map[string][]any
		kind   func(schema.GroupVersionKind) source.SyncingSource
	}{
		"discovery fails": {map[string][]any{"Kluster": {errors.New("503")}, "DiscoveryBackend": {true}, "Shoot": {false}}, synced},
		"the watch fails": {map[string][]any{"Kluster": {true}, "DiscoveryBackend": {false}, "Shoot": {false}},
			func(schema.GroupVersionKind) source.SyncingSource { return kindSource{err: errors.New("forbidden")} }},
	} {
		t.Run(name, func(t *testing.T) {
			s, pauses := startedSource(t, test.script, test.kind)
			<-pauses[discoveryRetry]
			expired, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
			defer cancel()
			if err := s.WaitForSync(expired); err == nil || !strings.Contains(err.Error(), "Kluster.kubernikus.sap.cc") {
				t.Errorf("got %v", err)
			}
			if s.contents.watches(blockingKinds()[0]) {
				t.Error("the kind counts as watched")
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			if err := s.WaitForSync(stopped); err != nil {
				t.Errorf("the end of the process is an error: %v", err)
			}
		})
	}
}

func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatal("it never came about")
		}
	}
}
