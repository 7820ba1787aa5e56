// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// TestEveryFault checks that a Project that nothing uses is marked and then deleted, that one that is used remains unmarked, and that one
// is not deleted whose use the watches do not show, whatever happens at any of the requests.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		used, usedNamespace := testProject(), testNamespace()
		used.Name, used.UID, used.Spec.Namespace = "used", "2", new("garden-used")
		usedNamespace.Name, usedNamespace.Annotations[gardenerv1beta1.AnnotationProjectUID] = "garden-used", "2"
		late, lateNamespace := testProject(), testNamespace()
		late.Name, late.UID, late.Spec.Namespace = "late", "3", new("garden-late")
		lateNamespace.Name, lateNamespace.Annotations[gardenerv1beta1.AnnotationProjectUID] = "garden-late", "3"
		c := newCluster(t, testProject(), testNamespace(), used, usedNamespace, late, lateNamespace)
		restart := func() {
			process := g.Process()
			use := func(verb string, live bool) func(context.Context, string) (string, error) {
				return func(_ context.Context, namespace string) (use string, err error) {
					look := func() error {
						if namespace == "garden-used" || live && namespace == "garden-late" {
							use = "shoots"
						}
						return nil
					}
					if !live {
						err = look()
						return use, err
					}
					err = g.Do(faulttest.Request{Verb: verb, Object: "use of " + namespace}, process, look)
					return use, err
				}
			}
			r := *c.reconciler
			r.client, r.live = g.Client(c.store.Client(), c.store), g.Live(c.store.Live(), c.store)
			r.watchedUse, r.liveUse = use("watch", false), use("list", true)
			c.reconciler = &r
		}
		restart()
		projects := func() faulttest.Inventory { return faulttest.Objects(t, c.store, &gardenerv1beta1.ProjectList{}) }
		before := projects()
		day := func(days float64, marks string) faulttest.Act {
			return faulttest.Act{Name: marks, Do: func() { c.time.SetTime(at(days)) }, Left: func() string {
				// The Project that another client created under the same name is another one.
				if now := c.project(); !strings.HasPrefix(c.marks(), marks) && (now == nil || now.UID == "1") {
					return c.marks()
				}
				return ""
			}}
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				for _, name := range []string{"used", "late", "dev"} {
					if _, err := c.Reconcile(ctx, reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
						return err
					}
				}
				return nil
			},
			Restart: restart, Freeze: c.store.FreezeAround(&gardenerv1beta1.Project{}), Thaw: c.store.CatchUp,
			Acts: []faulttest.Act{day(30, "30 - "), day(44, "30 120 "), day(119, "30 120 DeletionImminent"), day(120, "gone")},
			Check: func() error {
				project := &gardenerv1beta1.Project{}
				if err := c.store.Get(t.Context(), client.ObjectKey{Name: "used"}, project); err == nil && project.Status.StaleSinceTimestamp != nil {
					t.Error("the used Project is marked as stale")
				}
				return faulttest.Living(before, projects(), func(name string) bool { return name == "Project dev" })
			},
		}
	}}.Test(t)
}
