// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package project stores Projects.
package project

import (
	"fmt"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apis/gardener/validation"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// Kind describes Projects to the registry.
func Kind() registry.Kind[*gardenerv1beta1.Project] {
	return registry.Kind[*gardenerv1beta1.Project]{
		GroupVersion:     gardenerv1beta1.SchemeGroupVersion,
		Resource:         "projects",
		Singular:         "project",
		Categories:       []string{"groundskeeper"},
		Finalizer:        gardenerv1beta1.FinalizerName,
		AllOrNone:        true,
		DesiredFields:    []string{"spec"},
		New:              func() *gardenerv1beta1.Project { return &gardenerv1beta1.Project{} },
		NewList:          func() runtime.Object { return &gardenerv1beta1.ProjectList{} },
		Desired:          func(p *gardenerv1beta1.Project) any { return &p.Spec },
		CopyStatus:       func(to, from *gardenerv1beta1.Project) { to.Status = from.Status },
		Assign:           func(to, from *gardenerv1beta1.Project) { *to = *from },
		Summarize:        conditions.SetProject,
		Normalize:        gardenerv1beta1.NormalizeProject,
		SelectableFields: selectableFields,
		IndexedFields:    []string{gardenerv1beta1.ProjectNamespaceField},
		Columns: []registry.Column[*gardenerv1beta1.Project]{
			{Name: "Ready", Type: "string", Description: "Whether the object is as its spec requires.", Cell: ready},
			{Name: "Namespace", Type: "string", Description: "The namespace of the project.", Cell: func(p *gardenerv1beta1.Project) any { return p.NamespaceName() }},
			{Name: "Status", Type: "string", Description: "The phase: Pending, Ready, Failed or Terminating.", Cell: func(p *gardenerv1beta1.Project) any { return string(p.Status.Phase) }},
			{Name: "Owner", Type: "string", Description: "The owner of the project.", Cell: func(p *gardenerv1beta1.Project) any { return subjectName(p.Spec.Owner) }},
			{Name: "Creator", Type: "string", Description: "The creator of the project.", Cell: func(p *gardenerv1beta1.Project) any { return subjectName(p.Spec.CreatedBy) }},
			{Name: "Stale Since", Type: "string", Description: "Since when nothing uses the project.", Wide: true, Cell: func(p *gardenerv1beta1.Project) any { return date(p.Status.StaleSinceTimestamp) }},
			{Name: "Deletion Due", Type: "string", Description: "When the project is deleted unless it is used.", Wide: true, Cell: func(p *gardenerv1beta1.Project) any { return date(p.Status.StaleAutoDeleteTimestamp) }},
		},
		PrepareForCreate:     prepareForCreate,
		PrepareForUpdate:     prepareForUpdate,
		Validate:             validation.ValidateProject,
		ValidateUpdate:       validation.ValidateProjectUpdate,
		ValidateStatusUpdate: validation.ValidateProjectStatusUpdate,
	}
}

func selectableFields(p *gardenerv1beta1.Project) fields.Set {
	return fields.Set{gardenerv1beta1.ProjectNamespaceField: p.NamespaceName()}
}

// ready returns the status of the condition Ready.
func ready(p *gardenerv1beta1.Project) any {
	if c := conditions.Find(p.Status.Conditions, conditions.Ready); c != nil {
		return string(c.Status)
	}
	return ""
}

// date returns a time in the future or the past, which an age cannot be.
func date(t *metav1.Time) any {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func subjectName(s *rbacv1.Subject) string {
	if s == nil {
		return ""
	}
	return s.Name
}

// ClaimRule lets one Project hold a namespace.
func ClaimRule() claims.Rule {
	return claims.Rule{
		Separator: "/", // in no namespace: only equal names exclude each other
		Name: func(obj runtime.Object) string {
			if project, ok := obj.(*gardenerv1beta1.Project); ok {
				return project.NamespaceName()
			}
			return ""
		},
		Rejection: rejection,
	}
}

// rejection returns the error for a Project whose namespace another one holds.
func rejection(obj runtime.Object, held string) error {
	project, ok := obj.(*gardenerv1beta1.Project)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T claims no namespace", obj))
	}
	return apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), project.Name,
		fmt.Errorf("spec.namespace: namespace %q is already in-use by another project: choose another one", held))
}
