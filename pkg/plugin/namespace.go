// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// namespaceKind returns the kind of namespaces, about which "why" knows something, too.
func namespaceKind() kind {
	return kindOf("Namespaces", []string{"namespace", "namespaces", "ns"}, true, func() *corev1.Namespace { return &corev1.Namespace{} },
		func() client.ObjectList { return &corev1.NamespaceList{} }, namespaceFindings)
}

// namespaceFindings returns those of a namespace: what the namespace controller of Kubernetes waits for.
func namespaceFindings(n *corev1.Namespace, now time.Time) (all []finding) {
	if n.DeletionTimestamp.IsZero() {
		return nil
	}
	all = append(all, found(inProgress, "is being deleted, for %s", lasts(n.DeletionTimestamp, now)))
	for _, c := range n.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure:
			all = append(all, found(warning, "an API of the cluster is unavailable, and blocks the deletion of every namespace: %s (kubectl get apiservices)", c.Message))
		case c.Type == corev1.NamespaceContentRemaining, c.Type == corev1.NamespaceFinalizersRemaining:
			all = append(all, found(inProgress, "%s: %s", c.Type, c.Message))
		default:
			all = append(all, found(warning, "%s: %s", c.Type, c.Message))
		}
	}
	return all
}

// contents adds the relevant state of Groundskeeper's objects in a namespace, and of its Project. Of a namespace that is being
// deleted, each object counts: it is not deleted before them.
func (c *command) contents(ctx context.Context, namespace *corev1.Namespace, r *report.Report) error {
	deleting := !namespace.DeletionTimestamp.IsZero()
	for _, k := range kinds() {
		if k.global {
			continue
		}
		objects, err := c.all(ctx, k, namespace.Name)
		checked := report.Checked{Name: k.title, Count: len(objects)}
		switch {
		case meta.IsNoMatchError(err):
			continue
		case apierrors.IsForbidden(err):
			checked.Problem = notAllowed(k, namespace.Name)
		case err != nil:
			return fmt.Errorf("list %s: %w", k.title, err)
		}
		r.Checked = append(r.Checked, checked)
		for _, object := range objects {
			all := append(k.findings(object, c.clock.Now()), details(object)...)
			if deleting && len(all) == 0 {
				all = append(all, found(inProgress, "still exists"))
			}
			addFindings(r, k.title, object, all)
		}
	}
	return c.projectOf(ctx, namespace, r)
}

// projectOf adds the findings of the Project of a namespace.
func (c *command) projectOf(ctx context.Context, namespace *corev1.Namespace, r *report.Report) error {
	name := namespace.Labels[gardenerv1beta1.LabelProjectName]
	if name == "" {
		return nil
	}
	project := &gardenerv1beta1.Project{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, project)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return nil
	case apierrors.IsForbidden(err):
		r.Checked = append(r.Checked, report.Checked{Name: "Projects", Problem: fmt.Sprintf("you are not allowed to get Project %s", name)})
		return nil
	case err != nil:
		return fmt.Errorf("get Project %s: %w", name, err)
	}
	r.Checked = append(r.Checked, report.Checked{Name: "Projects", Count: 1})
	addFindings(r, "Projects", project, append(projectFindings(project, c.clock.Now()), details(project)...))
	return nil
}
