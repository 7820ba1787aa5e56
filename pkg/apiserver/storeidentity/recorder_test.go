// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/klog/v2"
	clocktesting "k8s.io/utils/clock/testing"
)

// running is a Recorder that runs on a dedicated clock.
type running struct {
	*Recorder
	clock *clocktesting.FakeClock
	stop  context.CancelFunc
	done  chan error

	mu   sync.Mutex
	logs []string
}

func runRecorder(t *testing.T, w *world, record Record) *running {
	t.Helper()
	r := &running{Recorder: NewRecorder(w.config(), record), clock: clocktesting.NewFakeClock(time.Now()), done: make(chan error, 1)}
	r.Clock = r.clock
	log := funcr.New(func(_, line string) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.logs = append(r.logs, line)
	}, funcr.Options{})
	ctx, cancel := context.WithCancel(klog.NewContext(t.Context(), log))
	r.stop = cancel
	go func() { r.done <- r.Run(ctx) }()
	t.Cleanup(cancel)
	until(t, r.clock.HasWaiters)
	return r
}

func until(t *testing.T, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
		return condition(), nil
	}); err != nil {
		t.Fatal(err)
	}
}

func (r *running) logged(part string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, line := range r.logs {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func TestRecorderRecords(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	r := runRecorder(t, w, first)
	writes := w.host.countWrites()
	r.Written(90)
	r.Written(100)
	r.Written(95) // in any order
	if w.host.countWrites() != writes {
		t.Error("it recorded before its time")
	}
	r.clock.Step(10 * time.Second)
	until(t, func() bool { return w.host.recorded(t) == Record{first.ID, 100} })
	for range 3 { // nothing new
		r.clock.Step(10 * time.Second)
	}
	r.Written(110)
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	want := Record{first.ID, 110}
	if got := w.host.recorded(t); got != want {
		t.Errorf("after the stop the host knows %v, want %v", got, want)
	}
	if stored, _, err := (store{w.etcd.KV, prefix}).record(t.Context()); err != nil || *stored != want {
		t.Errorf("after the stop the store knows %v, want %v (%v)", stored, want, err)
	}
	if n := w.host.countWrites() - writes; n != 2 {
		t.Errorf("%d writes to the host, want 2", n)
	}
}

func TestRecordersNeverGoBack(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	ahead, behind := NewRecorder(w.config(), first), NewRecorder(w.config(), first)
	ahead.Written(200)
	behind.Written(100)
	for _, r := range []*Recorder{ahead, behind} {
		if err := r.record(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.host.recorded(t).Revision; got != 200 {
		t.Errorf("the host knows %d", got)
	}
	if n := w.host.countWrites(); n != 2 { // the first start, and the one ahead
		t.Errorf("%d writes to the host", n)
	}
	// Immediately, too: the last word is the highest.
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			r := NewRecorder(w.config(), first)
			r.Written(300 + i)
			if err := r.record(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := w.host.recorded(t).Revision; got != 307 {
		t.Errorf("the host knows %d", got)
	}
	verified(t, w.config()) // the store is not behind
}

func TestRecorderRecreatesTheConfigMap(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	w.host.set(nil)
	r := NewRecorder(w.config(), first)
	r.Written(50)
	if err := r.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := w.host.recorded(t); got != (Record{first.ID, 50}) {
		t.Errorf("the host knows %v", got)
	}
}

func TestRecorderRecordsAtTheStop(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	r := runRecorder(t, w, first)
	r.Written(100)
	r.stop()
	if err := <-r.done; err != nil {
		t.Error(err)
	}
	if got := w.host.recorded(t); got != (Record{first.ID, 100}) {
		t.Errorf("the host knows %v", got)
	}
}

func TestRecorderIsSilentWhenNothingIsWritten(t *testing.T) {
	w := newWorld(t)
	r := NewRecorder(w.config(), verified(t, w.config()))
	r.Written(100)
	if err := r.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.host.setFail(func(verb, resource string) error { return fmt.Errorf("unexpected %s of %s", verb, resource) })
	if err := r.record(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRecorderRecordsWhatACrashLeft starts a server whose predecessor wrote and did not record.
func TestRecorderRecordsWhatACrashLeft(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	revision := w.putProject(t)
	r := runRecorder(t, w, first)
	r.clock.Step(10 * time.Second)
	until(t, func() bool { return w.host.recorded(t).Revision >= revision })
}
