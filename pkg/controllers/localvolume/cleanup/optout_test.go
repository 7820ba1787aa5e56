// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// TestMisspelledOptOut checks that every value of the annotation except "enabled" retains the claim, wherever it is set, and that an
// event has the value.
func TestMisspelledOptOut(t *testing.T) {
	for place, object := range map[string]func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) client.Object{
		"claim":  func(_ *corev1.PersistentVolume, c *corev1.PersistentVolumeClaim) client.Object { return c },
		"volume": func(v *corev1.PersistentVolume, _ *corev1.PersistentVolumeClaim) client.Object { return v },
		"namespace": func(*corev1.PersistentVolume, *corev1.PersistentVolumeClaim) client.Object {
			return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		},
	} {
		for _, value := range []string{"disabled", "Disabled", "disabled ", "false", "true", "off", "no", "", "Enabled", "enabled"} {
			t.Run(fmt.Sprintf("%s %q", place, value), func(t *testing.T) {
				b := newBench(t, nil, "a", "b")
				volume, claim := b.Bind("c", "a")
				localvolumetest.Change(b.World, object(volume, claim), func(o client.Object) {
					o.SetAnnotations(map[string]string{localvolume.OptOutAnnotation: value})
				})
				b.Sync()
				b.LoseNode("a")
				b.pass(time.Second)
				b.pass(2 * localvolumetest.Delay)
				if value == "enabled" {
					b.expectDeleted("it is opted in", claim)
					return
				}
				b.kept("it is opted out", claim)
				if events := b.Events(); !has(events, "Normal LocalVolumeCleanupSkipped c: ", fmt.Sprintf("is %q", value)) {
					t.Errorf("events = %q, want one with the value", events)
				}
			})
		}
	}
}
