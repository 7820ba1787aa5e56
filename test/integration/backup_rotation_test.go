// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"groundskeeper.io/groundskeeper/test/plane"
)

// testRotation encrypts a plain store, and replaces the key, while a client writes. Each step is one of docs/backup.md.
func (b *backups) testRotation(t *testing.T) {
	const plain, first, second = "identity: {}",
		"aescbc: {keys: [{name: first, secret: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}",
		"secretbox: {keys: [{name: second, secret: MTIzNDU2Nzg5MGFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}]}"
	stop := b.writes(t)
	rewrite := func() {
		t.Helper()
		for _, message := range []string{" objects: ", " 0 written, "} {
			b.command(t, 0, message, "rewrite-storage", "--writes-per-second=1000", "--embedded-etcd-dir="+b.EmbeddedEtcdDir(0), b.encryption)
		}
	}
	b.encrypt(t, first, plain)
	rewrite()
	b.stored(t, "k8s:enc:aescbc:v1:first:")
	b.encrypt(t, first, second)
	b.encrypt(t, second, first)
	rewrite()
	b.stored(t, "k8s:enc:secretbox:v1:second:")
	b.encrypt(t, second)
	b.stored(t, "k8s:enc:secretbox:v1:second:")
	stop()
	b.nothingIsCollected(t)
}

// encrypt restarts the server with providers, the first of which writes.
func (b *backups) encrypt(t *testing.T, providers ...string) {
	t.Helper()
	file := filepath.Join(b.Dir(), "encryption.yaml")
	content := fmt.Sprintf(`
apiVersion: apiserver.config.k8s.io/v1
kind: EncryptionConfiguration
resources:
- resources: [projects.core.gardener.cloud, klusters.kubernikus.sap.cc, translations.midonet.org, discoverybackends.gimbal.heptio.com]
  providers:
  - %s
`, strings.Join(providers, "\n  - "))
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	b.encryption = "--encryption-provider-config=" + file
	restart(t, b.server, b.encryption)
}

// stored reads etcd: every object begins with the given prefix.
func (b *backups) stored(t *testing.T, words string) {
	t.Helper()
	etcd, closeEtcd := etcdIn(t, b.EmbeddedEtcdDir(0))
	defer closeEtcd()
	found, err := etcd.Get(t.Context(), storePrefix+"/", clientv3.WithPrefix())
	if err != nil {
		t.Fatal(err)
	}
	objects := 0
	for _, kv := range found.Kvs {
		key := strings.TrimPrefix(string(kv.Key), storePrefix)
		if strings.HasPrefix(key, "/claims/") || key == "/store" {
			continue
		}
		objects++
		if !strings.HasPrefix(string(kv.Value), words) {
			t.Errorf("%s is stored as %.40q", key, kv.Value)
		}
	}
	if objects < 6 {
		t.Errorf("%d objects are stored", objects)
	}
}

// rejectionLine starts the server, which must end, and returns what it printed last.
func (b *backups) rejectionLine(t *testing.T, flags ...string) string {
	t.Helper()
	if err := b.server.Start(t.Context(), flags...); err != nil {
		t.Fatal(err)
	}
	err := b.server.Ready(t.Context())
	failure := &plane.Error{}
	if !errors.As(err, &failure) || !strings.Contains(failure.Err.Error(), "exit status 1") {
		t.Fatalf("the server did not end with exit code 1: %v", err)
	}
	return strings.Join(failure.Lines, "\n")
}
