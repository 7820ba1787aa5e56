// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
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
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure && namesOwn(c.Message):
			all = append(all, found(warning, "the API of Groundskeeper is unavailable, and blocks the deletion of every namespace: %s. Restore "+
				"groundskeeper-apiserver "+
				"(kubectl groundskeeper check); if its store is lost, free the cluster: %s", c.Message, uninstall.UnregisterCommand))
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure:
			all = append(all, found(warning, "an API of the cluster is unavailable, and blocks the deletion of every namespace: %s (kubectl get "+
				"apiservices)", c.Message))
		case c.Type == corev1.NamespaceContentRemaining, c.Type == corev1.NamespaceFinalizersRemaining:
			all = append(all, found(inProgress, "%s: %s", c.Type, c.Message))
		default:
			all = append(all, found(warning, "%s: %s", c.Type, c.Message))
		}
	}
	return all
}

// namesOwn reports whether a message names an API of Groundskeeper.
func namesOwn(message string) bool {
	return slices.ContainsFunc(newScheme().PrioritizedVersionsAllGroups(), func(version schema.GroupVersion) bool {
		return isOwn(version.Group) && strings.Contains(message, version.String())
	})
}

// contents adds the relevant state of Groundskeeper's objects in a namespace, and of its Project. Of a namespace that is being
// deleted, each object counts: it goes only after them. A kind that cannot be read is a problem of that kind only: it may be why
// the namespace is not deleted.
func (c *command) contents(ctx context.Context, namespace *corev1.Namespace, r *report.Report) {
	deleting := !namespace.DeletionTimestamp.IsZero()
	for _, k := range kinds() {
		if k.global {
			continue
		}
		objects, err := report.All(ctx, c.client, k.list(), namespace.Name)
		checked := report.Checked{Name: k.title, Count: len(objects)}
		if meta.IsNoMatchError(err) {
			continue
		}
		checked.Problem = c.unlisted(ctx, k, namespace.Name, err)
		r.Checked = append(r.Checked, checked)
		for _, object := range objects {
			all := append(k.findings(object, c.clock.Now()), details(object)...)
			if deleting && len(all) == 0 {
				all = append(all, found(inProgress, "still exists"))
			}
			addFindings(r, k.title, object, all)
		}
	}
	c.projectOf(ctx, namespace, r)
}

// projectOf adds the Project of a namespace, and its findings.
func (c *command) projectOf(ctx context.Context, namespace *corev1.Namespace, r *report.Report) {
	name := namespace.Labels[gardenerv1beta1.LabelProjectName]
	if name == "" {
		return
	}
	project := &gardenerv1beta1.Project{}
	err := c.client.Get(ctx, client.ObjectKey{Name: name}, project)
	checked := report.Checked{Name: "Projects", Count: 1}
	switch {
	case meta.IsNoMatchError(err):
		return
	case apierrors.IsNotFound(err):
		checked.Count = 0
		project = &gardenerv1beta1.Project{}
	case apierrors.IsForbidden(err):
		checked = report.Checked{Name: "Projects", Problem: fmt.Sprintf("you are not allowed to get Project %s", name)}
	case err != nil:
		checked = report.Checked{Name: "Projects", Problem: fmt.Sprintf("get Project %s: %s", name, oneLine(c.explained(ctx, err).Error()))}
	}
	r.Checked = append(r.Checked, checked)
	r.Project = name
	if checked.Problem != "" {
		return
	}
	projects := map[string]types.UID{project.Name: project.UID}
	if orphan, ok := orphans.Of(namespace, projects); ok {
		addFindings(r, "Namespaces", namespace, []finding{c.orphaned(ctx, orphan)})
		r.Project = ""
		return
	}
	if checked.Count == 0 {
		return // it has not claimed the namespace
	}
	addFindings(r, "Projects", project, append(projectFindings(project, c.clock.Now()), details(project)...))
}
