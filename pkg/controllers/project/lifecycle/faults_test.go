// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/test/support/faulttest"
)

// restart starts another process, which is behind the gate.
func (c *cluster) restart(g *faulttest.Gate) {
	r := *c.reconciler
	r.client, r.live = g.Client(c.store.Client(), c.store), g.Live(c.store.Live(), c.store)
	c.followed.live = r.live
	c.reconciler = &r
}

// inventory returns the objects of all Projects.
func (c *cluster) inventory() faulttest.Inventory {
	c.t.Helper()
	return faulttest.Objects(c.t, c.store, &gardenerv1beta1.ProjectList{}, &corev1.NamespaceList{}, &corev1.ResourceQuotaList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{})
}

// unlike returns what a Project lacks, or has in another state than it should be in.
func (c *cluster) unlike(project *gardenerv1beta1.Project) string {
	for _, desired := range append(desiredRBAC(project), desiredQuota(project, c.reconciler.quotas)) {
		found := desired.DeepCopyObject().(client.Object)
		if !c.exists(desired.GetNamespace(), desired.GetName(), found) || !equality.Semantic.DeepEqual(found, merged(found, desired)) {
			return describe(desired)
		}
	}
	return ""
}

// TestEveryFault checks that a Project that is created, changed and deleted has the same end whatever happens at any of the requests,
// and that another Project keeps everything.
func TestEveryFault(t *testing.T) {
	faulttest.Loop{Start: func(t *testing.T, g *faulttest.Gate) *faulttest.Life {
		t.Helper()
		c := newCluster(t)
		c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
		c.project("live", withMembers(member("bob", "viewer", "extension:a")))
		c.settle("live")
		before := c.inventory()
		c.restart(g)
		namespace := gardenerv1beta1.GeneratedNamespace("dev", "project-dev")
		var uid types.UID
		terminating := func() bool {
			ns := &corev1.Namespace{}
			return c.exists("", namespace, ns) && ns.UID == uid && !ns.DeletionTimestamp.IsZero()
		}
		// Another client's quota is not replaced, which is an error that names the remedy.
		othersQuota := func() bool {
			quota := &corev1.ResourceQuota{}
			return c.exists(namespace, quotaName, quota) && quota.Annotations[annotationProjectUID] == ""
		}
		return &faulttest.Life{
			Step: func(ctx context.Context) error {
				if _, err := c.reconciler.Reconcile(ctx, requestFor("dev")); err != nil && !othersQuota() {
					return err
				}
				return nil
			},
			Restart: func() { c.restart(g) }, Freeze: c.store.FreezeAround(&gardenerv1beta1.Project{}), Thaw: c.store.CatchUp,
			Acts: []faulttest.Act{
				{Name: "create", Do: func() { c.project("dev", withMembers(member("bob", "viewer", "extension:a"))) }, Left: func() string {
					if phase := c.current("dev").Status.Phase; phase != gardenerv1beta1.ProjectReady {
						return "phase " + string(phase)
					}
					return c.unlike(c.current("dev"))
				}},
				{Name: "change", Do: func() {
					change(c, testProject("dev"), func(p *gardenerv1beta1.Project) { p.Spec.Members[1], p.Generation = member("bob", "uam"), 2 })
				}, Left: func() string { return c.unlike(c.current("dev")) }},
				{Name: "limit other objects", Do: func() {
					change(c, desiredQuota(c.current("dev"), c.reconciler.quotas), func(q *corev1.ResourceQuota) {
						q.Spec.Hard, q.Spec.Scopes = limits("pods", "9"), []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
					})
				}, Left: func() string {
					quota, want := &corev1.ResourceQuota{}, corev1.ResourceQuotaSpec{Hard: limits("pods", "9")}
					if c.exists(namespace, quotaName, quota) && equality.Semantic.DeepEqual(quota.Spec, want) || othersQuota() {
						return ""
					}
					return "the raised limit of the quota"
				}},
				{Name: "delete", Do: func() {
					ns := &corev1.Namespace{}
					c.read("", namespace, ns)
					uid = ns.UID
					c.store.Add(configMap(namespace, "held", hold))
					c.store.Remove(c.current("dev"))
				}, Left: func() string {
					if terminating() {
						return "a namespace that an object holds is being deleted"
					}
					reported := conditions.Find(c.current("dev").Status.Conditions, gardenerv1beta1.ProjectDeletable)
					if reported.Reason == reasonNamespaceNotEmpty {
						return ""
					}
					return "the condition Deletable"
				}},
				{Name: "let go", Do: func() {
					change(c, configMap(namespace, "held"), func(object *corev1.ConfigMap) { object.Finalizers = nil })
				}, Left: func() string {
					if !c.hasProject() || terminating() {
						return ""
					}
					return "the namespace"
				}},
				{Name: "finish", Do: func() {
					if terminating() {
						c.finishDeletion(namespace)
						g.NamespaceDeleted(namespace)
					}
				}, Left: func() string {
					if c.hasProject() {
						return "the Project"
					}
					return ""
				}},
			},
			Check: func() error {
				var left error
				made := testProject("dev")
				withMembers(member("bob", "viewer", "extension:a"))(made)
				for _, object := range desiredRBAC(made) {
					found := object.DeepCopyObject().(client.Object)
					if object.GetNamespace() == "" && c.exists("", object.GetName(), found) && wasCreatedFor(made, found) {
						left = errors.Join(left, fmt.Errorf("%s is left", describe(object)))
					}
				}
				return errors.Join(left, faulttest.Living(before, c.inventory(), nil))
			},
		}
	}}.Test(t)
}
