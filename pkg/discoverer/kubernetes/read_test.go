// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	ktesting "k8s.io/client-go/testing"
)

// TestLateDeletion checks that the event of an old deletion does not delete the copy of a Service that was recreated since, by whatever
// discoverer it was copied: the event arrives late when the watch was lost, or this discoverer was paused.
func TestLateDeletion(t *testing.T) {
	old, slice := service("shop", "web"), endpoints("shop", "web", "a", "10.1.0.1")
	w := newWorld(t, []runtime.Object{old, slice}, append(copied("us", old, slice), namespace("shop")))
	events := watch.NewFake()
	w.there.PrependWatchReactor("services", func(ktesting.Action) (bool, watch.Interface, error) { return true, events, nil })
	w.start(setup{})
	w.writes()
	before := len(w.there.Actions())
	events.Delete(old)
	w.until("the backend was read", func() bool {
		for _, action := range w.there.Actions()[before:] {
			if list, ok := action.(ktesting.ListAction); ok && list.GetListRestrictions().Fields.String() == "metadata.name=web" {
				return true
			}
		}
		return false
	})
	events.Add(old)
	w.until("its cache has it", func() bool { source, _ := w.upstream.Source(keyOf(old)); return source != nil })
	if got := w.writes(); len(got) > 0 {
		t.Errorf("the Service lives: %v", got)
	}
	if err := w.there.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("services"), "shop", "web"); err != nil {
		t.Fatal(err)
	}
	events.Delete(old)
	w.until("the copy was deleted with its Service", func() bool { return w.service("shop", "us-web") == nil })
}
