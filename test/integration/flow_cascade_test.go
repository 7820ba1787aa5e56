// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestRolesAreRetainedWithEveryPropagationPolicy checks that the members keep their roles until the Project is deleted, with every
// propagation policy: the garbage collector neither deletes the roles early nor leaves them.
func TestRolesAreRetainedWithEveryPropagationPolicy(t *testing.T) {
	t.Parallel()
	for policy, finalizer := range map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationBackground: "",
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
		metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	} {
		t.Run(string(policy), func(t *testing.T) {
			project := newProject(t, "cascade", olivia(), member("User", "mara", "admin"))
			ready(t, project)
			access := accessOf(t, project)
			occupant := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: name(t, "occupant")},
				Spec: kubernikusv1.KlusterSpec{Name: "short", Version: "1.36.3"}}
			c := admin(t)
			if err := c.Create(t.Context(), occupant); err != nil {
				t.Fatal(err)
			}
			contains(t, project, "Ready", "Deletable", "False", "NamespaceNotEmpty", "Kluster "+occupant.Name)
			if err := confirm(t.Context(), c, project); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), project, client.PropagationPolicy(policy)); err != nil {
				t.Fatal(err)
			}
			contains(t, project, "Terminating", "Deletable", "False", "NamespaceNotEmpty", "Kluster "+occupant.Name)
			// The garbage collector has done its part when its finalizer has been deleted.
			eventually(t, func(ctx context.Context) error {
				if err := c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
					return err
				}
				if slices.Contains(project.Finalizers, finalizer) {
					return fmt.Errorf("finalizers = %v, want none of the garbage collector", project.Finalizers)
				}
				return nil
			})
			hasAccess(t, project, access)

			deleted(t, occupant)
			change(t, client.Object(occupant), func(o client.Object) { o.SetFinalizers(nil) }) // its controllers do not run here
			absent(t, project, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}})
			hasAccess(t, project, nil)
		})
	}
}
