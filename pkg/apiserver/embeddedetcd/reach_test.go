// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package embeddedetcd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
)

// TestReach checks that an etcd is reachable whether or not a process runs it, with a path of any length, and that none is created.
func TestReach(t *testing.T) {
	for name, dir := range map[string]string{
		"short": filepath.Join(t.TempDir(), "d"),
		"long":  filepath.Join(t.TempDir(), strings.Repeat("long", 30)),
	} {
		t.Run(name, func(t *testing.T) {
			config := Config{Dir: dir, UnsafeNoFsync: true}
			if _, _, err := Reach(t.Context(), config); err == nil || !strings.Contains(err.Error(), "there is no embedded etcd in "+dir) {
				t.Errorf("nothing is reached: %v", err)
			}
			if _, err := os.Stat(dir); err == nil {
				t.Error("it was made")
			}
			server, err := Start(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			defer server.Stop()
			count := func() int64 {
				t.Helper()
				endpoint, release, err := Reach(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				defer release()
				client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, Logger: zap.NewNop()})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = client.Close() }()
				written, err := client.Put(t.Context(), "key", "value")
				if err != nil {
					t.Fatal(err)
				}
				return written.Header.Revision
			}
			first := count()
			if second := count(); second != first+1 {
				t.Errorf("revision %d after %d while the server runs", second, first)
			}
			server.Stop()
			if third := count(); third != first+2 {
				t.Errorf("revision %d after %d without a server", third, first)
			}
		})
	}
}
