// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDualApproval checks that, if a Project requires dual approval, the user who deletes an object must not be the one who
// confirmed its deletion.
func TestDualApproval(t *testing.T) {
	t.Parallel()
	amy, bert, c := name(t, "amy"), name(t, "bert"), admin(t)
	project := newProject(t, "dual", olivia(), member("User", amy, "admin"), member("User", bert, "admin"))
	namespace := project.NamespaceName()
	robot, groups := account(namespace, "robot")
	ready(t, project)
	ci, ciGroups := account(name(t, "ci"), "robot")
	allowedKlusters(t, namespace, amy, bert, robot, ci)
	rule := func(selector string, accounts bool) {
		t.Helper()
		body := fmt.Sprintf(`{"spec":{"dualApprovalForDeletion":[{"resource":"klusters","selector":%s,"includeServiceAccounts":%t}]}}`, selector, accounts)
		if err := c.Patch(t.Context(), project, mergePatch(body)); err != nil {
			t.Fatal(err)
		}
	}
	kluster := func(stage string, confirmedBy client.Client) *kubernikusv1.Kluster {
		t.Helper()
		k := klusterIn(namespace, name(t, "k"), "1.36.3")
		k.Labels = map[string]string{"stage": stage}
		if err := c.Create(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		if err := confirm(t.Context(), confirmedBy, k); err != nil {
			t.Fatal(err)
		}
		return k
	}
	asAmy, asBert, asRobot := as(t, amy), as(t, bert), as(t, robot, groups...)
	production := `{"matchLabels":{"stage":"production"}}`
	want := []string{fmt.Sprintf("project %q requires dual approval", project.Name), "another user must delete it"}

	rule(production, true)
	guarded := kluster("production", asAmy)
	rejected(t, asAmy.Delete(t.Context(), guarded), want...)
	rejected(t, asAmy.Delete(t.Context(), guarded, client.DryRunAll), want...)
	rejected(t, asAmy.DeleteAllOf(t.Context(), guarded, client.InNamespace(namespace)), want...)
	rejected(t, clientOf(t, shared.DirectConfig(1)).Delete(t.Context(), kluster("production", c)), want...) // nor an administrator
	accepted(t, asAmy.Delete(t.Context(), kluster("development", asAmy)))
	accepted(t, asBert.Delete(t.Context(), guarded))
	accepted(t, asAmy.Delete(t.Context(), guarded)) // it is being deleted already

	rejected(t, asRobot.Delete(t.Context(), kluster("production", asRobot)), want...)
	rejected(t, asRobot.Delete(t.Context(), kluster("production", asAmy)), want...) // a user that writes Secrets there can impersonate the robot
	asCI := as(t, ci, ciGroups...)
	rejected(t, asCI.Delete(t.Context(), kluster("production", asAmy)), want...) // nor does one that writes them in another namespace
	byCI := kluster("production", asCI)
	rejected(t, asAmy.Delete(t.Context(), byCI), "let a user set it again")
	rejected(t, asRobot.Delete(t.Context(), byCI), want...)
	rule(production, false)
	accepted(t, asCI.Delete(t.Context(), kluster("production", asAmy)))
	accepted(t, asRobot.Delete(t.Context(), kluster("production", asRobot)))
	rejected(t, asAmy.Delete(t.Context(), kluster("production", asAmy)), want...)

	// A rule counts from the moment it is there, and no longer than it is.
	plain := kluster("development", asAmy)
	rule(`{}`, true)
	rejected(t, asAmy.Delete(t.Context(), plain), want...)
	if err := c.Patch(t.Context(), project, mergePatch(`{"spec":{"dualApprovalForDeletion":null}}`)); err != nil {
		t.Fatal(err)
	}
	accepted(t, asAmy.Delete(t.Context(), plain))
	var left kubernikusv1.KlusterList
	accepted(t, c.List(t.Context(), &left, client.InNamespace(namespace)))
	for i := range left.Items {
		deleteNow(t, &left.Items[i])
	}
	mustRemove(t, &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: project.Name}})
}
