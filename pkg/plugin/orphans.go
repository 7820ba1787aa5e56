// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/orphans"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// orphansTitle is what status calls namespaces whose Project does not exist.
const orphansTitle = "Namespaces"

// orphans adds the namespaces whose Project does not exist. They are not in the report when there are none, or when the user may not list
// namespaces.
func (c *command) orphans(ctx context.Context, r *report.Report, projects map[string]types.UID) {
	namespaces := &corev1.NamespaceList{}
	switch err := c.client.List(ctx, namespaces, client.HasLabels{gardenerv1beta1.LabelProjectName}); {
	case apierrors.IsForbidden(err):
		return
	case err != nil:
		r.Checked = append(r.Checked, report.Checked{Name: orphansTitle,
			Problem: report.OneLine(fmt.Sprintf("list namespaces: %s", c.explained(ctx, err)))})
		return
	}
	checked := report.Checked{Name: orphansTitle}
	for i := range namespaces.Items {
		namespace := &namespaces.Items[i]
		if _, ok := orphans.Of(namespace, projects); !ok {
			continue
		}
		// The list of Projects may be older than the namespace.
		project := &gardenerv1beta1.Project{}
		if err := c.client.Get(ctx, client.ObjectKey{Name: namespace.Labels[gardenerv1beta1.LabelProjectName]},
			project); client.IgnoreNotFound(err) != nil {
			checked.Problem = report.OneLine(fmt.Sprintf("get the Project of namespace %s: %s", namespace.Name, c.explained(ctx, err)))
			continue
		}
		if orphan, ok := orphans.Of(namespace, map[string]types.UID{project.Name: project.UID}); ok {
			checked.Count++
			r.Add(orphansTitle, namespace, c.orphaned(ctx, orphan))
		}
	}
	if checked.Count > 0 || checked.Problem != "" {
		r.Checked = append(r.Checked, checked)
	}
}

// orphaned returns the finding of a namespace whose Project does not exist, with the bindings by which members keep their roles.
func (c *command) orphaned(ctx context.Context, orphan orphans.Orphan) report.Finding {
	f := report.Found(report.Warning, "%s", orphan)
	bindings := &rbacv1.RoleBindingList{}
	err := c.client.List(ctx, bindings, client.InNamespace(orphan.Namespace))
	if err != nil {
		f.Message += ". Which members keep their roles is unknown: " + report.OneLine(err.Error())
		return f
	}
	var names []string
	for i := range bindings.Items {
		if orphan.IsGranted(&bindings.Items[i], bindings.Items[i].RoleRef) {
			names = append(names, bindings.Items[i].Name)
		}
	}
	if len(names) > 0 {
		f.Message += ". Its members keep the roles of these RoleBindings: " + strings.Join(names, ", ")
	}
	return f
}
