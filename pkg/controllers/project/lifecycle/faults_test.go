// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// TestEveryWriteFailsOnce checks that the final state is the same, whichever write of a lifecycle fails once: with a rejection, a
// conflict, or a lost response, as after a crash.
func TestEveryWriteFailsOnce(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, "x", errors.New("changed"))
	for name, test := range map[string]struct {
		err  error
		lost bool
	}{
		"refused":       {errors.New("refused"), false},
		"conflict":      {conflict, false},
		"response lost": {errors.New("connection reset"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			number := 0
			for liveAndDie(t, number, test.err, test.lost) {
				number++
			}
			// 16 to make it with an extension role and a quota, 5 to change it, 4 to delete it.
			if number < 25 {
				t.Errorf("only %d writes were there to fail", number)
			}
		})
	}
}

// liveAndDie makes a Project, changes it, and deletes it, and the write with the given number fails. It reports whether there is
// one.
func liveAndDie(t *testing.T, number int, fault error, lost bool) bool {
	t.Helper()
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "5"), nil))
	failed, count := "", 0
	settle := func() {
		t.Helper()
		for range 10 {
			before := count
			c.store.Reset()
			c.store.Lost = lost
			c.store.Fault = func(_ int, w kubetest.Write) error {
				write := w.String()
				count++
				if count-1 == number {
					failed = write
					return fault
				}
				return nil
			}
			if _, err := c.reconcile("dev"); err == nil && count == before {
				return
			}
		}
		t.Fatalf("it does not settle after %q failed", failed)
	}

	project := c.project("dev", withMembers(member("bob", "viewer", "extension:a")))
	settle()
	if status := c.current("dev").Status; status.Phase != gardenerv1beta1.ProjectReady {
		t.Fatalf("after %q failed: %+v", failed, status)
	}

	change(c, project, func(p *gardenerv1beta1.Project) { p.Spec.Members[1], p.Generation = member("bob", "uam"), 2 })
	settle()
	project = c.current("dev")
	for _, desired := range append(desiredRBAC(project), desiredQuota(project, c.reconciler.quotas)) {
		found := desired.DeepCopyObject().(client.Object)
		c.read(desired.GetNamespace(), desired.GetName(), found)
		if !equality.Semantic.DeepEqual(found, merged(found, desired)) {
			t.Errorf("after %q failed %s is not as it should be", failed, describe(desired))
		}
	}
	if c.exists("", extensionRoleName(project, "a"), &rbacv1.ClusterRole{}) ||
		c.exists(*project.Spec.Namespace, extensionRoleName(project, "a"), &rbacv1.RoleBinding{}) {
		t.Errorf("after %q failed an extension role is left", failed)
	}

	c.store.Remove(project)
	settle()
	namespace := &corev1.Namespace{}
	c.read("", *project.Spec.Namespace, namespace)
	if namespace.DeletionTimestamp.IsZero() || !c.hasProject() {
		t.Fatalf("after %q failed: namespace deleted at %v", failed, namespace.DeletionTimestamp)
	}
	c.finishDeletion(namespace.Name)
	settle()
	if c.hasProject() {
		t.Fatalf("after %q failed the Project stays", failed)
	}
	return failed != ""
}
