// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

func newDeleterBench(t *testing.T, configure func(*configv1alpha1.LocalVolumeConfiguration), nodes ...string) *bench {
	t.Helper()
	w := localvolumetest.New(t, configure, nodes...)
	return &bench{World: w, r: newDeleter(w.Site)}
}

// volume creates a volume, and adds it to the cache.
func (b *bench) volume(name, node string, phase corev1.PersistentVolumePhase, policy corev1.PersistentVolumeReclaimPolicy, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	b.T.Helper()
	volume := localvolumetest.Volume(name, node, append(change, func(v *corev1.PersistentVolume) {
		v.Status.Phase, v.Spec.PersistentVolumeReclaimPolicy = phase, policy
	})...)
	b.Add(volume)
	b.Sync()
	return volume
}

func (b *bench) deletions() int {
	count := 0
	for _, request := range b.Requests() {
		if strings.HasPrefix(request, "delete") {
			count++
		}
	}
	return count
}

const (
	deletes = corev1.PersistentVolumeReclaimDelete
	retains = corev1.PersistentVolumeReclaimRetain
)

func TestVolumesOfLostNodes(t *testing.T) {
	for name, test := range map[string]struct {
		phase     corev1.PersistentVolumePhase
		policy    corev1.PersistentVolumeReclaimPolicy
		node      string // "a" is lost, "b" lives
		change    func(*corev1.PersistentVolume)
		configure func(*configv1alpha1.LocalVolumeConfiguration)
		deleted   bool
		event     string
	}{
		"Released, Delete":     {corev1.VolumeReleased, deletes, "a", nil, nil, true, "Normal LocalVolumeCleanupDeleting v: Deleting the volume in phase Released, because node a does not exist."},
		"Available, Delete":    {corev1.VolumeAvailable, deletes, "a", nil, nil, true, "Normal LocalVolumeCleanupDeleting v: Deleting the volume in phase Available, because node a does not exist."},
		"Available, Retain":    {corev1.VolumeAvailable, retains, "a", nil, nil, true, "Normal LocalVolumeCleanupDeleting v: Deleting the volume in phase Available, because node a does not exist."},
		"Released, Retain":     {corev1.VolumeReleased, retains, "a", nil, nil, false, "Normal LocalVolumeCleanupSkipped v: Node a does not exist, but the volume is retained: its reclaim policy is Retain."},
		"Bound":                {corev1.VolumeBound, deletes, "a", nil, nil, false, ""},
		"Failed":               {corev1.VolumeFailed, deletes, "a", nil, nil, false, "Normal LocalVolumeCleanupSkipped v: Node a does not exist, but the volume is retained: its phase is Failed, and volumes that failed are not included."},
		"Failed, included":     {corev1.VolumeFailed, deletes, "a", nil, func(c *configv1alpha1.LocalVolumeConfiguration) { c.IncludeFailedVolumes = new(true) }, true, "Normal LocalVolumeCleanupDeleting v: Deleting the volume in phase Failed, because node a does not exist."},
		"its node exists":      {corev1.VolumeReleased, deletes, "b", nil, nil, false, ""},
		"another class":        {corev1.VolumeReleased, deletes, "a", func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = "other" }, nil, false, ""},
		"a CSI source":         {corev1.VolumeReleased, deletes, "a", func(v *corev1.PersistentVolume) { v.Spec.Local, v.Spec.CSI = nil, &corev1.CSIPersistentVolumeSource{} }, nil, false, ""},
		"not node-bound":       {corev1.VolumeReleased, deletes, "a", func(v *corev1.PersistentVolume) { v.Spec.NodeAffinity = nil }, nil, false, ""},
		"opted out":            {corev1.VolumeAvailable, deletes, "a", optOut[*corev1.PersistentVolume], nil, false, "Normal LocalVolumeCleanupSkipped v: Node a does not exist, but the volume is retained: its annotation groundskeeper.io/local-volume-cleanup is \"disabled\"."},
		"dry run":              {corev1.VolumeAvailable, deletes, "a", nil, func(c *configv1alpha1.LocalVolumeConfiguration) { c.DryRun = new(true) }, false, "Normal LocalVolumeCleanupSkipped v: Dry run: this volume would be deleted, because node a does not exist."},
		"no class is opted in": {corev1.VolumeAvailable, deletes, "a", nil, func(c *configv1alpha1.LocalVolumeConfiguration) { c.StorageClassNames = nil }, false, ""},
		"its namespace opted out": {corev1.VolumeReleased, deletes, "a", func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "kept", Name: "c"}
		}, nil, false, "Normal LocalVolumeCleanupSkipped v: Node a does not exist, but the volume is retained: the annotation groundskeeper.io/local-volume-cleanup of the namespace of its claim is \"disabled\"."},
		"its namespace is no more": {corev1.VolumeReleased, deletes, "a", func(v *corev1.PersistentVolume) {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "gone", Name: "c"}
		}, nil, true, "Normal LocalVolumeCleanupDeleting v: Deleting the volume in phase Released, because node a does not exist."},
	} {
		t.Run(name, func(t *testing.T) {
			b := newDeleterBench(t, test.configure, "a", "b", "unused")
			kept := &corev1.Namespace{}
			kept.Name = "kept"
			optOut(kept)
			b.Add(kept)
			var changes []func(*corev1.PersistentVolume)
			if test.change != nil {
				changes = append(changes, test.change)
			}
			volume := b.volume("v", test.node, test.phase, test.policy, changes...)
			b.LoseNode("a")
			for range 3 {
				b.pass(time.Minute)
			}
			if deleted := !b.Exists(volume); deleted != test.deleted {
				t.Errorf("deleted is %v", deleted)
			}
			want := []string{}
			if test.event != "" {
				want = append(want, test.event)
			}
			if diff := cmp.Diff(want, append([]string{}, b.Events()...)); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
			count := testutil.ToFloat64(b.Site.Metrics.VolumesDeleted.WithLabelValues(string(test.phase)))
			if want := map[bool]float64{true: 1}[test.deleted]; count != want {
				t.Errorf("%v deletions are counted", count)
			}
		})
	}
}

