// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/audit"
)

const collectorAccount = "system:serviceaccount:kube-system:generic-garbage-collector"

// TestOneMemberIsNoSecondPerson checks that one member cannot give the second approval, neither as a service account of the
// namespace, nor by the garbage collector through an owner reference, nor by the namespace controller.
func TestOneMemberIsNoSecondPerson(t *testing.T) {
	t.Parallel()
	amy, bert := name(t, "amy"), name(t, "bert")
	project := newProject(t, "alone", olivia(), member("User", amy, "admin"), member("User", bert, "admin"))
	ready(t, project)
	namespace := project.NamespaceName()
	robot, groups := account(namespace, "robot")
	allowedKlusters(t, namespace, amy, bert, robot)
	accepted(t, admin(t).Patch(t.Context(), project, mergePatch(`{"spec":{"dualApprovalForDeletion":[{"resource":"klusters","selector":{},"includeServiceAccounts":false},{"resource":"klusters","selector":{}}]}}`)))
	asAmy, asRobot := as(t, amy), as(t, robot, groups...)
	confirmedBy := func(who client.Client) *kubernikusv1.Kluster {
		t.Helper()
		k := klusterIn(namespace, name(t, "k"), "1.36.3")
		k.Spec.Name = "short"
		if err := admin(t).Create(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		accepted(t, confirm(t.Context(), who, k))
		return k
	}
	lives := func(k *kubernikusv1.Kluster) {
		t.Helper()
		if get(t, k); k.DeletionTimestamp != nil {
			t.Errorf("Kluster %s is being deleted", k.Name)
		}
	}

	byAmy := confirmedBy(asAmy)
	rejected(t, asAmy.Delete(t.Context(), byAmy), "you confirmed the deletion yourself")
	rejected(t, asRobot.Delete(t.Context(), byAmy), "a service account is no second user")
	user, in := account("kube-system", "namespace-controller")
	rejected(t, as(t, user, in...).DeleteAllOf(t.Context(), &kubernikusv1.Kluster{}, client.InNamespace(namespace)), "no second approval")
	byRobot := confirmedBy(asRobot)
	rejected(t, asAmy.Delete(t.Context(), byRobot), "let a user set it again")

	// The real garbage collector, in both ways that it deletes dependents.
	for _, propagation := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground} {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name(t, "owner")}}
		eventually(t, func(ctx context.Context) error { return client.IgnoreAlreadyExists(asAmy.Create(ctx, owner)) })
		owned := confirmedBy(asAmy)
		accepted(t, asAmy.Patch(t.Context(), copyOf(owned), mergePatch(fmt.Sprintf(
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":%q,"uid":%q}]}}`, owner.Name, owner.UID))))
		accepted(t, asAmy.Delete(t.Context(), owner, client.PropagationPolicy(propagation)))
		eventually(t, func(context.Context) error { return failedCollection(owned) })
		lives(owned)
		accepted(t, as(t, bert).Delete(t.Context(), owned)) // a second person does
	}
	lives(byAmy)
	accepted(t, as(t, bert).Delete(t.Context(), byAmy))
	lives(byRobot)
}

// failedCollection complains unless the garbage collector tried to delete a Kluster, and was rejected.
func failedCollection(k *kubernikusv1.Kluster) error {
	for event, err := range audit.Read(auditLog) {
		if err != nil {
			return err
		}
		if event.User.Username != collectorAccount || event.Verb != "delete" || event.ObjectRef.Resource != "klusters" || event.ObjectRef.Name != k.Name {
			continue
		}
		if event.ResponseStatus.Code != http.StatusForbidden {
			return fmt.Errorf("the garbage collector got %d", event.ResponseStatus.Code)
		}
		return nil
	}
	return fmt.Errorf("the garbage collector did not try to delete Kluster %s", k.Name)
}
