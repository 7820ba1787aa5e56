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
	return kind{title: orphansTitle, names: []string{"namespace", "namespaces", "ns"}, global: true, object: empty[corev1.Namespace],
		list: emptyList[corev1.NamespaceList], other: namespaceFindings}
}

// namespaceFindings returns those of a namespace: what the namespace controller of Kubernetes waits for.
func namespaceFindings(object client.Object, now time.Time) (all []report.Finding) {
	n, ok := object.(*corev1.Namespace)
	if !ok || n.DeletionTimestamp.IsZero() {
		return nil
	}
	all = append(all, report.Found(report.InProgress, "is being deleted, for %s", report.Lasts(n.DeletionTimestamp, now)))
	for _, c := range n.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure && namesOwn(c.Message) && n.Name == uninstall.SystemNamespace:
			all = append(all, report.Found(report.Warning, "%s: %s", c.Message, uninstall.Terminating))
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure && namesOwn(c.Message):
			all = append(all, report.Found(report.Warning, "the API of Groundskeeper is unavailable, and blocks the deletion of every namespace: %s. Restore "+
				"groundskeeper-apiserver "+
				"(kubectl groundskeeper check); if its store is lost, free the cluster: %s", c.Message, uninstall.UnregisterCommand))
		case c.Type == corev1.NamespaceDeletionDiscoveryFailure:
			all = append(all, report.Found(report.Warning, "an API of the cluster is unavailable, and blocks the deletion of every namespace: %s (kubectl get "+
				"apiservices)", c.Message))
		case c.Type == corev1.NamespaceContentRemaining, c.Type == corev1.NamespaceFinalizersRemaining:
			all = append(all, report.Found(report.InProgress, "%s: %s", c.Type, c.Message))
		default:
			all = append(all, report.Found(report.Warning, "%s: %s", c.Type, c.Message))
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
func (c *command) contents(ctx context.Context, namespace *corev1.Namespace, idle report.Idle, r *report.Report) {
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
			all := report.Why(object, idle, c.clock.Now())
			if deleting && report.OK(all) {
				all = append(all, report.Found(report.InProgress, "still exists"))
			}
			r.Add(k.title, object, all...)
		}
	}
	c.projectOf(ctx, namespace, idle, r)
}

// projectOf adds the Project of a namespace, and its findings.
func (c *command) projectOf(ctx context.Context, namespace *corev1.Namespace, idle report.Idle, r *report.Report) {
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
		checked = report.Checked{Name: "Projects", Problem: fmt.Sprintf("get Project %s: %s", name, report.OneLine(c.explained(ctx, err).Error()))}
	}
	r.Checked = append(r.Checked, checked)
	r.Project = name
	if checked.Problem != "" {
		return
	}
	projects := map[string]types.UID{project.Name: project.UID}
	if orphan, ok := orphans.Of(namespace, projects); ok {
		r.Add("Namespaces", namespace, c.orphaned(ctx, orphan))
		r.Project = ""
		return
	}
	if checked.Count == 0 {
		return // it has not claimed the namespace
	}
	r.Add(projectsTitle, project, report.Why(project, idle, c.clock.Now())...)
}
