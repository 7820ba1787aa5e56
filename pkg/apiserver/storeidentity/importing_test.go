// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestImport checks that no server serves a store during an import, and that all servers do afterwards, because the cluster has
// recorded it.
func TestImport(t *testing.T) {
	w := newWorld(t)
	w.host.set(&Record{ID: "lost", Revision: 1 << 40})
	config := w.config()
	importing, err := BeginImport(t.Context(), config, "sum")
	if err != nil {
		t.Fatal(err)
	}
	rejected := func(when string) {
		t.Helper()
		if _, err := Verify(t.Context(), config); err == nil || !strings.Contains(err.Error(), "run groundskeeper-apiserver import again with the same file (sum sum)") {
			t.Errorf("%s: %v", when, err)
		}
		if _, _, err := Stored(t.Context(), config.KV, config.Prefix); !errors.Is(err, errImporting) {
			t.Errorf("%s: it reports about itself %v", when, err)
		}
	}
	rejected("empty")
	w.putProject(t)
	rejected("half full")
	w.host.set(nil)
	rejected("half full, and the cluster knows no store")
	w.host.set(&Record{ID: "lost", Revision: 1 << 40})
	config.Accept = "lost@1099511627776"
	rejected("half full, and acknowledged")
	config.Accept = ""

	// It was interrupted.
	again, err := BeginImport(t.Context(), config, "sum")
	if err != nil || again.id != importing.id {
		t.Fatalf("taken up as %v, %v", again, err)
	}
	record, err := again.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.host.recorded(t); got != record || got.ID == "lost" {
		t.Errorf("the cluster knows %v, the store is %v", got, record)
	}
	if verified, err := Verify(t.Context(), config); err != nil || verified != record {
		t.Errorf("verified as %v, %v", verified, err)
	}
	if _, err := BeginImport(t.Context(), config, "sum"); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("a second import begins: %v", err)
	}
}

// An import that was interrupted after its completion was recorded in the cluster is completed, and no server serves before that.
func TestImportInterruptedAtItsEnd(t *testing.T) {
	w := newWorld(t)
	importing, err := BeginImport(t.Context(), w.config(), "sum")
	if err != nil {
		t.Fatal(err)
	}
	w.host.set(&Record{ID: importing.id, Revision: 2})
	if _, err := Verify(t.Context(), w.config()); !errors.Is(err, errImporting) {
		t.Errorf("served: %v", err)
	}
	again, err := BeginImport(t.Context(), w.config(), "sum")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := again.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(t.Context(), w.config()); err != nil {
		t.Error(err)
	}
}

// TestImportNeedsAnEmptyStore checks that an import into a store that has any key is rejected.
func TestImportNeedsAnEmptyStore(t *testing.T) {
	for name, key := range map[string]string{"a Project": project, "a claim": prefix + "/claims/x", "of a later version": prefix + "/zzz/x", "beside": prefix + "/storefront"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if _, err := w.etcd.Put(t.Context(), key, "data"); err != nil {
				t.Fatal(err)
			}
			if _, err := BeginImport(t.Context(), w.config(), "sum"); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("it begins: %v", err)
			}
			if err := CheckImport(t.Context(), w.config(), "sum"); !errors.Is(err, ErrNotEmpty) {
				t.Errorf("it would begin: %v", err)
			}
			s := store{kv: w.etcd.KV, prefix: prefix}
			if begun, err := s.begin(t.Context(), marker{ID: "id", Import: "sum"}, 0); begun || err != nil {
				t.Errorf("what came between the check and the write is not noticed: %v, %v", begun, err)
			}
		})
	}
	w := newWorld(t)
	if _, err := w.etcd.Put(t.Context(), "/registry/pods/a", "of another client"); err != nil {
		t.Fatal(err)
	}
	if err := CheckImport(t.Context(), w.config(), "sum"); err != nil {
		t.Error(err)
	}
	if len(w.dump(t)) != 0 {
		t.Error("the check writes")
	}
	if _, err := BeginImport(t.Context(), w.config(), "sum"); err != nil {
		t.Error(err)
	}
	if _, err := BeginImport(t.Context(), w.config(), "other"); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("two imports of different files at the same time: %v", err)
	}
}

// Without a cluster there is nothing to record, so the server requires a confirmation.
func TestImportWithoutCluster(t *testing.T) {
	w := newWorld(t)
	w.host.set(&Record{ID: "lost", Revision: 7})
	config := w.config()
	config.Host = nil
	importing, err := BeginImport(t.Context(), config, "sum")
	if err != nil {
		t.Fatal(err)
	}
	w.putProject(t)
	record, err := importing.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config = w.config()
	if _, err := Verify(t.Context(), config); err == nil || !strings.Contains(err.Error(), "--accept-store=lost@7") {
		t.Errorf("it reports %v", err)
	}
	config.Accept = "lost@7"
	if verified, err := Verify(t.Context(), config); err != nil || verified.ID != record.ID {
		t.Errorf("accepted as %v, %v", verified, err)
	}
}

// TestImportEndsTheServer checks that a server of the empty store exits when an import begins.
func TestImportEndsTheServer(t *testing.T) {
	w := newWorld(t)
	record, err := Verify(t.Context(), w.config())
	if err != nil {
		t.Fatal(err)
	}
	r := runRecorder(t, w, record)
	if _, err := BeginImport(t.Context(), w.config(), "sum"); err != nil {
		t.Fatal(err)
	}
	r.clock.Step(time.Minute)
	if err := <-r.done; !errors.Is(err, ErrReplaced) {
		t.Errorf("the recorder ended with %v", err)
	}
}
