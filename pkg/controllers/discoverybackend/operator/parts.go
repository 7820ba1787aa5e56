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
	metaapply "k8s.io/client-go/applyconfigurations/meta/v1"
	rbacapply "k8s.io/client-go/applyconfigurations/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// Labels that Kubernetes recommends, with what Groundskeeper writes there.
const (
	labelName      = "app.kubernetes.io/name"
	labelInstance  = "app.kubernetes.io/instance"
	labelComponent = "app.kubernetes.io/component"
	labelPartOf    = "app.kubernetes.io/part-of"
	labelManagedBy = desired.LabelManagedBy

	// discovererName is the name of the program, and the value of the label app.kubernetes.io/managed-by of its Services and EndpointSlices.
	discovererName = desired.Manager
	// operatorName manages the parts of a discoverer.
	operatorName = "groundskeeper-controller-manager"
)

// ClusterRoles of a discoverer, as artifacts/discovery/discoverer.yaml has them.
const (
	// roleBackend is what a discoverer is allowed to do in the namespace of its backend.
	roleBackend = "groundskeeper-discoverer-backend"
	// roleServices lets it publish Services: everywhere, or in the namespace of its backend.
	roleServices = "groundskeeper-discoverer-services"
	// roleNamespaces lets it create namespaces.
	roleNamespaces = "groundskeeper-discoverer-namespaces"
)

// partName returns the name of the Deployment, the ServiceAccount and the RoleBinding of a backend.
func partName(backend *gimbalv1.DiscoveryBackend) string { return backend.Name + "-discoverer" }

// selectorLabels find the pods of a backend. They never change: the selector of a Deployment cannot.
func selectorLabels(backend string) map[string]string {
	return map[string]string{labelName: discovererName, labelInstance: backend}
}

// partLabels returns the labels of everything that a discoverer is made of.
func partLabels(backend *gimbalv1.DiscoveryBackend) map[string]string {
	labels := selectorLabels(backend.Name)
	labels[labelComponent] = "discoverer"
	labels[labelPartOf] = "groundskeeper"
	labels[labelManagedBy] = operatorName
	labels[gimbalv1.LabelBackend] = backend.Name
	return labels
}

// part is one object of a discoverer.
type part struct {
	// desired is what is applied.
	desired runtime.ApplyConfiguration
	// object has the name of it, to read into.
	object client.Object
}

// permissions returns what a discoverer is allowed to do, and as whom, in the order in which it is written: its Lease and the status of
// its backend in the namespace of that, and Services: everywhere when the backend is in an admin namespace, else in its own namespace. It
// may create namespaces only if its policy requires that.
func permissions(backend *gimbalv1.DiscoveryBackend, adminNamespaces []string) []part {
	account := part{
		coreapply.ServiceAccount(partName(backend), backend.Namespace).
			WithLabels(partLabels(backend)).
			WithOwnerReferences(ownerReference(backend)).
			WithAutomountServiceAccountToken(false),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: partName(backend)}},
	}
	parts := []part{account, roleBinding(backend, roleBackend)}
	if status.Reach(backend, adminNamespaces) != metav1.NamespaceAll {
		return append(parts, roleBinding(backend, roleServices))
	}
	parts = append(parts, clusterRoleBinding(backend, roleServices))
	if backend.Cluster.Namespaces.Missing == gimbalv1.MissingNamespaceCreate {
		parts = append(parts, clusterRoleBinding(backend, roleNamespaces))
	}
	return parts
}

// roleBinding binds a role in the namespace of a backend. The name of a binding contains that of its role, so that the role of a binding
// never has to change: it cannot.
func roleBinding(backend *gimbalv1.DiscoveryBackend, role string) part {
	name := role + "-" + backend.Name
	return part{
		rbacapply.RoleBinding(name, backend.Namespace).
			WithLabels(partLabels(backend)).
			WithOwnerReferences(ownerReference(backend)).
			WithRoleRef(roleRef(role)).
			WithSubjects(subject(backend)),
		&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: backend.Namespace, Name: name}},
	}
}

// clusterRoleBinding binds a role everywhere: no other backend, of any namespace, has the name of this one. It cannot have an owner in a
// namespace, so that it is deleted explicitly.
func clusterRoleBinding(backend *gimbalv1.DiscoveryBackend, role string) part {
	name := role + "-" + backend.Name
	return part{
		rbacapply.ClusterRoleBinding(name).
			WithLabels(partLabels(backend)).
			WithRoleRef(roleRef(role)).
			WithSubjects(subject(backend)),
		&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: name}},
	}
}

func roleRef(role string) *rbacapply.RoleRefApplyConfiguration {
	return rbacapply.RoleRef().WithAPIGroup(rbacv1.GroupName).WithKind("ClusterRole").WithName(role)
}

func subject(backend *gimbalv1.DiscoveryBackend) *rbacapply.SubjectApplyConfiguration {
	return rbacapply.Subject().WithKind(rbacv1.ServiceAccountKind).WithNamespace(backend.Namespace).WithName(partName(backend))
}

func ownerReference(backend *gimbalv1.DiscoveryBackend) *metaapply.OwnerReferenceApplyConfiguration {
	return metaapply.OwnerReference().
		WithAPIVersion(gimbalv1.SchemeGroupVersion.String()).
		WithKind("DiscoveryBackend").
		WithName(backend.Name).
		WithUID(backend.UID).
		WithController(true)
}

// conflictError reports that another client has an object of the name that a part needs.
type conflictError struct{ object string }

func (e conflictError) Error() string {
	return e.object + " exists and does not belong to this backend: remove or rename it"
}

// differs reports whether a part has to be applied: it does not exist, or what Groundskeeper would apply is not what Groundskeeper owns of
// it, with its value. It compares as JSON, where quantities and numbers have one form. No object of another owner is taken over.
func differs(backend *gimbalv1.DiscoveryBackend, wanted part, current client.Object) (bool, error) {
	if current == nil {
		return true, nil
	}
	if !isPartOf(backend, current) {
		return false, conflictError{describe(current)}
	}
	owned, err := applied(current)
	if err != nil {
		return false, fmt.Errorf("read the managed fields of %s: %w", describe(current), err)
	}
	want, err := plain(wanted.desired)
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

func describe(object client.Object) string {
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" { // only metadata has one in its content
		kind = reflect.TypeOf(object).Elem().Name()
	}
	if namespace := object.GetNamespace(); namespace != "" {
		return fmt.Sprintf("%s %s/%s", kind, namespace, object.GetName())
	}
	return fmt.Sprintf("%s %s", kind, object.GetName())
}
