// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"encoding/json"
	"fmt"
	"reflect"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsapply "k8s.io/client-go/applyconfigurations/apps/v1"
	coreapply "k8s.io/client-go/applyconfigurations/core/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// part is one object that a discoverer is made of, as it should be.
type part struct {
	desired runtime.ApplyConfiguration
	// object is an empty one with the name of it.
	object client.Object
}

// partsOf returns the parts of a backend, in the order in which they are written: nothing runs before it has its permissions. The
// Deployment is nil when it is not to be touched.
func partsOf(grants grants, deployment *appsapply.DeploymentApplyConfiguration) []part {
	parts := []part{{grants.account, &corev1.ServiceAccount{ObjectMeta: named(grants.account.Namespace, grants.account.Name)}}}
	for _, binding := range grants.bindings {
		parts = append(parts, part{binding, &rbacv1.RoleBinding{ObjectMeta: named(binding.Namespace, binding.Name)}})
	}
	for _, binding := range grants.clusterBindings {
		parts = append(parts, part{binding, &rbacv1.ClusterRoleBinding{ObjectMeta: named(nil, binding.Name)}})
	}
	if deployment != nil {
		parts = append(parts, part{deployment, &appsv1.Deployment{ObjectMeta: named(deployment.Namespace, deployment.Name)}})
	}
	return parts
}

func named(namespace, name *string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{Name: *name}
	if namespace != nil {
		meta.Namespace = *namespace
	}
	return meta
}

// isPartOf reports whether an object was made for this very backend. One in a namespace reports so by its controller; a
// ClusterRoleBinding cannot have one, and only administrators write those.
func isPartOf(backend *gimbalv1.DiscoveryBackend, object client.Object) bool {
	if object.GetNamespace() != "" {
		return metav1.IsControlledBy(object, backend)
	}
	return object.GetLabels()[labelName] == discovererName && object.GetLabels()[labelInstance] == backend.Name &&
		object.GetLabels()[labelManagedBy] == operatorName
}

// drifted reports whether what Groundskeeper would apply is not what of the object is owned by Groundskeeper, with its value. It
// compares as JSON, where quantities and numbers have one form.
func drifted(desired runtime.ApplyConfiguration, current client.Object) (bool, error) {
	owned, err := applied(current)
	if err != nil {
		return false, fmt.Errorf("read the managed fields of %s: %w", describe(current), err)
	}
	want, err := plain(desired)
	if err != nil {
		return false, err
	}
	have, err := plain(owned)
	if err != nil {
		return false, err
	}
	delete(have, "status") // an empty one may be there, and is not owned by Groundskeeper
	return !reflect.DeepEqual(want, have), nil
}

// applied returns what of an object Groundskeeper applied and no other client changed since.
func applied(object client.Object) (any, error) {
	switch object := object.(type) {
	case *appsv1.Deployment:
		return appsapply.ExtractDeployment(object, fieldOwner)
	case *corev1.ServiceAccount:
		return coreapply.ExtractServiceAccount(object, fieldOwner)
	case *rbacv1.RoleBinding:
		return rbacapply.ExtractRoleBinding(object, fieldOwner)
	case *rbacv1.ClusterRoleBinding:
		return rbacapply.ExtractClusterRoleBinding(object, fieldOwner)
	}
	return nil, fmt.Errorf("a %T is no part of a discoverer", object)
}

func plain(value any) (map[string]any, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	tree := map[string]any{}
	return tree, json.Unmarshal(data, &tree)
}

// describe names an object in messages.
func describe(object client.Object) string {
	kind := "object"
	switch object.(type) {
	case *appsv1.Deployment:
		kind = "Deployment"
	case *corev1.ServiceAccount:
		kind = "ServiceAccount"
	case *rbacv1.RoleBinding:
		kind = "RoleBinding"
	case *rbacv1.ClusterRoleBinding:
		kind = "ClusterRoleBinding"
	case *metav1.PartialObjectMetadata:
		kind = object.GetObjectKind().GroupVersionKind().Kind
	case *gimbalv1.DiscoveryBackend:
		kind = "DiscoveryBackend"
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %s/%s", kind, namespace, object.GetName())
	}
	return fmt.Sprintf("%s %s", kind, object.GetName())
}
