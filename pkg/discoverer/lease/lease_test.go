// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// TestHold checks that the Lease is acquired immediately, renewed at a third of its duration, and released only after the work has ended.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := s.contend(t, "a")
		synctest.Wait()
		if !a.works() || s.holder() != "a" {
			t.Fatal("it does not work immediately")
		}
		time.Sleep(100*duration/3 + time.Second)
		synctest.Wait()
		if lease, writes, _ := s.record(); writes != 1+100 || *lease.Spec.LeaseTransitions != 0 {
			t.Errorf("%d writes, %+v", writes, lease.Spec)
		}
		a.cancel()
		time.Sleep(MaxTimeout / 2)
		if !a.works() || s.holder() != "a" {
			t.Error("it was given back before the work had ended")
		}
		err := a.stop()
		if _, _, last := s.record(); err != nil || s.holder() != "" || !last.Equal(a.to) {
			t.Errorf("given back at %s, not at %s: %v", last, a.to, err)
		}
		b := s.contend(t, "b")
		synctest.Wait()
		if lease, _, _ := s.record(); !b.works() || *lease.Spec.LeaseTransitions != 1 {
			t.Error("the next one does not take it immediately")
		}
		if err := b.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestTakeOver checks that the Lease of another holder is acquired only after it was not renewed for its duration.
func TestTakeOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: held("dead", time.Now().Add(-time.Hour))}
		a := s.contend(t, "a")
		time.Sleep(duration - time.Nanosecond)
		synctest.Wait()
		if _, writes, _ := s.record(); a.works() || writes > 0 {
			t.Error("it did not wait")
		}
		time.Sleep(retryPeriod)
		synctest.Wait()
		if !a.works() || s.holder() != "a" {
			t.Error("it does not take over")
		}
		if err := a.stop(); err != nil {
			t.Error(err)
		}
	})
}

// TestStopWhileWaiting checks that a process that is stopped while it waits releases nothing.
func TestStopWhileWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{lease: held("other", time.Now())}
		a := s.contend(t, "a")
		time.Sleep(time.Second)
		err := a.stop()
		if _, writes, _ := s.record(); err != nil || writes > 0 {
			t.Error(err, writes)
		}
	})
}

// TestNoResponse checks that, without a response, the work ends early enough for its last write, and the Lease is not written any
// more.
func TestNoResponse(t *testing.T) {
	for name, test := range map[string]struct {
		slow      time.Duration
		cut, lost bool
	}{
		"no request comes through":  {cut: true},
		"no response comes through": {lost: true},
		"responds were slow before": {slow: 4 * time.Second, cut: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &server{}
				a := s.contend(t, "a")
				a.line.mu.Lock()
				a.slow = test.slow
				a.line.mu.Unlock()
				time.Sleep(time.Minute)
				synctest.Wait()
				_, _, last := s.record()
				a.set(test.cut, test.lost)
				<-a.ended
				if !errors.Is(a.err, ErrLost) || a.to.Sub(last) >= duration || s.holder() != "a" {
					t.Errorf("the work ended %s after the last renewal that it knows of: %v", a.to.Sub(last), a.err)
				}
				if text := fmt.Sprint(a.err); !strings.Contains(text, "could not be renewed for 20s") || strings.Contains(text, "another discoverer") {
					t.Errorf("error = %q, want one about the renewal", text)
				}
			})
		})
	}
}

// TestShortOutage checks that an outage that is shorter than the deadline does not end the work.
func TestShortOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := s.contend(t, "a")
		time.Sleep(time.Minute)
		a.set(false, true)
		time.Sleep(renewDeadline - renewPeriod - retryPeriod)
		a.set(false, false)
		time.Sleep(time.Minute)
		synctest.Wait()
		if lease, _, _ := s.record(); !a.works() || *lease.Spec.LeaseTransitions != 0 {
			t.Error("it has stopped")
		}
		if err := a.stop(); err != nil || s.holder() != "" {
			t.Error(err)
		}
	})
}

// TestOthersWrite checks that writes to the Lease by other clients do not end the work, unless they change the holder.
func TestOthersWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := s.contend(t, "a")
		time.Sleep(time.Minute)
		s.change(func(l *coordinationv1.Lease) { l.Labels = map[string]string{"a": "b"} })
		time.Sleep(time.Minute)
		synctest.Wait()
		if lease, _, last := s.record(); !a.works() || lease.Labels["a"] != "b" || time.Since(last) > renewPeriod {
			t.Error("it is not renewed, or the label has been deleted")
		}
		s.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") })
		begun := time.Now()
		<-a.ended
		if !errors.Is(a.err, ErrLost) || a.to.Sub(begun) > 2*renewPeriod+MaxTimeout || s.holder() != "b" {
			t.Errorf("ended after %s: %v, %s has it", a.to.Sub(begun), a.err, s.holder())
		}
		if text := fmt.Sprint(a.err); !strings.Contains(text, "another discoverer of the backend, b, has lease") {
			t.Errorf("error = %q, want one that names the holder", text)
		}
	})
}

// TestReleaseOfAnothers checks that a Lease that another holder acquired while the work ended is not released.
func TestReleaseOfAnothers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{}
		a := s.contend(t, "a")
		time.Sleep(time.Minute)
		a.cancel()
		synctest.Wait()
		s.change(func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("b") })
		if err := a.stop(); err != nil || s.holder() != "b" {
			t.Errorf("%v, %q has it", err, s.holder())
		}
	})
}

// TestContenders checks that, whatever the network does, at most one contender works at a time, and one does after the network
// recovers.
func TestContenders(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				s := &server{}
				all := make([]*contender, 3)
				for i := range all {
					all[i] = s.contend(t, fmt.Sprint(i))
				}
				check := func() (works int) {
					for _, c := range all {
						if c.works() {
							works++
						}
					}
					if works > 1 {
						t.Fatalf("%d work at a time", works)
					}
					return works
				}
				revive := func() {
					for i, c := range all {
						select {
						case <-c.ended: // its pod starts again
							all[i] = s.contend(t, fmt.Sprint(random.Uint64()))
						default:
						}
					}
				}
				for range 2000 {
					i := random.IntN(len(all))
					switch random.IntN(100) {
					case 0:
						all[i].set(true, false)
					case 1:
						all[i].set(false, true)
					case 2, 3:
						all[i].set(false, false)
					}
					time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond)
					synctest.Wait()
					check()
					revive()
				}
				for _, c := range all {
					c.set(false, false)
				}
				for range 120 {
					time.Sleep(time.Second)
					synctest.Wait()
					check()
					revive()
				}
				works := check()
				for _, c := range all {
					_ = c.stop()
				}
				if works == 0 {
					t.Error("none works in the end")
				}
			})
		})
	}
}

// TestTimes checks that the last write of an old holder ends before a new one can begin.
func TestTimes(t *testing.T) {
	if renewDeadline+MaxTimeout > duration {
		t.Error("two holders could write")
	}
}
