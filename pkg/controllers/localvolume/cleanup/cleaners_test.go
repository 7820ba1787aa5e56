// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// newNamedBench returns a bench whose process records that it cleans up.
func newNamedBench(t *testing.T, nodes ...string) *bench {
	t.Helper()
	b := newBench(t, nil, nodes...)
	b.restartAs("one", nil)
	return b
}

// restartAs continues as a process of that name.
func (b *bench) restartAs(holder string, configure func(*configv1alpha1.LocalVolumeConfiguration)) {
	b.T.Helper()
	b.Holder = holder
	b.Restart(configure)
	b.r = newReconciler(b.Site)
}

// cleaners is the ConfigMap that records who cleans up.
func (b *bench) cleaners() *corev1.ConfigMap {
	key := localvolume.CleanersKey()
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
	b.Store.Find(object)
	return object
}

// taken makes another process take, or renew, some keys.
func (b *bench) taken(keys ...string) {
	b.T.Helper()
	object := b.cleaners()
	set := func() {
		if object.Data == nil {
			object.Data = map[string]string{}
		}
		for _, key := range keys {
			object.Data[key] = fmt.Sprintf(`{"holder":"two","renewed":%q}`, b.Clock.Now().Format(time.RFC3339))
		}
	}
	if object.UID == "" {
		set()
		b.Add(object)
		return
	}
	b.Store.Change(object, set)
}

// TestCleanedElsewhere checks that nothing is deleted of a class that another process cleans up, whose record remains unchanged, until that
// process has been silent for as long as its tenure.
func TestCleanedElsewhere(t *testing.T) {
	b := newNamedBench(t, "a", "b")
	b.taken("local", "_record."+localvolumetest.RecordNamespace)
	volume, claim := b.Bind("c", "a")
	b.pass(time.Second)
	b.LoseNode("a")
	var events []string
	for range 20 { // the other one renews its tenure
		b.pass(time.Minute)
		b.taken("local")
		events = append(events, b.Events()...)
	}
	b.kept("another process cleans up", claim, volume)
	if !has(events, "Warning LocalVolumesCleanedElsewhere groundskeeper-missing-nodes: ", "storage class local is cleaned up by two") ||
		!has(events, "Normal LocalVolumeCleanupSkipped c: ", "config map kube-system/groundskeeper-local-volume-cleaners") {
		t.Errorf("events %q", events)
	}
	if n := strings.Count(strings.Join(events, "\n"), "Normal LocalVolumeCleanupSkipped"); n != 1 {
		t.Errorf("%d events about the claim, want 1: %q", n, events)
	}
	if record := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}); !b.Exists(record) {
		t.Error("the record of a process that is silent has not been taken over")
	}
	for range 9 {
		b.pass(time.Minute)
	}
	b.kept("the other process may be alive", claim)
	b.pass(time.Minute)
	b.pass(time.Minute)
	b.expectDeleted("the other process has been silent for ten minutes", claim)
	if events := b.Events(); !has(events, "Normal LocalVolumesCleanedHere groundskeeper-missing-nodes", "") {
		t.Errorf("events %q", events)
	}
}

// TestRecordOfAnother checks that two that write one record with different classes do not overwrite what the other one knows.
func TestRecordOfAnother(t *testing.T) {
	b := newNamedBench(t, "a", "b")
	b.taken("_record." + localvolumetest.RecordNamespace)
	_, claim := b.Bind("c", "a")
	b.pass(time.Second)
	b.LoseNode("a")
	b.pass(localvolumetest.Delay)
	b.pass(time.Second)
	b.expectDeleted("the class is its own", claim)
	if record := (&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}); b.Exists(record) {
		t.Error("the record of another process was written")
	}
}

// TestTenure checks what is recorded: at the beginning, after a restart, and only as often as necessary.
func TestTenure(t *testing.T) {
	b := newNamedBench(t, "a", "b")
	b.pass(time.Second)
	want := []string{"_record." + localvolumetest.RecordNamespace, "local"}
	if got := slices.Sorted(maps.Keys(b.cleaners().Data)); !slices.Equal(got, want) {
		t.Errorf("keys = %q, want %q", got, want)
	}
	first := b.cleaners().Data["local"]
	b.Requests()
	for range 10 {
		b.pass(10 * time.Second)
	}
	if requests := b.Requests(); len(requests) > 0 {
		t.Errorf("requests = %q, want none before a renewal is due", requests)
	}
	if next := b.pass(time.Second); next == 0 || next > 2*time.Minute {
		t.Errorf("the next reconciliation is after %s, want the renewal", next)
	}
	b.pass(30 * time.Second)
	if renewed := b.cleaners().Data["local"]; renewed == first || !strings.Contains(renewed, `"holder":"one"`) {
		t.Errorf("value = %s, want a renewal of %s", renewed, first)
	}
	// A process that restarts, or another replica of it, continues immediately.
	_, claim := b.Bind("c", "a")
	b.restartAs("one", nil)
	b.pass(time.Second)
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(localvolumetest.Delay)
	b.expectDeleted("the tenure is its own", claim)
}

// TestTenureLost checks that a tenure that another process has taken, as after the ConfigMap was deleted, ends all deletions immediately.
func TestTenureLost(t *testing.T) {
	b := newNamedBench(t, "a", "b")
	_, claim := b.Bind("c", "a")
	b.pass(time.Second)
	b.LoseNode("a")
	b.pass(time.Second)
	b.Store.Remove(b.cleaners())
	b.taken("local")
	b.pass(localvolumetest.Delay)
	b.kept("another process took it over a moment ago", claim)
}

// TestTenureUnknown checks that nothing is deleted while it cannot be read or written who cleans up, and that missing permissions, which the
// original does not have either, change nothing.
func TestTenureUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		err     error
		deleted bool
	}{
		"an error":       {err: errors.New("failed")},
		"no permissions": {err: apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, localvolume.CleanersName, nil), deleted: true},
	} {
		t.Run(name, func(t *testing.T) {
			b := newNamedBench(t, "a", "b")
			_, claim := b.Bind("c", "a")
			b.pass(time.Second)
			b.LoseNode("a")
			b.pass(time.Second)
			b.Intercept = func(request string) error {
				if strings.HasSuffix(request, "configmap") {
					return c.err
				}
				return nil
			}
			_, _ = b.after(localvolumetest.Delay)
			_, _ = b.after(10 * time.Second)
			if got := !b.Exists(claim); got != c.deleted {
				t.Errorf("deleted = %t, want %t", got, c.deleted)
			}
		})
	}
}

// TestDryRunHoldsNothing checks that a process that deletes nothing keeps no other one from doing so.
func TestDryRunHoldsNothing(t *testing.T) {
	b := newNamedBench(t, "a")
	b.restartAs("one", func(config *configv1alpha1.LocalVolumeConfiguration) { config.DryRun = new(true) })
	b.pass(time.Second)
	if value, held := b.cleaners().Data["local"]; held {
		t.Errorf("the class is held: %s", value)
	}
}
