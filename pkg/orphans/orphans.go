// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package orphans recognizes namespaces whose Project does not exist, as after a restore of a backup that is older than the Project.
// No controller reconciles them, and the members of the Project keep their roles.
package orphans

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Orphan is a namespace whose Project does not exist.
type Orphan struct {
	Namespace, Project string
	// UID is that of the missing Project, Has that of the Project of this name, if there is one.
	UID, Has types.UID
}

// Of returns the orphan that a namespace is; false if it belongs to one of the Projects, whose UIDs are given by name, or to none. A
// namespace that is being deleted is none.
func Of(namespace metav1.Object, projects map[string]types.UID) (Orphan, bool) {
	o := Orphan{
		Namespace: namespace.GetName(), Project: namespace.GetLabels()[gardenerv1beta1.LabelProjectName],
		UID: types.UID(namespace.GetAnnotations()[gardenerv1beta1.AnnotationProjectUID]),
	}
	if o.Project == "" || o.UID == "" || namespace.GetDeletionTimestamp() != nil {
		return o, false
	}
	o.Has = projects[o.Project]
	return o, o.Has != o.UID
}

// String reports it, and how it gets a Project again.
func (o Orphan) String() string {
	adopt := fmt.Sprintf("kubectl annotate namespace %s %s-", o.Namespace, gardenerv1beta1.AnnotationProjectUID)
	if o.Has == "" {
		return fmt.Sprintf("belongs to Project %s with uid %s, which does not exist. Delete the namespace, or create Project %s with "+
			"spec.namespace %s and let it adopt the namespace: %s",
			o.Project, o.UID, o.Project, o.Namespace, adopt)
	}
	return fmt.Sprintf("belongs to Project %s with uid %s, which does not exist; the Project of this name has uid %s. Let it adopt the "+
		"namespace: %s", o.Project, o.UID, o.Has, adopt)
}

// rolePrefix starts the names of the ClusterRoles of Projects.
const rolePrefix = "gardener.cloud:"

// IsGranted reports whether a binding gives the members of the missing Project their roles: the controller names a binding after its role,
// and the role of others has another name. In the namespace that is decisive, because members may change labels and annotations of
// bindings there; for the whole cluster they say which Project it is.
func (o Orphan) IsGranted(binding metav1.Object, role rbacv1.RoleRef) bool {
	if o.UID == "" || role.Kind != "ClusterRole" || role.Name != binding.GetName() || !strings.HasPrefix(role.Name, rolePrefix) {
		return false
	}
	if binding.GetNamespace() != "" {
		return binding.GetNamespace() == o.Namespace
	}
	return binding.GetAnnotations()[gardenerv1beta1.AnnotationCreatedForProject] == string(o.UID) &&
		binding.GetLabels()[gardenerv1beta1.LabelProjectName] == o.Project
}
