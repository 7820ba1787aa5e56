// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
)

// Binding gives the members of a Project their roles. One of the cluster has no namespace.
type Binding struct {
	Namespace, Name string
	UID             types.UID
	// ResourceVersion is that at which it was read: a Project that adopts the namespace changes it.
	ResourceVersion string
}

// String names it.
func (b Binding) String() string {
	if b.Namespace == "" {
		return "clusterrolebinding " + b.Name
	}
	return "rolebinding " + b.Namespace + "/" + b.Name
}

// Bindings returns those of an orphan.
func Bindings(ctx context.Context, cluster kubernetes.Interface, o orphans.Orphan) ([]Binding, error) {
	// An import in a pod has the account of the server, which has no such permission.
	list := &authorizationv1.ResourceAttributes{Namespace: o.Namespace, Verb: "list", Group: rbacv1.GroupName, Resource: "rolebindings"}
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: list}}
	review, err := cluster.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	switch {
	case err != nil:
		return nil, fmt.Errorf("review the permission to list rolebindings in namespace %s: %w", o.Namespace, err)
	case !review.Status.Allowed:
		return nil, fmt.Errorf("the user of the import is not allowed to list rolebindings in namespace %s", o.Namespace)
	}
	inNamespace, err := cluster.RbacV1().RoleBindings(o.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list RoleBindings in namespace %s: %w", o.Namespace, err)
	}
	ofProject := metav1.ListOptions{LabelSelector: gardenerv1beta1.LabelProjectName + "=" + o.Project}
	inCluster, err := cluster.RbacV1().ClusterRoleBindings().List(ctx, ofProject)
	if err != nil {
		return nil, fmt.Errorf("list ClusterRoleBindings: %w", err)
	}
	var all []Binding
	add := func(binding metav1.Object, role rbacv1.RoleRef) {
		if o.IsGranted(binding, role) {
			all = append(all, Binding{Namespace: binding.GetNamespace(), Name: binding.GetName(), UID: binding.GetUID(),
				ResourceVersion: binding.GetResourceVersion()})
		}
	}
	for i := range inNamespace.Items {
		add(&inNamespace.Items[i], inNamespace.Items[i].RoleRef)
	}
	for i := range inCluster.Items {
		add(&inCluster.Items[i], inCluster.Items[i].RoleRef)
	}
	return all, nil
}

// RemoveBindings deletes those of an orphan, and returns which. A namespace that a Project of the backup has adopted meanwhile is left
// alone.
func RemoveBindings(ctx context.Context, cluster kubernetes.Interface, o orphans.Orphan, objects []Object) ([]Binding, error) {
	namespace, err := cluster.CoreV1().Namespaces().Get(ctx, o.Namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get namespace %s: %w", o.Namespace, err)
	}
	if live, ok := orphans.Of(namespace, projectUIDs(objects)); !ok || live != o {
		return nil, nil
	}
	bindings, err := Bindings(ctx, cluster, o)
	if err != nil {
		return nil, err
	}
	for i, binding := range bindings {
		if err := binding.remove(ctx, cluster); err != nil && !apierrors.IsNotFound(err) {
			return bindings[:i], fmt.Errorf("remove %s: %w", binding, err)
		}
	}
	return bindings, nil
}

// remove takes the subjects of a binding and then deletes it: a finalizer, which members may set, would keep a binding that is only deleted
// in effect.
func (b Binding) remove(ctx context.Context, cluster kubernetes.Interface) error {
	empty := fmt.Appendf(nil, `{"metadata":{"uid":%q,"resourceVersion":%q},"subjects":null}`, b.UID, b.ResourceVersion)
	options := metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &b.UID}}
	if b.Namespace == "" {
		bindings := cluster.RbacV1().ClusterRoleBindings()
		if _, err := bindings.Patch(ctx, b.Name, types.MergePatchType, empty, metav1.PatchOptions{}); err != nil {
			return err
		}
		return bindings.Delete(ctx, b.Name, options)
	}
	bindings := cluster.RbacV1().RoleBindings(b.Namespace)
	if _, err := bindings.Patch(ctx, b.Name, types.MergePatchType, empty, metav1.PatchOptions{}); err != nil {
		return err
	}
	return bindings.Delete(ctx, b.Name, options)
}

func projectUIDs(objects []Object) map[string]types.UID {
	projects := map[string]types.UID{}
	for _, object := range objects {
		if project, ok := object.Object.(*gardenerv1beta1.Project); ok {
			projects[project.Name] = project.UID
		}
	}
	return projects
}
