// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/cache"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/fake"
)

// release is what is kept of a Kluster here: its version.
type release struct{ name, version string }

// releases are versions by the names of Klusters.
type releases map[string]string

func (r releases) Put(e release)    { r[e.name] = e.version }
func (r releases) Remove(e release) { delete(r, e.name) }

func kluster(name, version string) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: kubernikusv1.KlusterSpec{Version: version}}
}

func followed() Followed[kubernikusv1.Kluster, release, releases] {
	return Followed[kubernikusv1.Kluster, release, releases]{
		Plugin: "Releases", Knowledge: "which Kluster has which version",
		Source: func(client versioned.Interface) *cache.ListWatch {
			return ListWatch(client.KubernikusV1().Klusters(metav1.NamespaceAll))
		},
		EntryOf:  func(k *kubernikusv1.Kluster) release { return release{k.Name, k.Spec.Version} },
		NewIndex: func(size int) releases { return make(releases, size) },
	}
}

func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		client, events := fake.NewClientset(kluster("web", "1.35.0")), watch.NewRaceFreeFake()
		client.PrependWatchReactor("klusters", clienttesting.DefaultWatchReactor(events, nil))
		f := NewFollower(followed())
		f.SetClient(client)
		f.SetDrainedNotification(ctx.Done())
		if err := f.ValidateInitialization(); err != nil {
			t.Fatal(err)
		}
		if err := f.Known(ctx); err != nil {
			t.Fatal(err)
		}
		expect := func(what string, want releases) {
			t.Helper()
			synctest.Wait()
			f.Read(func(have releases) {
				if !maps.Equal(have, want) {
					t.Errorf("%s: it knows %v, want %v", what, have, want)
				}
			})
		}
		expect("at first", releases{"web": "1.35.0"})
		events.Add(kluster("mail", "1.36.0"))
		expect("created", releases{"web": "1.35.0", "mail": "1.36.0"})
		events.Modify(kluster("web", "1.36.0"))
		expect("changed", releases{"web": "1.36.0", "mail": "1.36.0"})
		events.Delete(kluster("web", "1.36.0"))
		expect("deleted", releases{"mail": "1.36.0"})
		if f.Client() != client {
			t.Error("the client is another one")
		}
	})
}

// A request waits a limited time for the index, and no longer than its client waits for the response.
func TestKnown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := NewFollower(followed())
		const rejection = "this server has just started and its index is not complete (which Kluster has which version): retry"
		if err := f.Known(t.Context()); !apierrors.IsServiceUnavailable(err) || !strings.Contains(err.Error(), rejection) {
			t.Errorf("got %v", err)
		}
		canceled, leave := context.WithCancel(t.Context())
		leave()
		start := time.Now()
		if err := f.Known(canceled); !apierrors.IsServiceUnavailable(err) || time.Since(start) > 0 { // by the clock of the bubble
			t.Errorf("after the client has left: %v after %s", err, time.Since(start))
		}
		result := make(chan error)
		go func() { result <- f.Known(t.Context()) }()
		synctest.Wait()
		for range 2 { // a reflector may list again
			if err := f.store.Replace(nil, ""); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-result; err != nil {
			t.Errorf("when the index was filled: %v", err)
		}
	})
}

// TestReplace checks that a list from the reflector replaces all entries, including those that it has delivered already.
func TestReplace(t *testing.T) {
	s := newStore(followed())
	if err := s.Add(kluster("mail", "1.36.0")); err != nil {
		t.Fatal(err)
	}
	var list []any
	for _, k := range []*kubernikusv1.Kluster{kluster("web", "1.35.0"), kluster("shop", "1.36.0")} {
		entry, err := s.Transformer()(k)
		if err != nil || entry != (release{k.Name, k.Spec.Version}) {
			t.Fatalf("kept %v, %v", entry, err)
		}
		again, err := s.Transformer()(entry)
		if err != nil || again != entry {
			t.Fatalf("kept %v of %v, %v", again, entry, err)
		}
		list = append(list, again)
	}
	if err := s.Replace(list, "1"); err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(s.index)); !slices.Equal(names, []string{"shop", "web"}) {
		t.Errorf("it knows %q", names)
	}
}

func TestOtherObjects(t *testing.T) {
	s := newStore(followed())
	_, transformed := s.Transformer()(nil)
	for what, err := range map[string]error{
		"add": s.Add(1), "update": s.Update("a"), "delete": s.Delete(nil), "replace": s.Replace([]any{kluster("web", ""), 1}, ""), "transform": transformed,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), "is not a Kluster") {
			t.Errorf("%s of what is no Kluster: %v", what, err)
		}
	}
	select {
	case <-s.synced:
		t.Error("an index that could not be filled is reported as known")
	default:
	}
	if len(s.index) > 0 {
		t.Errorf("it knows %v", s.index)
	}
}

func TestValidateInitialization(t *testing.T) {
	f := NewFollower(followed())
	if err := f.ValidateInitialization(); err == nil {
		t.Error("it is content without a client")
	}
	f.SetClient(fake.NewClientset())
	if err := f.ValidateInitialization(); err == nil {
		t.Error("it is content without an end")
	}
}
