// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kubetest

import (
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestWatching checks what a process gets that lists and watches a server: everything since the list, late while the server is frozen;
// and the next watch has expired if its list was old.
func TestWatching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		labels := client.MatchingLabels{"app": "a"}
		pod := func(name string) *corev1.Pod {
			return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
		}
		s := New(t)
		process := s.Watching()
		begin := func(want int, do func()) watch.Interface {
			list := &corev1.PodList{}
			if err := process.List(t.Context(), list, labels); err != nil || len(list.Items) != want {
				t.Fatalf("listed %d pods: %v", len(list.Items), err)
			}
			do()
			w, err := process.Watch(t.Context(), &corev1.PodList{}, labels)
			if err != nil {
				t.Fatal(err)
			}
			return w
		}
		first := begin(0, func() { s.Add(pod("between")) })
		defer first.Stop()
		if e := <-first.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.Pod).Name != "between" {
			t.Errorf("after the list: %v", e)
		}
		s.Freeze()
		changed := pod("between")
		s.Change(changed, func() { changed.Labels = nil })
		s.Add(pod("late"))
		second := begin(1, func() {})
		defer second.Stop()
		synctest.Wait()
		for _, w := range []watch.Interface{first, second} {
			select {
			case e := <-w.ResultChan():
				t.Errorf("while frozen: %v", e)
			default:
			}
		}
		s.CatchUp()
		if e := <-first.ResultChan(); e.Type != watch.Deleted || e.Object.(*corev1.Pod).Name != "between" {
			t.Errorf("of what does not match any more: %v", e)
		}
		if e := <-first.ResultChan(); e.Type != watch.Added || e.Object.(*corev1.Pod).Name != "late" {
			t.Errorf("of what was missed: %v", e)
		}
		if e := <-second.ResultChan(); !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
			t.Errorf("after an old list: %v", e)
		}
	})
}
