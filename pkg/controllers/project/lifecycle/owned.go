// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// annotationProjectUID names the Project that a role, a binding or a quota was created for. Its name alone would be a guess: a
// Project with the same name may have been created after the one that is being deleted.
const annotationProjectUID = gardenerv1beta1.AnnotationCreatedForProject

// wasCreatedFor reports whether a role, a binding or a quota was created for this Project. Those of earlier versions are owned
// by it.
func wasCreatedFor(project *gardenerv1beta1.Project, object client.Object) bool {
	return object.GetAnnotations()[annotationProjectUID] == string(project.UID) ||
		slices.ContainsFunc(object.GetOwnerReferences(), ownedBy(project))
}

// removeOwned deletes the roles, bindings and the quota of a Project: bindings before the roles that they bind. Objects in a
// deleted namespace have been deleted with it.
func (p *pass) removeOwned(ctx context.Context) error {
	namespace, err := getNamespace(ctx, p.live, client.ObjectKey{Name: namespaceName(p.project)})
	if err != nil {
		return err
	}
	if namespace != nil {
		if _, err := p.revokeOthers(ctx, namespace, nil); err != nil {
			return err
		}
	}
	// The cache may not have those of a role that was added and removed a moment ago, and no later reconciliation would find them.
	if _, err := p.removeExtensionRoles(ctx, lists.Complete(p.live), client.MatchingLabels(extensionLabels(p.project)), p.project, nil); err != nil {
		return err
	}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespaceName(p.project), Name: quotaName}}
	var roles []client.Object
	bindings := []client.Object{quota}
	for _, object := range desiredRBAC(p.project) {
		switch object.(type) {
		case *rbacv1.ClusterRole:
			roles = append(roles, object)
		case *rbacv1.ClusterRoleBinding:
			bindings = append(bindings, object)
		}
	}
	for _, objects := range [][]client.Object{bindings, roles} {
		removed, err := inParallel(objects, func(object client.Object) (bool, error) { return p.removeIfOf(ctx, object) })
		if err != nil {
			return err
		}
		log.FromContext(ctx).V(1).Info("Deleted roles and bindings of a project", "count", removed)
	}
	return nil
}

// removeIfOf deletes the object with the kind and name of another one, if it was created for the Project, as the API server has it: with
// its UID and resource version as preconditions. A binding is revoked before, even if it is being deleted.
func (p *pass) removeIfOf(ctx context.Context, like client.Object) (bool, error) {
	current, err := p.get(ctx, p.live, like)
	switch {
	case apierrors.IsNotFound(err):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("get %s: %w", describe(like), err)
	case !wasCreatedFor(p.project, current):
		return false, nil
	}
	return p.revoke(ctx, current)
}

// disown removes the owner reference to the Project from its namespace, which earlier versions set. It does so in every state
// of the Project: while the reference exists, the namespace is deleted when the API of Groundskeeper is not served.
func (p *pass) disown(ctx context.Context) error {
	namespace, err := getNamespace(ctx, p.client, client.ObjectKey{Name: namespaceName(p.project)})
	if err != nil || namespace == nil || !slices.ContainsFunc(namespace.OwnerReferences, ownedBy(p.project)) {
		return err
	}
	wrote, err := p.patch(ctx, namespace, disownedNamespace(p.project, namespace))
	if wrote {
		p.wrote++
	}
	return err
}
