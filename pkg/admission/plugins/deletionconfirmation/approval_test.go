// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	clienttesting "k8s.io/client-go/testing"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// approval returns a rule of a Project, for service accounts too, unless it excludes them.
func approval(resource string, selector metav1.LabelSelector, accounts bool) gardenerv1beta1.DualApprovalForDeletion {
	return gardenerv1beta1.DualApprovalForDeletion{Resource: resource, Selector: selector, IncludeServiceAccounts: &accounts}
}

func named(name string) user.Info { return &user.DefaultInfo{Name: name} }

func TestValidateNeedsASecondPerson(t *testing.T) {
	every := metav1.LabelSelector{}
	production := metav1.LabelSelector{MatchLabels: map[string]string{"stage": "production"}}
	development := metav1.LabelSelector{MatchLabels: map[string]string{"stage": "development"}}
	broken := metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "Like"}}}
	type rules = []gardenerv1beta1.DualApprovalForDeletion
	unset := rules{{Resource: "klusters"}}
	for _, tc := range []struct {
		name  string
		rules rules
		by    string // "" when it is not known who confirmed
		who   user.Info
		want  string // part of the rejection
	}{
		{"no rule, one person", nil, "alice", alice(), ""},
		{"no rule, unknown user", nil, "", alice(), ""},
		{"one person", rules{approval("klusters", every, true)}, "alice", alice(), "you confirmed the deletion yourself"},
		{"two persons", rules{approval("klusters", every, true)}, "bob", alice(), ""},
		{"unknown user", rules{approval("klusters", every, true)}, "", alice(), "it is not known who confirmed the deletion"},
		{"another resource", rules{approval("shoots", every, true)}, "alice", alice(), ""},
		{"labels match", rules{approval("klusters", production, true)}, "alice", alice(), "dual approval"},
		{"labels do not match", rules{approval("klusters", development, true)}, "alice", alice(), ""},
		{"the second rule matches", rules{approval("klusters", development, true), approval("klusters", production, true)}, "alice", alice(), "dual approval"},
		{"one service account", rules{approval("klusters", every, true)}, robot().GetName(), robot(), "you confirmed the deletion yourself"},
		{"one service account, by default", unset, robot().GetName(), robot(), "you confirmed the deletion yourself"},
		{"one service account, exempt", rules{approval("klusters", every, false)}, robot().GetName(), robot(), ""},
		{"one person, where service accounts are exempt", rules{approval("klusters", every, false)}, "alice", alice(), "dual approval"},
		{"one service account, exempt by one of two rules", rules{approval("klusters", every, false), approval("klusters", production, true)},
			robot().GetName(), robot(), "dual approval"},
		{"a person and an account of the project", rules{approval("klusters", every, true)}, "alice", robot(), "another user must delete it"},
		{"an account of the project and a person", rules{approval("klusters", every, true)}, robot().GetName(), alice(), "let a user set it again"},
		{"two accounts of the project", rules{approval("klusters", every, true)}, robot().GetName(), named("system:serviceaccount:garden-dev:other"), "another user must delete it"},
		{"a person and an account of another namespace", rules{approval("klusters", every, true)}, "alice", named("system:serviceaccount:ci:robot"), "another user must delete it"},
		{"a person and an account of another namespace, exempt", rules{approval("klusters", every, false)}, "alice", named("system:serviceaccount:ci:robot"), ""},
		{"an account of another namespace and a person", rules{approval("klusters", every, true)}, "system:serviceaccount:ci:robot", alice(), "let a user set it again"},
		{"accounts of two namespaces", rules{approval("klusters", every, true)}, "system:serviceaccount:ci:robot", robot(), "another user must delete it"},
		{"a user with a similar name", rules{approval("klusters", every, true)}, "alice", named("system:serviceaccount:robot"), ""},
		{"the garbage collector", rules{approval("klusters", every, true)}, "alice", named("system:serviceaccount:kube-system:generic-garbage-collector"), "a user must delete it"},
		{"the garbage collector, where service accounts are exempt", rules{approval("klusters", every, false)}, "alice",
			named("system:serviceaccount:kube-system:generic-garbage-collector"), "a user must delete it"},
		{"the namespace controller", rules{approval("klusters", every, false)}, "alice", named("system:serviceaccount:kube-system:namespace-controller"), "a user must delete it"},
		{"both, without separate accounts", rules{approval("klusters", every, true)}, "alice", named("system:kube-controller-manager"), "a user must delete it"},
		{"the garbage collector, no rule", nil, "alice", named("system:serviceaccount:kube-system:generic-garbage-collector"), ""},
		{"a selector that cannot be read", rules{approval("klusters", broken, true)}, "bob", alice(), "spec.dualApprovalForDeletion[0].selector"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "garden-dev",
				Labels: map[string]string{"stage": "production"}, Annotations: annotations(confirm, "true")}}
			if tc.by != "" {
				kluster.Annotations[by] = tc.by
			}
			project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev"},
				Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev"), DualApprovalForDeletion: tc.rules}}
			other := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "another"},
				Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-other"), DualApprovalForDeletion: rules{approval("klusters", every, true)}}}
			plugin, client := serving(project, other)
			err := plugin.Validate(t.Context(), deletion(kluster, "klusters", tc.who), nil)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), `project "dev"`)):
				t.Errorf("error = %v, want a rejection with %q", err, tc.want)
			}
			selected := client.Actions()[0].(clienttesting.ListAction).GetListRestrictions().Fields.String()
			if selected != "spec.namespace=garden-dev" {
				t.Errorf("selector of projects = %q", selected)
			}
		})
	}
}

// TestValidateWhenProjectsAreNotKnown checks that a confirmation does not suffice while it is unknown whether a second person is
// required.
func TestValidateWhenProjectsAreNotKnown(t *testing.T) {
	plugin, client := serving()
	client.PrependReactor("list", "projects", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("etcd is unavailable")
	})
	kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo", Namespace: "garden-dev", Annotations: annotations(confirm, "true", by, "bob")}}
	err := plugin.Validate(t.Context(), deletion(kluster, "klusters", alice()), nil)
	if !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "etcd is unavailable") || !strings.Contains(err.Error(), "garden-dev/demo") {
		t.Errorf("got %v", err)
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "demo", Annotations: annotations(confirm, "true")}}
	if err := plugin.Validate(t.Context(), deletion(project, "projects", alice()), nil); err != nil {
		t.Errorf("a Project, which never needs a second person: %v", err)
	}
}
