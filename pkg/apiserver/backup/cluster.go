// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
)

// Comparison is what a backup means for the namespaces of a cluster.
type Comparison struct {
	// Lost are namespaces that a Project owns which the backup does not have.
	Lost []Lost
	// Missing are the namespaces of Projects of the backup that do not exist in the cluster. They come again, and empty.
	Missing []string
	// Orphans are namespaces of Projects that the backup does not have. Nothing deletes them, and no controller reconciles them.
	Orphans []orphans.Orphan
}

// Lost is a namespace that the garbage collector would delete.
type Lost struct {
	Namespace, Project string
	// UID is that of the Project that owns the namespace, Has that of the Project of this name in the backup, if any.
	UID, Has types.UID
}

// String reports it in words.
func (l Lost) String() string {
	if l.Has == "" {
		return fmt.Sprintf("namespace %s belongs to Project %s (uid %s), which the backup does not have", l.Namespace, l.Project, l.UID)
	}
	return fmt.Sprintf("namespace %s belongs to Project %s with uid %s; the one in the backup has uid %s", l.Namespace, l.Project, l.UID,
		l.Has)
}

// ServesProjects reports whether namespaces can belong to Groundskeeper's objects. Where another server of the cluster serves
// Projects, they belong to its objects, regardless of the content of a backup.
func ServesProjects(served []schema.GroupVersion) bool {
	return slices.Contains(served, gardenerv1beta1.SchemeGroupVersion)
}

// Compare reports what the garbage collector and Groundskeeper's controllers would make of the namespaces of a cluster, were the
// objects of a backup served in these group versions.
func Compare(served []schema.GroupVersion, objects []Object, namespaces []corev1.Namespace) Comparison {
	if !ServesProjects(served) {
		return Comparison{}
	}
	projects := projectUIDs(objects)
	exists := map[string]bool{}
	var c Comparison
	for _, namespace := range namespaces {
		exists[namespace.Name] = true
		if !namespace.DeletionTimestamp.IsZero() {
			continue // it is deleted in any case
		}
		for _, owner := range namespace.OwnerReferences {
			if gardenerv1beta1.IsProject(owner) && projects[owner.Name] != owner.UID {
				c.Lost = append(c.Lost, Lost{Namespace: namespace.Name, Project: owner.Name, UID: owner.UID, Has: projects[owner.Name]})
			}
		}
		if orphan, ok := orphans.Of(&namespace, projects); ok {
			c.Orphans = append(c.Orphans, orphan)
		}
	}
	for _, object := range objects {
		if project, ok := object.Object.(*gardenerv1beta1.Project); ok && project.DeletionTimestamp.IsZero() && !exists[project.NamespaceName()] {
			c.Missing = append(c.Missing, project.NamespaceName())
		}
	}
	slices.Sort(c.Missing)
	return c
}

// Namespaces returns all namespaces of a cluster.
func Namespaces(ctx context.Context, cluster kubernetes.Interface) ([]corev1.Namespace, error) {
	var all []corev1.Namespace
	options := metav1.ListOptions{Limit: page}
	for {
		list, err := cluster.CoreV1().Namespaces().List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("cannot list the namespaces of the cluster: %w", err)
		}
		all = append(all, list.Items...)
		if options.Continue = list.Continue; options.Continue == "" {
			return all, nil
		}
	}
}

// Serving returns the first of the group versions that a server serves in a cluster.
func Serving(cluster kubernetes.Interface, served []schema.GroupVersion) (string, error) {
	for _, groupVersion := range served {
		version := groupVersion.String()
		_, err := cluster.Discovery().ServerResourcesForGroupVersion(version)
		switch {
		case err == nil:
			return version, nil
		case apierrors.IsNotFound(err), apierrors.IsServiceUnavailable(err):
		default:
			return "", fmt.Errorf("cannot determine from the cluster whether a server uses %s: %w", version, err)
		}
	}
	return "", nil
}
