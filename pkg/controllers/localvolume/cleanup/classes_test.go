// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

func byAnnotation(c *configv1alpha1.LocalVolumeConfiguration) { c.StorageClassAnnotations = new(true) }

// annotate reports the annotations of a class, given as key and value in turns.
func (b *bench) annotate(class string, annotations ...string) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: class, Annotations: map[string]string{}}}
	for i := 0; i < len(annotations); i += 2 {
		object.Annotations[annotations[i]] = annotations[i+1]
	}
	b.Site.SetClass(object)
}

// bindOf is Bind for a class.
func (b *bench) bindOf(class, name, node string) *corev1.PersistentVolumeClaim {
	b.T.Helper()
	volume, claim := b.Bind(name, node)
	localvolumetest.Change(b.World, volume, func(v *corev1.PersistentVolume) { v.Spec.StorageClassName = class })
	b.Sync()
	return claim
}

// TestClassDelay checks that a class has its own delay, from when its annotation says so.
func TestClassDelay(t *testing.T) {
	for name, test := range map[string]struct{ delay, first, rest time.Duration }{
		"longer":  {10 * time.Minute, 9 * time.Minute, time.Minute},
		"shorter": {20 * time.Second, 19 * time.Second, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, byAnnotation, "a", "b")
			b.annotate("local", localvolume.DelayAnnotation, test.delay.String())
			_, claim := b.Bind("c", "a")
			b.LoseNode("a")
			b.pass(0)
			b.pass(test.first)
			b.kept("the delay of its class is not over", claim)
			b.pass(test.rest + time.Second)
			b.expectDeleted("the delay of its class is over", claim)
		})
	}
}

// TestClassOptIn checks that a class that is not configured is opted in by its annotation alone, exactly while it has that.
func TestClassOptIn(t *testing.T) {
	b := newBench(t, byAnnotation, "a", "b")
	claim := b.bindOf("fast", "c", "a")
	other := b.bindOf("other", "o", "a")
	b.LoseNode("a")
	b.annotate("fast", localvolume.OptOutAnnotation, localvolume.OptInValue)
	b.pass(time.Second)
	b.annotate("fast")
	b.pass(2 * localvolumetest.Delay)
	b.kept("its class is not opted in any more", claim, other)
	b.annotate("fast", localvolume.OptOutAnnotation, localvolume.OptInValue)
	b.Site.RemoveClass("fast")
	b.pass(2 * localvolumetest.Delay)
	b.kept("its class was deleted", claim, other)
	b.annotate("fast", localvolume.OptOutAnnotation, localvolume.OptInValue)
	b.pass(2 * localvolumetest.Delay)
	b.expectDeleted("its class is opted in", claim)
	b.kept("its class is not opted in", other)
}

// TestClassKept checks that a class whose annotations are not understood retains its claims and volumes, which get an event.
func TestClassKept(t *testing.T) {
	for annotation, value := range map[string]string{localvolume.OptOutAnnotation: "Enabled", localvolume.DelayAnnotation: "ten minutes"} {
		t.Run(annotation, func(t *testing.T) {
			b := newBench(t, byAnnotation, "a", "b")
			b.annotate("local", annotation, value)
			_, claim := b.Bind("c", "a")
			b.LoseNode("a")
			b.pass(time.Second)
			b.pass(2 * localvolumetest.Delay)
			b.kept("its class is retained", claim)
			if events := b.Events(); !has(events, "Normal LocalVolumeCleanupSkipped c: Node a does not exist, but the claim is retained: the annotation "+annotation+" of its storage class", value) {
				t.Errorf("events %v", events)
			}
			b.Site.RemoveClass("local")
			b.pass(time.Second)
			b.kept("its class may be created again", claim)
			b.annotate("local")
			b.pass(time.Second)
			b.expectDeleted("its class has no such annotation any more", claim)
		})
	}
}

// TestClassTenure checks that a class that is opted in by annotation is cleaned up by one process only.
func TestClassTenure(t *testing.T) {
	b := newBench(t, byAnnotation, "a", "b")
	b.Holder = "first"
	b.Restart(byAnnotation)
	b.r = newReconciler(b.Site)
	b.annotate("fast", localvolume.OptOutAnnotation, localvolume.OptInValue)
	b.pass(time.Second)
	b.Holder = "second"
	b.Restart(byAnnotation)
	b.r = newReconciler(b.Site)
	b.annotate("fast", localvolume.OptOutAnnotation, localvolume.OptInValue)
	claim := b.bindOf("fast", "c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.pass(2 * localvolumetest.Delay)
	b.kept("another process cleans up its class", claim)
}
