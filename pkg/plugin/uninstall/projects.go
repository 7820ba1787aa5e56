// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

func (u *Uninstaller) projects(ctx context.Context) ([]client.Object, error) {
	return report.All(ctx, u.Client, &gardenerv1beta1.ProjectList{}, metav1.NamespaceAll)
}

// deleteProjects deletes Projects. A namespace that is kept is marked first: the controller reads the mark live. Another controller
// may delete a Project at any moment, so that those count that are being deleted already.
func (u *Uninstaller) deleteProjects(ctx context.Context) (string, error) {
	d := deletion{title: "Projects", list: u.projects, prepare: func(ctx context.Context, object client.Object) error {
		return u.annotate(ctx, object, gardenerv1beta1.AnnotationConfirmDeletion)
	}}
	if u.Projects == Keep {
		d.always = u.keepNamespace
	}
	return u.deleteAll(ctx, d)
}

// keepNamespaces marks the namespaces of Projects that are being deleted already. It comes first, because their controller deletes
// such a namespace as soon as it contains no object of Groundskeeper, which the deletion of Klusters may cause.
func (u *Uninstaller) keepNamespaces(ctx context.Context) (string, error) {
	return "", u.until(ctx, "namespaces of Projects", func(ctx context.Context) (left, error) {
		projects, err := u.projects(ctx)
		if err != nil {
			return left{}, err
		}
		projects = slices.DeleteFunc(projects, func(p client.Object) bool { return p.GetDeletionTimestamp().IsZero() })
		return left{}, errors.Join(each(projects, func(p client.Object) error { return rejection(p, u.keepNamespace(ctx, p)) })...)
	})
}

// keepNamespace marks the namespace of a Project to stay.
func (u *Uninstaller) keepNamespace(ctx context.Context, project client.Object) error {
	p, ok := project.(*gardenerv1beta1.Project)
	if !ok || p.NamespaceName() == "" {
		return nil
	}
	namespace := &corev1.Namespace{}
	err := u.Client.Get(ctx, client.ObjectKey{Name: p.NamespaceName()}, namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] != string(p.UID) {
		return err // a foreign namespace is not deleted
	}
	kept, err := strconv.ParseBool(namespace.Annotations[gardenerv1beta1.AnnotationKeepNamespace])
	if err == nil && kept || !namespace.DeletionTimestamp.IsZero() {
		return nil // too late for one that is being deleted
	}
	return u.annotate(ctx, namespace, gardenerv1beta1.AnnotationKeepNamespace)
}

// deleteNamespaces deletes the namespaces of the installation with all that is in them.
func (u *Uninstaller) deleteNamespaces(ctx context.Context) (string, error) {
	var deleted []string
	err := u.until(ctx, "namespaces", func(ctx context.Context) (left, error) {
		namespaces, err := u.metadataOf(ctx, namespaceResource, metav1.NamespaceAll, partOf+"="+product)
		if err != nil {
			return left{}, err
		}
		var l left
		for i := range namespaces {
			n := &namespaces[i]
			if n.DeletionTimestamp.IsZero() {
				deleted = append(deleted, n.Name)
				if err := u.remove(ctx, namespaceResource, "", n.Name, string(n.UID), metav1.DeletePropagationBackground); err != nil {
					return left{}, err
				}
			}
			l.names = append(l.names, "namespace "+n.Name)
			if l.why == "" {
				l.why = u.whyNamespace(ctx, n.Name)
			}
		}
		return l, nil
	})
	if err != nil || len(deleted) == 0 {
		return "", err
	}
	return fmt.Sprintf("namespaces %s have been deleted", strings.Join(deleted, ", ")), nil
}

// whyNamespace returns what the namespace controller reports that it waits for.
func (u *Uninstaller) whyNamespace(ctx context.Context, name string) string {
	namespace := &corev1.Namespace{}
	if err := u.Client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return ""
	}
	for _, c := range namespace.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}
