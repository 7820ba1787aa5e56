// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// TestNodeReturnsDuringBatch checks that a Node that is registered after a batch began keeps the claims whose turn has not come,
// although neither the list at the beginning nor a watch event has it.
func TestNodeReturnsDuringBatch(t *testing.T) {
	register := func(name string, labels map[string]string) func(*bench) {
		return func(b *bench) { b.Add(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}) }
	}
	for name, returns := range map[string]func(*bench){
		"under its name":                 register("a", map[string]string{corev1.LabelHostname: "a"}),
		"under its name without a label": register("a", nil),
		"under another name":             register("n", map[string]string{corev1.LabelHostname: "a"}),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, func(c *configv1alpha1.LocalVolumeConfiguration) { c.WorkerThreads = new(int32(1)) }, "a", "b")
			var claims []*corev1.PersistentVolumeClaim
			for i := range 5 {
				_, claim := b.Bind(fmt.Sprintf("c%d", i), "a")
				claims = append(claims, claim)
			}
			b.LoseNode("a")
			b.pass(time.Second)
			deletions := 0
			b.Deleting = func(string) {
				if deletions++; deletions == 2 {
					returns(b)
				}
			}
			b.pass(localvolumetest.Delay)
			kept := 0
			for _, claim := range claims {
				if b.Exists(claim) {
					kept++
				}
			}
			if kept != len(claims)-2 {
				t.Errorf("%d of %d claims are retained, want all except the 2 that were deleted before the node returned", kept, len(claims))
			}
		})
	}
}

// TestProbeFails checks that a claim is retained while its Node cannot be found out, and deleted when it can again.
func TestProbeFails(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.Intercept = func(request string) error {
		if request == "find nodes" {
			return errors.New("unavailable")
		}
		return nil
	}
	b.pass(localvolumetest.Delay)
	b.kept("its node cannot be found out", claim)
	b.Intercept = nil
	b.pass(time.Minute)
	b.expectDeleted("its node is known not to exist", claim)
}

// TestNodeReturnsDuringProbe checks that a claim is retained whose Node was there while it was read live, although what was read lacks it.
func TestNodeReturnsDuringProbe(t *testing.T) {
	b := newBench(t, nil, "a", "b")
	_, claim := b.Bind("c", "a")
	b.LoseNode("a")
	b.pass(time.Second)
	b.Intercept = func(request string) error {
		if request == "find nodes" {
			b.Intercept = nil
			b.AddNode("a")
			b.LoseNode("a")
		}
		return nil
	}
	b.pass(localvolumetest.Delay)
	if b.Intercept != nil {
		t.Fatal("the node was not read before the deletion")
	}
	b.kept("the delay starts over", claim)
	b.pass(localvolumetest.Delay)
	b.expectDeleted("the delay is over", claim)
}
