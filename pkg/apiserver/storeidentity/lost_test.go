// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"sync"
	"testing"
)

func TestLostStoreIsRejected(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	recorder := NewRecorder(w.config(), first)
	recorder.Written(w.putProject(t))
	if err := recorder.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	backup := w.dump(t)
	recorder.Written(w.putProject(t))
	if err := recorder.record(t.Context()); err != nil {
		t.Fatal(err)
	}
	recorded := w.host.recorded(t)
	current := w.dump(t)
	flag := "--accept-store=" + recorded.String()

	t.Run("wiped", func(t *testing.T) {
		w.wipe(t)
		rejected(t, w.config(), prefix, "is empty", flag)
		if len(w.dump(t)) != 0 {
			t.Error("a rejected server wrote")
		}
	})
	t.Run("older state, higher revision", func(t *testing.T) {
		w.restore(t, backup)
		rejected(t, w.config(), prefix, "older state", flag)
	})
	t.Run("repaired again", func(t *testing.T) {
		w.restore(t, current)
		if got := verified(t, w.config()); got != recorded {
			t.Errorf("got %v, want %v", got, recorded)
		}
	})
	t.Run("id deleted", func(t *testing.T) {
		w.restore(t, map[string]string{project: "data"})
		rejected(t, w.config(), prefix, "has no id", flag)
	})
	t.Run("other store", func(t *testing.T) {
		w.restore(t, map[string]string{project: "data", prefix + "/store": `{"id":"other","revision":99999}`})
		rejected(t, w.config(), prefix, "store other", flag)
	})
	t.Run("accepted", func(t *testing.T) {
		config := w.config()
		config.Accept = recorded.String()
		accepted := verified(t, config)
		if want := (Record{"other", 99999}); accepted != want || w.host.recorded(t) != want {
			t.Errorf("got %v, the host knows %v", accepted, w.host.recorded(t))
		}
		// The flag stays in the Deployment: it starts, and does not cover the next loss.
		verified(t, config)
		w.wipe(t)
		rejected(t, config, "is empty", "--accept-store=other@99999")
	})
}

// An accepted copy is a new store: neither its origin nor the copy under its former identity is accepted afterwards, and the flag has no
// effect a second time, even if the revisions are equal.
func TestAcceptedCopyIsAnotherStore(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	save := func(id Record) Record {
		recorder := NewRecorder(w.config(), id)
		recorder.Written(w.putProject(t))
		if err := recorder.record(t.Context()); err != nil {
			t.Fatal(err)
		}
		return w.host.recorded(t)
	}
	save(first)
	early := w.dump(t)
	lost := save(first)
	original := w.dump(t)
	config := w.config()
	config.Accept = lost.String()

	w.restore(t, early)
	ids := make([]Record, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = Verify(t.Context(), config); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	accepted := w.host.recorded(t)
	for _, id := range ids {
		if id != accepted || id.ID == first.ID || id.Revision >= lost.Revision {
			t.Fatalf("servers that started immediately have %v, the host knows %v; %v was lost", ids, accepted, lost)
		}
	}
	branch := save(accepted)
	w.restore(t, original)
	rejected(t, config, "store "+first.ID, "--accept-store="+branch.String())
	w.restore(t, early)
	rejected(t, config, "store "+first.ID, "--accept-store="+branch.String())
}
