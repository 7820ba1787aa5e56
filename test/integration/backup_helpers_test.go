// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
	"groundskeeper.io/groundskeeper/pkg/apiserver/embeddedetcd"
)

func klusterList() client.ObjectList     { return &kubernikusv1.KlusterList{} }
func translationList() client.ObjectList { return &midonetv1.TranslationList{} }
func backendList() client.ObjectList     { return &gimbalv1.DiscoveryBackendList{} }

// command runs a subcommand of Groundskeeper's API server, which must end with the exit code and report something.
func (b *backups) command(t *testing.T, code int, message string, args ...string) {
	t.Helper()
	c := start(t, t.Context(), apiserver, args...)
	if got := c.exitCode(); got != code || !strings.Contains(strings.Join(c.stderr.lines(), "\n"), message) {
		t.Fatalf("%v ended with exit code %d, want %d and %q:\n%s", args, got, code, message, strings.Join(c.stderr.lines(), "\n"))
	}
}

// writes changes a Project again and again until the returned function is called; every write that was confirmed must be
// there then.
func (b *backups) writes(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var confirmed atomic.Int64
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := int64(1); ctx.Err() == nil; i++ {
			patch := fmt.Appendf(nil, `{"spec":{"description":"write %d"}}`, i)
			if err := b.client.Patch(ctx, copyOf(b.young), client.RawPatch(types.MergePatchType, patch)); err == nil {
				confirmed.Store(i)
			}
		}
	}()
	return func() {
		t.Helper()
		cancel()
		<-done
		eventually(t, func(ctx context.Context) error {
			return b.client.Get(ctx, client.ObjectKeyFromObject(b.young), b.young)
		})
		var last int64
		if b.young.Spec.Description == nil {
			t.Fatal("nothing was written")
		}
		if _, err := fmt.Sscanf(*b.young.Spec.Description, "write %d", &last); err != nil || confirmed.Load() == 0 || last < confirmed.Load() {
			t.Errorf("the last write that was confirmed is %d, the Project has %q: %v", confirmed.Load(), *b.young.Spec.Description, err)
		}
	}
}

// etcdIn returns a client of the etcd inside Groundskeeper's API server, or inside a command that uses a directory, and what closes
// it.
func etcdIn(t *testing.T, dir string) (*clientv3.Client, func()) {
	t.Helper()
	endpoint, release, err := embeddedetcd.Reach(t.Context(), embeddedetcd.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	etcd, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}})
	if err != nil {
		t.Fatal(err)
	}
	return etcd, func() { _ = etcd.Close(); release() }
}

// interrupted imports a file with many more objects, kills the import in the middle, shows that no server serves the partial store,
// and imports it again.
func (b *backups) interrupted(t *testing.T, path string) {
	t.Helper()
	const extra = 6000
	large, dir := filepath.Join(t.TempDir(), "large.jsonl"), filepath.Join(t.TempDir(), "half")
	n := enlarge(t, path, large, extra)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	args := []string{"import", large, "--without-cluster", b.encryption, "--embedded-etcd-dir=" + dir}
	c := start(t, ctx, apiserver, args...)
	eventually(t, func(context.Context) error {
		if !embeddedetcd.Exists(dir) { // the socket exists before the data
			return errors.New("the import has no etcd yet")
		}
		_, err := os.Stat(filepath.Join(dir, "etcd", "client.sock"))
		return err
	})
	etcd, closeEtcd := etcdIn(t, dir)
	defer closeEtcd()
	eventually(t, func(ctx context.Context) error {
		found, err := etcd.Get(ctx, storePrefix+"/midonet.org/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		if err == nil && found.Count < 50 {
			return fmt.Errorf("%d objects are imported", found.Count)
		}
		return err
	})
	kill()
	if code := c.exitCode(); code != -1 {
		t.Fatalf("the import ended with exit code %d before it was killed:\n%s", code, strings.Join(c.stderr.lines(), "\n"))
	}
	line := b.rejectionLine(t, b.encryption, "--embedded-etcd-dir="+dir)
	if !strings.Contains(line, "was not imported to its end") {
		t.Errorf("a server on half of the objects reports: %s", line)
	}
	b.command(t, 1, "an import of another backup", "import", path, "--without-cluster", b.encryption, "--embedded-etcd-dir="+dir)
	c = start(t, t.Context(), apiserver, args...)
	code, text := c.exitCode(), strings.Join(c.stderr.lines(), "\n")
	if code != 0 || !strings.Contains(text, fmt.Sprintf("%d of %d objects", n, n)) || strings.Contains(text, " 0 were there\n") {
		t.Errorf("again: exit code %d:\n%s", code, text)
	}
	again := filepath.Join(t.TempDir(), "again.jsonl")
	b.command(t, 0, fmt.Sprintf("exported %d objects", n), "export", again, b.encryption, "--embedded-etcd-dir="+dir)
}

// enlarge copies a file, with Translations more, and returns how many objects there are.
func enlarge(t *testing.T, from, to string, extra int) int {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }()
	file, err := backup.Read(in)
	if err != nil {
		t.Fatal(err)
	}
	translation := map[string]any{}
	for _, line := range file.Lines {
		if bytes.Contains(line, []byte(`"kind":"Translation"`)) {
			if err := json.Unmarshal(line, &translation); err != nil {
				t.Fatal(err)
			}
		}
	}
	for i := range file.Header.Resources {
		if file.Header.Resources[i].Kind == "Translation" {
			file.Header.Resources[i].Objects += extra
		}
	}
	err = backup.WriteFile(to, func(out io.Writer) error {
		w, err := backup.NewWriter(out, file.Header)
		if err != nil {
			return err
		}
		for i := range extra {
			m := translation["metadata"].(map[string]any)
			m["name"], m["uid"] = fmt.Sprintf("chain.%d", i), fmt.Sprintf("uid-%d", i)
			line, err := json.Marshal(translation)
			if err != nil {
				return err
			}
			if err := w.Write(line); err != nil {
				return err
			}
		}
		for _, line := range file.Lines {
			if err := w.Write(line); err != nil {
				return err
			}
		}
		return w.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	return file.Header.Objects()
}
