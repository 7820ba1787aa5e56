// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certmanager

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// data is the link that a kubelet leads to another directory when a Secret changes.
const data = "..data"

// mount makes a directory of a Secret and follows its changes, as a kubelet does for a volume: the files are links through the link
// data, which is replaced immediately. It returns when the Secret is there.
func (w *world) mount(name string) (dir string) {
	w.Helper()
	dir = filepath.Join(w.Dir, "volumes", name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		w.Fatal(err)
	}
	// A watch begins with the existing objects.
	secrets, err := w.Client.Watch(w.Context(), &corev1.SecretList{}, client.InNamespace(systemNamespace),
		client.MatchingFields{metav1.ObjectNameField: name})
	if err != nil {
		w.Fatal(err)
	}
	first := make(chan struct{})
	w.Go(func() {
		for version := 0; ; {
			select {
			case <-w.Context().Done():
				secrets.Stop()
				return
			case event, ok := <-secrets.ResultChan():
				secret, isSecret := event.Object.(*corev1.Secret)
				if !ok || !isSecret {
					if w.Context().Err() == nil {
						w.Errorf("Secret %s is no longer followed: %v", name, event.Object)
					}
					return
				}
				if len(secret.Data[corev1.TLSCertKey]) == 0 {
					continue // it is still made
				}
				if err := project(dir, version, secret.Data); err != nil {
					w.Error(err)
					return
				}
				if version++; version == 1 {
					close(first)
				}
			}
		}
	})
	select {
	case <-first:
	case <-w.Context().Done():
		w.Fatalf("there is no Secret %s", name)
	}
	return dir
}

// project puts a version of the files into the directory, as kubelet's AtomicWriter does.
func project(dir string, version int, files map[string][]byte) error {
	directory := "..version-" + strconv.Itoa(version)
	if err := os.MkdirAll(filepath.Join(dir, directory), 0o755); err != nil {
		return err
	}
	old, _ := os.Readlink(filepath.Join(dir, data))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, directory, name), files[name], 0o600); err != nil {
			return err
		}
	}
	next := filepath.Join(dir, data+"_tmp")
	if err := os.Symlink(directory, next); err != nil {
		return err
	}
	if err := os.Rename(next, filepath.Join(dir, data)); err != nil {
		return err
	}
	for name := range files {
		if err := os.Symlink(filepath.Join(data, name), filepath.Join(dir, name)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	if old == "" || old == directory {
		return nil
	}
	return os.RemoveAll(filepath.Join(dir, old))
}

// TestProject checks that the directory always contains exactly one version of the Secret.
func TestProject(t *testing.T) {
	dir := t.TempDir()
	for version, content := range []string{"a", "b", "c"} {
		if err := project(dir, version, map[string][]byte{"tls.crt": []byte(content), "tls.key": []byte(content)}); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"tls.crt", "tls.key"} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != content {
				t.Errorf("%s is %q, want %q: %v", name, got, content, err)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 4 { // both files, data and its directory
		t.Errorf("left: %v", entries)
	}
}
