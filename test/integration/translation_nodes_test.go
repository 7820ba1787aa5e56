// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/audit"
)

// annotationPatch sets an annotation of an object, or removes it if there is no value.
func annotationPatch(annotation string, value *string) client.Patch {
	text := "null"
	if value != nil {
		text = fmt.Sprintf("%q", *value)
	}
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%s}}}`, annotation, text))
}

// allowNodes grants a user verbs on all Nodes, and on their status.
func allowNodes(t *testing.T, user string, verbs ...string) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user + "-" + strings.Join(verbs, "-")}
	inTheCluster(t, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: verbs}}})
	inTheCluster(t, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: meta.Name},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}}})
}

// TestOVNAnnotationsOfNodes checks that a user who can change Nodes, as a kubelet can, does not decide about gateways and chassis, that
// everything else of a Node can be changed, and that the controller manager can annotate the chassis.
func TestOVNAnnotationsOfNodes(t *testing.T) {
	t.Parallel()
	user := name(t, "kubelet")
	allowNodes(t, user, "get", "create", "patch")
	kubelet, manager := as(t, user), as(t, audit.Manager, "system:serviceaccounts", audit.Accounts)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(t, "plain")}}
	inTheCluster(t, node)
	annotated := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(t, "gateway"), Annotations: map[string]string{}}}
	keys := []string{midonetv1.AnnotationOVNChassis, midonetv1.AnnotationOVNGatewayNetwork, midonetv1.AnnotationOVNGatewayAddresses, midonetv1.AnnotationOVNGatewayNextHops}
	for _, key := range keys {
		annotated.Annotations[key] = "" // an empty value is one, too: the annotator replaces none
	}
	inTheCluster(t, annotated)
	denied := func(what, key string, err error) error {
		if !apierrors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), "manage-ovn") || !strings.Contains(fmt.Sprint(err), key) {
			return fmt.Errorf("%s: %w, want a rejection that names the verb manage-ovn and %s", what, err, key)
		}
		return nil
	}

	// The permissions of the user take effect some time after they were created, as does the policy.
	eventually(t, func(ctx context.Context) error {
		return kubelet.Patch(ctx, copyOf(node), annotationPatch("a", new("b")), client.DryRunAll)
	})
	for _, key := range keys {
		eventually(t, func(ctx context.Context) error {
			return denied("set", key, kubelet.Patch(ctx, copyOf(node), annotationPatch(key, new("x")), client.DryRunAll))
		})
		created := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(t, "new"), Annotations: map[string]string{key: "x"}}}
		if err := errors.Join(
			denied("set empty", key, kubelet.Patch(t.Context(), copyOf(node), annotationPatch(key, new("")), client.DryRunAll)),
			denied("set by the status", key, kubelet.Status().Patch(t.Context(), copyOf(node), annotationPatch(key, new("x")), client.DryRunAll)),
			denied("create", key, kubelet.Create(t.Context(), created, client.DryRunAll)),
			denied("change", key, kubelet.Patch(t.Context(), copyOf(annotated), annotationPatch(key, new("x")), client.DryRunAll)),
			denied("remove", key, kubelet.Patch(t.Context(), copyOf(annotated), annotationPatch(key, nil), client.DryRunAll)),
		); err != nil {
			t.Error(err)
		}
	}
	for what, err := range map[string]error{
		"another annotation":               kubelet.Patch(t.Context(), copyOf(annotated), annotationPatch("a", new("b")), client.DryRunAll),
		"another annotation, by status":    kubelet.Status().Patch(t.Context(), copyOf(annotated), annotationPatch("a", new("b")), client.DryRunAll),
		"the same value":                   kubelet.Patch(t.Context(), copyOf(annotated), annotationPatch(keys[0], new("")), client.DryRunAll),
		"a Node without annotations":       kubelet.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name(t, "bare")}}, client.DryRunAll),
		"the controller manager":           manager.Patch(t.Context(), copyOf(node), annotationPatch(midonetv1.AnnotationOVNChassis, new("x")), client.DryRunAll),
		"an annotation with a longer name": kubelet.Patch(t.Context(), copyOf(node), annotationPatch("groundskeeper.io/ovn-chassis-of", new("x")), client.DryRunAll),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	// With the verb, it is allowed.
	allowNodes(t, user, "manage-ovn")
	eventually(t, func(ctx context.Context) error {
		return kubelet.Patch(ctx, copyOf(node), annotationPatch(keys[1], new("physnet1")), client.DryRunAll)
	})
}
