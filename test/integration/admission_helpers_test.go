// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

const (
	confirmation = "confirmation.gardener.cloud/deletion"
	confirmedBy  = "deletion.gardener.cloud/confirmed-by"
)

// unconfirmed returns the rejection of a deletion that is not confirmed.
func unconfirmed(resource, name string) string {
	return fmt.Sprintf(`%s %q is forbidden: must have a "confirmation.gardener.cloud/deletion" annotation to delete`, resource, name)
}

// protobufAs returns a typed client of the shared plane that speaks protobuf in the name of a user.
func protobufAs(t *testing.T, user string, groups ...string) versioned.Interface {
	t.Helper()
	config := rest.CopyConfig(shared.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	config.ContentType, config.AcceptContentTypes, config.QPS = runtime.ContentTypeProtobuf, runtime.ContentTypeProtobuf, -1
	c, err := versioned.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// account returns the user name of a service account, and the groups that it is in.
func account(namespace, name string) (string, []string) {
	return "system:serviceaccount:" + namespace + ":" + name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace}
}

// granted gives users verbs on one Project, and waits until Groundskeeper's servers know.
func granted(t *testing.T, project string, verbs []string, users ...string) {
	t.Helper()
	role := name(t, "granted")
	inTheCluster(t, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: role}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{gardenerv1beta1.GroupName}, Resources: []string{"projects", "projects/status"}, ResourceNames: []string{project}, Verbs: verbs,
	}}})
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: role}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
	for _, user := range users {
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	inTheCluster(t, binding)
	for _, user := range users {
		for _, verb := range verbs {
			may(t, as(t, user), authorizationv1.ResourceAttributes{Verb: verb, Group: gardenerv1beta1.GroupName, Resource: "projects", Name: project})
		}
	}
}

// may waits until the kube-apiserver reports that the user that a client impersonates is allowed to do something.
func may(t *testing.T, c client.Client, what authorizationv1.ResourceAttributes) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &what}}
		if err := c.Create(ctx, review); err != nil {
			return err
		}
		if !review.Status.Allowed {
			return errors.New("not yet: " + what.Verb + " " + what.Resource)
		}
		return nil
	})
}

// Complains unless a request was forbidden with the words.
func rejected(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, part := range words {
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want it rejected with %q", err, part)
		}
	}
}

// accepted complains when a request failed.
func accepted(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}
