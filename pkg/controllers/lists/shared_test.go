// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestSharedReads checks that callers share one read, and that each gets one that began after its call.
func TestSharedReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Shared[time.Time]
		reads := 0
		read := func(context.Context) (time.Time, error) {
			reads++
			began := time.Now()
			time.Sleep(time.Second) // the clock is that of synctest
			return began, nil
		}
		var callers sync.WaitGroup
		for i := range 100 {
			callers.Go(func() {
				time.Sleep(time.Duration(i) * 10 * time.Millisecond)
				called := time.Now()
				began, err := s.Read(t.Context(), read)
				if err != nil || began.Before(called) {
					t.Errorf("the list of caller %d began %s before its call, error = %v", i, called.Sub(began), err)
				}
			})
		}
		callers.Wait()
		if reads != 2 {
			t.Errorf("%d reads, want 2: the first one, and one for all that called meanwhile", reads)
		}
	})
}

// TestSharedReadFails checks that all callers get the error, that the next one reads again, and that a caller whose context ends takes
// nothing from the others.
func TestSharedReadFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Shared[int]
		broken, release := errors.New("broken"), make(chan struct{})
		var failed atomic.Int32
		fails := func(ctx context.Context) (int, error) {
			<-release
			return 0, errors.Join(broken, ctx.Err())
		}
		leaves, leave := context.WithCancel(t.Context())
		go func() {
			if _, err := s.Read(leaves, fails); !errors.Is(err, context.Canceled) {
				t.Errorf("error of the caller that left = %v, want its own", err)
			}
		}()
		synctest.Wait()
		for range 3 {
			go func() {
				if _, err := s.Read(t.Context(), fails); errors.Is(err, broken) && !errors.Is(err, context.Canceled) {
					failed.Add(1)
				}
			}()
		}
		synctest.Wait()
		leave()
		synctest.Wait()
		close(release)
		synctest.Wait()
		if failed.Load() != 3 {
			t.Errorf("%d callers got the error, want 3", failed.Load())
		}
		if got, err := s.Read(t.Context(), func(context.Context) (int, error) { return 7, nil }); got != 7 || err != nil {
			t.Errorf("the next list = %d, %v, want 7", got, err)
		}
	})
}
