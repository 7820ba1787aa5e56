// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestMerged(t *testing.T) {
	var (
		role        = desiredRBAC(rbacProject())[0].(*rbacv1.ClusterRole)
		roleBinding = desiredRBAC(rbacProject())[8].(*rbacv1.RoleBinding)
		binding     = desiredRBAC(rbacProject())[4].(*rbacv1.ClusterRoleBinding)
		aggregated  = desiredRBAC(rbacProject())[11].(*rbacv1.ClusterRole)
		quota       = desiredQuota(inNamespace("garden-dev"), mustRules(t, quotaConfig(limits("pods", "5"), nil)))
	)
	for name, test := range map[string]struct {
		desired client.Object
		edit    func(client.Object)
		// stays reports that the edit is left alone.
		stays bool
	}{
		"role: nothing": {role, func(client.Object) {}, true},
		"role: a rule more": {role, func(o client.Object) {
			r := o.(*rbacv1.ClusterRole)
			r.Rules = append(r.Rules, rule("*", "*", "*", "*"))
		}, false},
		"role: a verb more":                   {role, func(o client.Object) { r := o.(*rbacv1.ClusterRole); r.Rules[1].Verbs = append(r.Rules[1].Verbs, "*") }, false},
		"role: no rules":                      {role, func(o client.Object) { o.(*rbacv1.ClusterRole).Rules = nil }, false},
		"role: made aggregated":               {role, func(o client.Object) { o.(*rbacv1.ClusterRole).AggregationRule = &rbacv1.AggregationRule{} }, false},
		"role: Groundskeeper's label lost":    {role, func(o client.Object) { o.SetLabels(nil) }, false},
		"role: Groundskeeper's label changed": {role, func(o client.Object) { o.GetLabels()["project.gardener.cloud/name"] = "x" }, false},
		"role: another label":                 {role, func(o client.Object) { o.GetLabels()["team"] = "x" }, true},
		"role: another annotation":            {role, func(o client.Object) { o.GetAnnotations()["a"] = "b" }, true},
		"role: its Project lost":              {role, func(o client.Object) { o.SetAnnotations(nil) }, false},
		"role: another owner": {role, func(o client.Object) {
			o.SetOwnerReferences(append(o.GetOwnerReferences(), metav1.OwnerReference{Name: "x"}))
		}, false},
		"role: a finalizer": {role, func(o client.Object) { o.SetFinalizers([]string{"a/b"}) }, true},
		"aggregated: rules": {aggregated, func(o client.Object) { o.(*rbacv1.ClusterRole).Rules = role.Rules }, true},
		"aggregated: other selector": {aggregated, func(o client.Object) {
			o.(*rbacv1.ClusterRole).AggregationRule.ClusterRoleSelectors[0].MatchLabels["x"] = "y"
		}, false},
		"aggregated: no more":    {aggregated, func(o client.Object) { o.(*rbacv1.ClusterRole).AggregationRule = nil }, false},
		"aggregated: role label": {aggregated, func(o client.Object) { delete(o.GetLabels(), "gardener.cloud/role") }, false},
		"binding: a subject more": {binding, func(o client.Object) {
			b := o.(*rbacv1.ClusterRoleBinding)
			b.Subjects = append(b.Subjects, user("mallory"))
		}, false},
		"binding: no subjects": {binding, func(o client.Object) { o.(*rbacv1.ClusterRoleBinding).Subjects = nil }, false},
		"role binding: other":  {roleBinding, func(o client.Object) { o.(*rbacv1.RoleBinding).Subjects[0] = user("mallory") }, false},
		"quota: raised":        {quota, func(o client.Object) { o.(*corev1.ResourceQuota).Spec.Hard = limits("pods", "9") }, true},
		"quota: lowered":       {quota, func(o client.Object) { o.(*corev1.ResourceQuota).Spec.Hard = limits("pods", "1") }, false},
		"quota: used":          {quota, func(o client.Object) { o.(*corev1.ResourceQuota).Status.Used = limits("pods", "1") }, true},
	} {
		t.Run(name, func(t *testing.T) {
			edited := test.desired.DeepCopyObject().(client.Object)
			edited.SetResourceVersion("7")
			original := edited.DeepCopyObject().(client.Object)
			test.edit(edited)
			want := original
			if test.stays {
				want = edited.DeepCopyObject().(client.Object)
			}
			got := merged(edited, test.desired)
			if !equality.Semantic.DeepEqual(want, got) {
				t.Error(cmp.Diff(want, got))
			}
			if again := merged(got, test.desired); !equality.Semantic.DeepEqual(got, again) {
				t.Errorf("not the same when done again:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestBindsAnotherRole(t *testing.T) {
	for _, desired := range desiredRBAC(rbacProject()) {
		current := desired.DeepCopyObject().(client.Object)
		if bindsAnotherRole(current, desired) {
			t.Errorf("%s: unchanged", describe(desired))
		}
		want := true
		switch current := current.(type) {
		case *rbacv1.ClusterRoleBinding:
			current.RoleRef.Name = "cluster-admin"
		case *rbacv1.RoleBinding:
			current.RoleRef.Kind = "Role"
		default:
			want = false
		}
		if got := bindsAnotherRole(current, desired); got != want {
			t.Errorf("%s: got %t", describe(desired), got)
		}
	}
}
