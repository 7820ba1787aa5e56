// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// strangers adds what grants permissions in the namespace of a Project to others than its members, as what former members leave behind:
// role bindings, and the Secrets with tokens of service accounts. It reads with the permissions of the user.
func (c *command) strangers(ctx context.Context, project *gardenerv1beta1.Project, r *report.Report) error {
	namespace := project.NamespaceName()
	if namespace == "" {
		return nil
	}
	bindings := &rbacv1.RoleBindingList{}
	err := c.listIn(ctx, r, "RoleBindings", namespace, bindings, func() int { return len(bindings.Items) })
	if err != nil {
		return err
	}
	for i := range bindings.Items {
		binding := &bindings.Items[i]
		if others := notMembers(project, binding.Subjects); len(others) > 0 {
			r.Add("RoleBindings", binding, report.Found(report.InProgress,
				"RoleBinding grants %s %s to %s, not in spec.members", binding.RoleRef.Kind, binding.RoleRef.Name, strings.Join(others, ", ")))
		}
	}
	// The metadata of the Secrets is sufficient, so that no token is transmitted.
	tokens := &metav1.PartialObjectMetadataList{}
	tokens.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	ofTokens := client.MatchingFields{"type": string(corev1.SecretTypeServiceAccountToken)}
	if err := c.listIn(ctx, r, "Secrets", namespace, tokens, func() int { return len(tokens.Items) }, ofTokens); err != nil {
		return err
	}
	for i := range tokens.Items {
		token := &tokens.Items[i]
		account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: token.Annotations[corev1.ServiceAccountNameKey]}
		if others := notMembers(project, []rbacv1.Subject{account}); len(others) > 0 {
			r.Add("Secrets", token, report.Found(report.InProgress, "Secret has a token of %s, not in spec.members", others[0]))
		}
	}
	return nil
}

// listIn lists the objects of a kind in a namespace, and records how many there are, or that the user is not allowed to list them.
func (c *command) listIn(
	ctx context.Context, r *report.Report, title, namespace string, list client.ObjectList, count func() int, options ...client.ListOption,
) error {
	err := c.client.List(ctx, list, append(options, client.InNamespace(namespace))...)
	checked := report.Checked{Name: title, Count: count()}
	switch {
	case apierrors.IsForbidden(err):
		checked.Problem = fmt.Sprintf("you are not allowed to list %s in namespace %s", title, namespace)
	case err != nil:
		return fmt.Errorf("list %s in namespace %s: %w", title, namespace, err)
	}
	r.Checked = append(r.Checked, checked)
	return nil
}

// notMembers returns the subjects that the members and the owner of a Project do not include, in words.
func notMembers(project *gardenerv1beta1.Project, subjects []rbacv1.Subject) (others []string) {
	for _, subject := range subjects {
		isMember := slices.ContainsFunc(project.Spec.Members, func(member gardenerv1beta1.ProjectMember) bool {
			return gardenerv1beta1.SameSubject(member.Subject, subject)
		})
		if isMember || project.Spec.Owner != nil && gardenerv1beta1.SameSubject(*project.Spec.Owner, subject) {
			continue
		}
		others = append(others, fmt.Sprintf("%s %s", subject.Kind, report.Name(subject.Namespace, subject.Name)))
	}
	return others
}
