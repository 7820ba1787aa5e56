// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// TestEveryFault checks that the claim of a node that was deleted is deleted, and no claim of a node that lives or that came back,
// which the process need not have seen, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	record := func(r *faulttest.Request) bool { return strings.HasPrefix(r.Object, "ConfigMap ") }
	faulttest.Loop{Beats: record, Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		b := newBench(t, nil, "lost", "lives", "flaps", "returns", "other-1", "other-2", "other-3")
		_, lost := b.Bind("lost", "lost")
		for _, node := range []string{"lives", "flaps", "returns"} {
			b.Bind(node, node)
		}
		b.Wrap = func(c client.WithWatch) client.WithWatch { return g.Live(c, b.Store) }
		b.restart(nil)
		frozen := false
		var late []func()
		// event lets the process know of a node, later if its cache is frozen.
		event := func(happen func()) {
			if frozen {
				late = append(late, happen)
				return
			}
			happen()
		}
		lose := func(name string) {
			b.Store.Remove(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}})
			event(func() { b.Site.Inventory.RemoveNode(name) })
		}
		claims := func() faulttest.Inventory {
			return faulttest.Objects(t, b.Store, &corev1.PersistentVolumeClaimList{})
		}
		before := claims()
		// act lets so much time pass after something.
		var until time.Time
		act := func(name string, d time.Duration, do func()) faulttest.Act {
			return faulttest.Act{Name: name, Do: func() { do(); until = b.Clock.Now().Add(d) }, Left: func() string {
				if b.Clock.Now().Before(until) {
					return "the time until " + until.String()
				}
				return ""
			}}
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				b.Sleep(10 * time.Second)
				if !frozen {
					b.Sync()
				}
				_, err := b.r.Reconcile(ctx, localvolume.Pass{})
				return err
			},
			Restart: func() { b.restart(nil) },
			Freeze:  func(bool) { frozen = true },
			Thaw: func() {
				frozen = false
				for _, happen := range late {
					happen()
				}
			},
			Acts: []faulttest.Act{
				act("nodes are deleted", localvolumetest.Delay/2, func() { lose("lost"); lose("returns") }),
				act("a node returns unseen", 0, func() { b.MakeNode("returns") }),
				act("another one flaps", 2*localvolumetest.Delay, func() {
					lose("flaps")
					node := b.MakeNode("flaps")
					event(func() { b.Site.Inventory.SetNode(node) })
				}),
				{Name: "the delay is over", Do: func() {}, Left: func() string {
					if b.Exists(lost) && !g.IsStranger(lost, lost.Namespace, lost.Name) {
						return "the claim"
					}
					return ""
				}},
			},
			Check: func() error {
				return faulttest.Living(before, claims(), func(name string) bool { return name == "PersistentVolumeClaim default/lost" })
			},
		}
	}}.Test(t)
}
