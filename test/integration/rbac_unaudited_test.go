// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/permissions"
)

// unaudited are the permissions that kube-apiserver, or Groundskeeper's admission, requests while it serves a request for something
// else, and that therefore are in no audit log; TestPermissionsOutsideTheAuditLog, TestManagerRemovesFinalizers and TestProjectMembership need them.
// Those of the backend OVN are in the log of TestTranslationsOnOVN, which runs where OVN is installed.
var unaudited = slices.Concat(finalizing, steering, outsideTheLog, ofOthers, ofOVN)

// ofOVN are those that the controller manager needs with OVN only. TestOVNAnnotationsOfNodes needs the one that a policy requests.
var ofOVN = []permissions.Right{
	{Verb: "manage-ovn", Resource: "nodes"},
	{Verb: "get", Group: networkingv1.GroupName, Resource: "networkpolicies"},
	{Verb: "list", Group: networkingv1.GroupName, Resource: "networkpolicies"},
	{Verb: "watch", Group: networkingv1.GroupName, Resource: "networkpolicies"},
	{Verb: "list", Group: networkingv1.GroupName, Resource: "servicecidrs"},
	{Verb: "watch", Group: networkingv1.GroupName, Resource: "servicecidrs"},
}

// ofOthers are those that the API server requests about Projects of which a user is no member; TestProjectMembership needs them.
var ofOthers = []permissions.Right{
	{Verb: "get", Group: gardenerv1beta1.GroupName, Resource: "projects/any"},
	{Verb: "list", Group: gardenerv1beta1.GroupName, Resource: "projects/any"},
	{Verb: "watch", Group: gardenerv1beta1.GroupName, Resource: "projects/any"},
	{Verb: "patch", Group: gardenerv1beta1.GroupName, Resource: "projects/any"},
	{Verb: "delete", Group: gardenerv1beta1.GroupName, Resource: "projects/any"},
}

// finalizing are those that admission requests when a user removes the finalizer of one of Groundskeeper's controllers.
var finalizing = []permissions.Right{
	{Verb: "manage-finalizers", Group: gardenerv1beta1.GroupName, Resource: "projects"},
	{Verb: "manage-finalizers", Group: kubernikusv1.GroupName, Resource: "klusters"},
	{Verb: "manage-finalizers", Group: midonetv1.GroupName, Resource: "translations"},
	{Verb: "manage-finalizers", Group: gimbalv1.GroupName, Resource: "discoverybackends"},
}

// steering are those that admission requests when controller kluster-capi changes an annotation that steers a Kluster; TestClusterAPI
// needs them.
var steering = []permissions.Right{
	{Verb: "pause", Group: kubernikusv1.GroupName, Resource: "klusters"},
	{Verb: "detach", Group: kubernikusv1.GroupName, Resource: "klusters"},
	{Verb: "manage-cluster-api", Group: kubernikusv1.GroupName, Resource: "klusters"},
}

// outsideTheLog are those that kube-apiserver requests.
var outsideTheLog = []permissions.Right{
	{Verb: "bind", Group: rbacv1.GroupName, Resource: "clusterroles"},
	{Verb: "escalate", Group: rbacv1.GroupName, Resource: "clusterroles"},
}

// TestPermissionsOutsideTheAuditLog checks that the controller manager needs its permissions to bind and to escalate: a user with
// all its other permissions is denied.
func TestPermissionsOutsideTheAuditLog(t *testing.T) {
	t.Parallel()
	project := newProject(t, "unaudited", olivia())
	ready(t, project)
	meta := metav1.ObjectMeta{Namespace: project.NamespaceName(), Name: name(t, "unaudited")}
	requests := map[string]client.Object{
		"bind": &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "gardener.cloud:system:project-member"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "mara"}}},
		"escalate": &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: meta.Name}, AggregationRule: &rbacv1.AggregationRule{
			ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{gardenerv1beta1.LabelAggregateToExtensionRole: meta.Name}}}}},
	}
	full := &rbacv1.ClusterRole{}
	if err := admin(t).Get(t.Context(), client.ObjectKey{Name: "groundskeeper-controller-manager"}, full); err != nil {
		t.Fatal(err)
	}
	for _, right := range outsideTheLog {
		t.Run(right.String(), func(t *testing.T) {
			object := requests[right.Verb]
			manager := as(t, audit.Manager, "system:serviceaccounts", audit.Accounts)
			if err := manager.Create(t.Context(), copyOf(object), client.DryRunAll); err != nil {
				t.Errorf("the controller manager: %v", err)
			}
			less := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name(t, "less")}, Rules: without(full.Rules, right)}
			user := less.Name
			inTheCluster(t, less)
			inTheCluster(t, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: user}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: less.Name},
				Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
			// Once it is allowed to do the request itself, what is rejected is what comes with it.
			plain := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: meta.Namespace, Name: "plain"}}
			eventually(t, func(ctx context.Context) error { return as(t, user).Create(ctx, copyOf(plain), client.DryRunAll) })
			if err := as(t, user).Create(t.Context(), copyOf(object), client.DryRunAll); !apierrors.IsForbidden(err) {
				t.Errorf("without the right: %v", err)
			}
		})
	}
}

// without returns rules without the rules that have a right.
func without(rules []rbacv1.PolicyRule, right permissions.Right) []rbacv1.PolicyRule {
	var rest []rbacv1.PolicyRule
	for _, rule := range rules {
		if slices.Contains(rule.APIGroups, right.Group) && slices.Contains(rule.Resources, right.Resource) {
			rule.Verbs = slices.DeleteFunc(slices.Clone(rule.Verbs), func(verb string) bool { return verb == right.Verb })
		}
		if len(rule.Verbs) > 0 {
			rest = append(rest, rule)
		}
	}
	return rest
}
