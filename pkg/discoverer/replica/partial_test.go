// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A copy whose source does not exist, and it is unknown whether it is, remains unchanged until that is known. The others do not
// wait for it, and it does not make a listing suspicious.
func TestUnknown(t *testing.T) {
	copies := []string{"gone"}
	for i := range 12 {
		copies = append(copies, fmt.Sprintf("old%d", i))
	}
	inWorld(t, []string{"web"}, copies, func(w *world) {
		var known atomic.Bool
		w.Unknown = func(key types.NamespacedName) bool { return key.Name != "gone" && !known.Load() }
		w.start()
		w.after(time.Second)
		w.expect("while they are unknown", map[string]int{"create": 1, "delete": 1})
		w.Touch(keyOf("old0"))
		w.Deleted(keyOf("old1"), refTo("old1")) // as after a second listing
		w.after(time.Minute)
		w.expect("after another event", map[string]int{})
		known.Store(true)
		w.Touch(keyOf("old1"))
		w.after(time.Second)
		w.expect("when it is known", map[string]int{"delete": 1})
	})
}

// A source that is there is copied, whatever is not known.
func TestExistingSourceIsCopiedWhileOthersAreUnknown(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		w.Unknown = func(types.NamespacedName) bool { return true }
		w.start()
		w.after(time.Minute)
		w.expect("it is there", map[string]int{"create": 1})
	})
}

// A listing of the whole backend is compared with what is here immediately, and counts as a sync.
func TestListed(t *testing.T) {
	inWorld(t, []string{"web"}, nil, func(w *world) {
		w.Listed() // no worker runs yet, and no client waits
		w.Listed()
		w.start()
		w.after(time.Minute)
		w.expect("at the start", map[string]int{"create": 1})
		w.backend.mu.Lock()
		w.backend.services["new"] = true
		w.backend.mu.Unlock()
		w.after(time.Minute)
		w.expect("before the listing", map[string]int{})
		w.Listed()
		w.after(time.Second)
		w.expect("after it", map[string]int{"create": 1})
		if took := time.Since(w.LastSync()); took > 2*time.Second {
			t.Errorf("the last sync is %s ago", took)
		}
	})
}
