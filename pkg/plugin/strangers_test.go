// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// tokensOnly selects Secrets by their type, as the kube-apiserver does.
func tokensOnly(ctx context.Context, base client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
	tokens, is := list.(*metav1.PartialObjectMetadataList)
	if !is {
		return base.List(ctx, list, options...)
	}
	selected := (&client.ListOptions{}).ApplyOptions(options)
	secrets := &corev1.SecretList{}
	if err := base.List(ctx, secrets, client.InNamespace(selected.Namespace)); err != nil {
		return err
	}
	for i := range secrets.Items {
		if kind, has := selected.FieldSelector.RequiresExactMatch("type"); has && kind == string(secrets.Items[i].Type) {
			tokens.Items = append(tokens.Items, metav1.PartialObjectMetadata{ObjectMeta: secrets.Items[i].ObjectMeta})
		}
	}
	return nil
}

// TestWhyNamesStrangers checks that what grants permissions to others than the members of a Project is listed, and no more.
func TestWhyNamesStrangers(t *testing.T) {
	member := func(kind, namespace, name string) gardenerv1beta1.ProjectMember {
		return gardenerv1beta1.ProjectMember{Subject: rbacv1.Subject{Kind: kind, Namespace: namespace, Name: name}}
	}
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: gardenerv1beta1.ProjectSpec{
		Namespace: new("garden-shop"), Owner: &rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "olivia"},
		Members: []gardenerv1beta1.ProjectMember{member("User", "", "anna"), member("Group", "", "staff"),
			member("User", "", "system:serviceaccount:garden-shop:robot")},
	}, Status: readyProject()}
	binding := func(namespace, name string, subjects ...rbacv1.Subject) client.Object {
		return &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"}}
	}
	user := func(name string) rbacv1.Subject {
		return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
	}
	account := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "garden-shop", Name: name}
	}
	token := func(name, account string, kind corev1.SecretType) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: name,
			Annotations: map[string]string{corev1.ServiceAccountNameKey: account}}, Type: kind}
	}
	objects := []client.Object{
		project,
		binding("garden-shop", "members", user("anna"), user("olivia"), account("robot"), rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "staff"}),
		binding("garden-shop", "empty"), binding("garden-other", "others", user("eve")),
		binding("garden-shop", "backdoor", user("anna"), user("eve"), account("spare")),
		binding("garden-shop", "everyone", rbacv1.Subject{Kind: rbacv1.GroupKind, Name: "system:authenticated"}),
		token("robot", "robot", corev1.SecretTypeServiceAccountToken), token("spare", "spare", corev1.SecretTypeServiceAccountToken),
		token("opaque", "spare", corev1.SecretTypeOpaque),
	}
	c, out := on(t, nil, objects...)
	c.client = interceptor.NewClient(c.client, interceptor.Funcs{List: tokensOnly})
	k, _, err := parse([]string{"project/shop"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.why(t.Context(), k, "shop", ""); !errors.Is(err, errFindings) {
		t.Errorf("error = %v, want findings", err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"garden-shop/backdoor: RoleBinding grants ClusterRole edit to User eve, ServiceAccount garden-shop/spare, not in spec.members",
		"garden-shop/everyone: RoleBinding grants ClusterRole edit to Group system:authenticated, not in spec.members",
		"garden-shop/spare: Secret has a token of ServiceAccount garden-shop/spare, not in spec.members",
	}
	if !slices.EqualFunc(got, want, func(line, text string) bool {
		return strings.Contains(report.OneLine(line), strings.SplitN(text, ": ", 2)[1])
	}) {
		t.Errorf("output = %q, want %q", got, want)
	}

	c, _ = on(t, map[string]error{"SecretList": errForbidden, "RoleBindingList": errForbidden}, project)
	c.client = interceptor.NewClient(c.client, interceptor.Funcs{List: tokensOnly})
	if err := c.why(t.Context(), k, "shop", ""); err == nil || !strings.Contains(err.Error(), "RoleBindings, Secrets") {
		t.Errorf("error = %v, want what could not be checked", err)
	}
}
