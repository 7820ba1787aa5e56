// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestMembersFollowTheirProject checks that members may list and watch their own Project, as kubectl does for get --watch, wait and
// delete, and no other one.
func TestMembersFollowTheirProject(t *testing.T) {
	t.Parallel()
	project := newProject(t, "follow", olivia(), member("User", "anna", "admin"), member("User", "ulla", "uam"), member("User", "vera", "viewer"))
	other := newProject(t, "follow", olivia())
	ready(t, project)
	ready(t, other)
	for _, user := range []string{"olivia", "anna", "ulla", "vera"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			c, named := as(t, user), client.MatchingFields{"metadata.name": project.Name}
			eventually(t, func(ctx context.Context) error {
				if err := c.List(ctx, &gardenerv1beta1.ProjectList{}, named); err != nil {
					return err
				}
				watch, err := c.Watch(ctx, &gardenerv1beta1.ProjectList{}, named)
				if err != nil {
					return err
				}
				watch.Stop()
				return nil
			})
			if err := c.List(t.Context(), &gardenerv1beta1.ProjectList{}); !apierrors.IsForbidden(err) {
				t.Errorf("list of all projects: error = %v, want Forbidden", err)
			}
			if user != "olivia" {
				err := c.List(t.Context(), &gardenerv1beta1.ProjectList{}, client.MatchingFields{"metadata.name": other.Name})
				if !apierrors.IsForbidden(err) {
					t.Errorf("list of the project of others: error = %v, want Forbidden", err)
				}
			}
			out, err := kubectl(t, "", "wait", "--as="+user, "--for=condition=Ready", "--timeout=60s", "project/"+project.Name)
			if err != nil {
				t.Errorf("kubectl wait as %s: %v\n%s", user, err, out)
			}
		})
	}
}

// TestDeletionByMembersReturns checks that kubectl delete of a member ends when the Project has been deleted.
func TestDeletionByMembersReturns(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"olivia", "anna"} {
		t.Run(user, func(t *testing.T) {
			t.Parallel()
			project := newProject(t, "delete", olivia(), member("User", "anna", "admin"))
			ready(t, project)
			eventually(t, func(context.Context) error {
				out, err := kubectl(t, "", "annotate", "--as="+user, "--overwrite", "project", project.Name, "confirmation.gardener.cloud/deletion=true")
				if err != nil {
					return fmt.Errorf("%w: %s", err, out)
				}
				return nil
			})
			if out, err := kubectl(t, "", "delete", "--as="+user, "--timeout=60s", "project", project.Name); err != nil {
				t.Errorf("kubectl delete as %s: %v\n%s", user, err, out)
			}
			absent(t, project)
		})
	}
}