// TestDeleterInterval checks that the interval is a fallback: it triggers checks only while something is stale.
func TestDeleterInterval(t *testing.T) {
	b := newDeleterBench(t, nil, "a", "b")
	b.volume("v", "a", corev1.VolumeBound, deletes)
	if next := b.pass(time.Second); next != 0 {
		t.Errorf("nothing is stale, the next reconciliation is after %s", next)
	}
	b.LoseNode("a")
	if next := b.pass(time.Second); next != 10*time.Second || b.deletions() > 0 {
		t.Errorf("a volume that is bound: the next reconciliation is after %s", next)
	}
}

// TestDeleterSettles checks that a node has to be missing for a short time.
func TestDeleterSettles(t *testing.T) {
	b := newDeleterBench(t, nil, "a", "b")
	volume := b.volume("v", "a", corev1.VolumeAvailable, deletes)
	b.pass(time.Second)
	b.Clock.Step(time.Second)
	b.LoseNode("a")
	if next := b.pass(0); next != time.Second || !b.Exists(volume) {
		t.Errorf("the next reconciliation is after %s", next)
	}
	b.pass(time.Second)
	if b.Exists(volume) {
		t.Error("it is still there")
	}
}

// TestDeleterFinalizer checks that a volume with a finalizer is deleted, reported and counted once.
func TestDeleterFinalizer(t *testing.T) {
	b := newDeleterBench(t, nil, "a", "b")
	b.volume("v", "a", corev1.VolumeReleased, deletes, func(v *corev1.PersistentVolume) { v.Finalizers = []string{"example.com/foreign"} })
	b.LoseNode("a")
	b.Sleep(time.Minute)
	for range 2 { // the cache does not see the deletion yet
		if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
			t.Fatal(err)
		}
		b.Clock.Step(time.Second)
	}
	b.pass(time.Minute)
	b.pass(time.Minute)
	if n := b.deletions(); n != 1 || len(b.Events()) != 1 || testutil.ToFloat64(b.Site.Metrics.VolumesDeleted.WithLabelValues("Released")) != 1 {
		t.Errorf("%d deletions", n)
	}
}

// TestDeleterPreconditions checks that exactly the volume of the decision is deleted, in the same state.
func TestDeleterPreconditions(t *testing.T) {
	b := newDeleterBench(t, nil, "a", "b")
	volume := b.volume("v", "a", corev1.VolumeAvailable, deletes)
	b.LoseNode("a")
	b.pass(0)
	localvolumetest.Change(b.World, volume, func(v *corev1.PersistentVolume) { v.Status.Phase = corev1.VolumeBound })
	b.Sleep(time.Minute) // and the cache is late
	if _, err := b.r.Reconcile(t.Context(), localvolume.Pass{}); err != nil {
		t.Fatal(err)
	}
	if b.deletions() != 1 || !b.Exists(volume) {
		t.Error("a volume that was bound meanwhile")
	}
}

func TestDeleterDeletionFails(t *testing.T) {
	b := newDeleterBench(t, nil, "a", "b")
	b.volume("v", "a", corev1.VolumeAvailable, deletes)
	b.LoseNode("a")
	b.Intercept = func(request string) error {
		if strings.HasPrefix(request, "delete") {
			return errors.New("a webhook denies it")
		}
		return nil
	}
	b.pass(time.Minute)
	if got := testutil.ToFloat64(b.Site.Metrics.VolumesFailed.WithLabelValues("Available")); got != 1 {
		t.Errorf("%v failures are counted", got)
	}
}

// TestDeleterGuards checks that the protections of claims apply to volumes, too.
func TestDeleterGuards(t *testing.T) {
	for name, prepare := range map[string]func(*bench){
		"the nodes cannot be read": func(b *bench) {
			b.Intercept = func(request string) error {
				if request == "list nodes" {
					return errors.New("timeout")
				}
				return nil
			}
		},
		"the node is there":                func(b *bench) { b.MakeNode("a") },
		"too many nodes have been deleted": func(b *bench) { b.LoseNode("b", "c") },
		"nothing is known": func(b *bench) {
			b.Site.Inventory = localvolume.NewInventory(b.Site.Config, b.Clock)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newDeleterBench(t, nil, "a", "b", "c", "d")
			var volumes []client.Object
			for _, node := range []string{"a", "b", "c", "d"} {
				volumes = append(volumes, b.volume("v"+node, node, corev1.VolumeAvailable, deletes))
			}
			b.LoseNode("a")
			prepare(b)
			_, _ = b.after(time.Hour)
			if n := b.deletions(); n > 0 || slices.ContainsFunc(volumes, func(v client.Object) bool { return !b.Exists(v) }) {
				t.Errorf("%d deletions", n)
			}
		})
	}
}

func TestDeleterNotSynced(t *testing.T) {
	b := newDeleterBench(t, nil, "a")
	volume := b.volume("v", "gone", corev1.VolumeAvailable, deletes)
	b.Site.Inventory = localvolume.NewInventory(b.Site.Config, b.Clock)
	if _, err := b.after(time.Hour); err == nil {
		t.Error("a reconciliation without synced caches")
	}
	if !b.Exists(volume) {
		t.Error("nothing is known yet, and the volume was deleted")
	}
}
