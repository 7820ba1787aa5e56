// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// podAt returns a Pod on node a with an address, which was created at a minute.
func podAt(name string, minute int, address string, edits ...func(*corev1.Pod)) *corev1.Pod {
	pod := testPod(name, "a")
	pod.CreationTimestamp = metav1.NewTime(time.Date(2030, 1, 2, 3, minute, 0, 0, time.UTC))
	pod.Status.Phase, pod.Status.PodIP = corev1.PodRunning, address
	for _, edit := range edits {
		edit(pod)
	}
	return pod
}

// TestHolderOf checks which Pod keeps an address that several have.
func TestHolderOf(t *testing.T) {
	own := podAt("own", 5, "10.1.0.5")
	ended := podAt("old", 1, "10.1.0.5", func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded })
	leaving := podAt("old", 1, "10.1.0.5", func(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.Now()) })
	for name, tc := range map[string]struct {
		others []*corev1.Pod
		want   string
	}{
		"no other Pod":            {[]*corev1.Pod{own}, ""},
		"an older one":            {[]*corev1.Pod{own, podAt("old", 1, "10.1.0.5")}, "old"},
		"the oldest of several":   {[]*corev1.Pod{podAt("old", 2, "10.1.0.5"), podAt("oldest", 1, "10.1.0.5"), own}, "oldest"},
		"a younger one":           {[]*corev1.Pod{own, podAt("new", 9, "10.1.0.5")}, ""},
		"one of the same age":     {[]*corev1.Pod{own, podAt("another", 5, "10.1.0.5")}, "another"},
		"an older one that ended": {[]*corev1.Pod{own, ended}, ""},
		"one that is deleted":     {[]*corev1.Pod{own, leaving}, "old"},
	} {
		t.Run(name, func(t *testing.T) {
			var others []corev1.Pod
			for _, other := range tc.others {
				others = append(others, *other)
			}
			got := ""
			if holder := holderOf(own, others); holder != nil {
				got = holder.Name
			}
			if got != tc.want {
				t.Errorf("holder = %q, want %q", got, tc.want)
			}
		})
	}
}

// TestPodAddressOfOthers checks that of two Pods on a Node with an address only the older one has a port with it, until that has ended, and
// that an equal address on another Node is not compared.
func TestPodAddressOfOthers(t *testing.T) {
	annotated := func(p *corev1.Pod) {
		p.Annotations = map[string]string{midonetv1.AnnotationMACAddress: "02:00:00:00:00:01"}
	}
	old, young := podAt("old", 1, "10.1.0.5", annotated), podAt("young", 2, "10.1.0.5")
	sameMAC := podAt("same-mac", 3, "10.1.0.6", annotated)
	elsewhere := podAt("elsewhere", 4, "10.1.0.5", func(p *corev1.Pod) { p.Spec.NodeName = "b" })
	w := newWorld(t, testNode("a"), testNode("b"), old, young, sameMAC, elsewhere)
	w.config = ovnConfig()
	w.config.OVN.PodMACAddresses = true
	w.restart()
	ports := func() string {
		t.Helper()
		for _, pod := range []*corev1.Pod{young, old, sameMAC, elsewhere} {
			w.settle(unitOf(convert.KindPod, pod))
		}
		found := ""
		for name, translation := range w.translations("shop") {
			found += name + fmt.Sprint(translation.Resources)
		}
		return found
	}
	got := ports()
	for text, want := range map[string]bool{
		"pod.4.young": false, "pod.4.elsewhere": true, "02:00:00:00:00:01 10.1.0.5": true, "02:00:00:00:00:01 10.1.0.6": false, "0a:58:0a:01:00:06 10.1.0.6": true,
	} {
		if strings.Contains(got, text) != want {
			t.Errorf("translations = %s; has %q = %v, want %v", got, text, !want, want)
		}
	}
	if events := fmt.Sprint(w.events()); strings.Count(events, "AddressTaken") != 2 || strings.Count(events, "shop/old") != 2 {
		t.Errorf("events = %q, want AddressTaken of two Pods with the name of the older one", events)
	}
	units := (mapper{cache: w.Client()}).podsAt(t.Context(), old)
	if want := []unit{unitOf(convert.KindPod, young), unitOf(convert.KindPod, sameMAC)}; len(units) == 0 ||
		slices.ContainsFunc(want, func(u unit) bool { return !slices.Contains(units, u) }) || slices.Contains(units, unitOf(convert.KindPod, elsewhere)) {
		t.Errorf("a change of the older Pod reconciles %v, want %v", units, want)
	}
	w.ChangeStatus(old, func() { old.Status.Phase = corev1.PodFailed })
	if got := ports(); !strings.Contains(got, "pod.4.young") {
		t.Errorf("translations = %s, want one of young, since old has ended", got)
	}
}
