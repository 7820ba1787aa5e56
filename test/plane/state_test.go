// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStateIsReadAgain(t *testing.T) {
	dir := t.TempDir()
	s, err := loadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	first := record{Name: "etcd", Fingerprint: "f", Address: "127.0.0.1:1", Health: "http://x", identity: identity{PID: 7, Started: "then"}}
	second := record{Name: "other", identity: identity{PID: 8, Started: "then"}}
	changed := first
	changed.PID = 9
	for _, step := range []error{s.setPorts(map[string]int{"etcd": 1}), s.set(first), s.set(second), s.set(changed)} {
		if step != nil {
			t.Fatal(step)
		}
	}
	again, err := loadState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]record{changed, second}, again.records(), cmp.AllowUnexported(record{})); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if again.Ports["etcd"] != 1 {
		t.Errorf("ports %v", again.Ports)
	}
	if _, found := again.process("nobody"); found || again.running("nobody") {
		t.Error("a process that never was is known")
	}
}

func TestBrokenStateIsNotOverwritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := loadState(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("loadState: %v", err)
	}
}

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	stat := func() os.FileInfo {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	write := func(content string) os.FileInfo {
		if err := writeFile(path, []byte(content)); err != nil {
			t.Fatal(err)
		}
		return stat()
	}
	first := write("a")
	if first.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", first.Mode())
	}
	if !os.SameFile(first, write("a")) {
		t.Error("the same content was written again")
	}
	if os.SameFile(first, write("b")) {
		t.Error("the file was changed in place")
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestLock(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	release, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "wait until it is done") {
		t.Errorf("second Lock: %v", err)
	}
	release()
	release, err = Lock(dir)
	if err != nil {
		t.Fatalf("Lock after release: %v", err)
	}
	release()
	if _, err := os.Stat(dir + ".lock"); !os.IsNotExist(err) {
		t.Errorf("the file of the lock stays: %v", err)
	}
}

// TestLockOfMany checks that the file, which is removed with each lock, lets only one hold it.
func TestLockOfMany(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "plane")
	var holders, most, locks atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for locks.Load() < 200 {
				release, err := Lock(dir)
				if err != nil {
					continue
				}
				most.Store(max(most.Load(), holders.Add(1)))
				runtime.Gosched()
				holders.Add(-1)
				locks.Add(1)
				release()
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d held the lock at once, want 1", most.Load())
	}
}

func TestFingerprint(t *testing.T) {
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c := command{name: "etcd", binary: put("binary", "1"), inputs: []string{put("config", "1")}}
	fingerprint := func(args ...string) string {
		sum, err := c.fingerprint(args)
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	base := fingerprint("--a", "--b")
	put("binary", "1") // a build that changed nothing
	if fingerprint("--a", "--b") != base {
		t.Error("it changed with nothing")
	}
	seen := map[string]string{base: "base"}
	for _, change := range []struct {
		what string
		sum  func() string
	}{
		{"flag added", func() string { return fingerprint("--a", "--b", "--c") }},
		{"flags joined", func() string { return fingerprint("--a --b") }},
		{"binary", func() string { put("binary", "2"); return fingerprint("--a", "--b") }},
		{"configuration", func() string { put("config", "2"); return fingerprint("--a", "--b") }},
	} {
		sum := change.sum()
		if other, found := seen[sum]; found {
			t.Errorf("%s: the same as %s", change.what, other)
		}
		seen[sum] = change.what
	}
	c.inputs = append(c.inputs, filepath.Join(dir, "missing"))
	if _, err := c.fingerprint(nil); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("a missing file: %v", err)
	}
}

func TestTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte("old\none\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		offset int64
		n      int
		want   []string
	}{
		"all of this life": {4, 10, []string{"one", "two", "three"}},
		"the last two":     {4, 2, []string{"two", "three"}},
		"nothing written":  {18, 10, nil},
		"a truncated file": {99, 10, nil},
	} {
		if diff := cmp.Diff(test.want, tail(path, test.offset, test.n)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if lines := tail(path+"-missing", 0, 10); lines != nil {
		t.Errorf("a missing log has lines: %q", lines)
	}
}
