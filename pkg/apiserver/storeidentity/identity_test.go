// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package storeidentity

import (
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

func verified(t *testing.T, config Config) Record {
	t.Helper()
	record, err := Verify(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	return record
}

// rejected checks that the server does not start, with one line that has what is wanted.
func rejected(t *testing.T, config Config, want ...string) {
	t.Helper()
	_, err := Verify(t.Context(), config)
	if err == nil {
		t.Fatal("the server starts")
	}
	for _, want := range want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than one line: %v", err)
	}
}

func TestFirstAndNextStart(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	if first.ID == "" || w.host.recorded(t) != first {
		t.Errorf("the first start gave %v, the host knows %v", first, w.host.recorded(t))
	}
	w.putProject(t)
	if next := verified(t, w.config()); next != first {
		t.Errorf("the next start gave %v, the first %v", next, first)
	}
	if n := w.host.countWrites(); n != 1 {
		t.Errorf("%d writes to the host", n)
	}
}

func TestConcurrentServersAgree(t *testing.T) {
	w := newWorld(t)
	for range soaktest.Rounds(t, 10) {
		w.wipe(t)
		w.host.set(nil)
		ids := make([]string, 4)
		var wg sync.WaitGroup
		for i := range ids {
			wg.Go(func() {
				record, err := Verify(t.Context(), w.config())
				if err != nil {
					t.Error(err)
				}
				ids[i] = record.ID
			})
		}
		wg.Wait()
		for _, id := range ids {
			if id == "" || id != w.host.recorded(t).ID {
				t.Fatalf("servers have %v, the host knows %s", ids, w.host.recorded(t).ID)
			}
		}
	}
}

func TestRecreatedConfigMap(t *testing.T) {
	w := newWorld(t)
	first := verified(t, w.config())
	w.putProject(t)
	w.host.set(nil)
	if got := verified(t, w.config()); got != first || w.host.recorded(t) != first {
		t.Errorf("got %v, the host knows %v, want %v", got, w.host.recorded(t), first)
	}
}

func TestEmptyStoreBesideProjectNamespaces(t *testing.T) {
	for name, test := range map[string]struct {
		namespace *corev1.Namespace
		rejected  bool
	}{
		"owned by a Project":         {namespace("garden-p", "project", "core.gardener.cloud/v1beta1", "Project"), true},
		"owned by one of v1":         {namespace("garden-p", "project", "core.gardener.cloud/v1", "Project"), true},
		"named by annotation":        {annotated(namespace("garden-p", "project", "example.com/v1", "Project")), true},
		"annotated, not a project's": {annotated(namespace("garden-p", "other", "example.com/v1", "Project")), false},
		"owned by something else":    {namespace("garden-p", "project", "example.com/v1", "Project"), false},
		"owned by another kind":      {namespace("garden-p", "project", "core.gardener.cloud/v1beta1", "Shoot"), false},
		"not a project's":            {namespace("garden-p", "other", "core.gardener.cloud/v1beta1", "Project"), false},
		"a project's, without owner": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-p", Labels: map[string]string{"gardener.cloud/role": "project"}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.host = newHost(test.namespace)
			config := w.config()
			if !test.rejected {
				verified(t, config)
				return
			}
			rejected(t, config, "garden-p", "--accept-store=empty")
			if len(w.dump(t)) != 0 || w.host.countWrites() != 0 {
				t.Error("a rejected server wrote")
			}
			config.Accept = "empty"
			first := verified(t, config)
			config.Accept = ""
			if next := verified(t, config); next != first {
				t.Errorf("got %v, want %v", next, first)
			}
		})
	}
}
