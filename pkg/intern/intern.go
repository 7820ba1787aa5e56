// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package intern keeps one copy of the strings that thousands of cached objects have in common. Managed fields are left to
// the build tag fieldsv1string of k8s.io/apimachinery, which does the same for them.
package intern

import (
	"unique"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// String returns the one copy of a string that is made between two garbage collections. After each there may be another one: of
// thousands of copies some remain.
func String[S ~string](s S) S { return S(unique.Make(string(s)).Value()) }

// Object replaces what objects of its kind have in common. No other client may have the object yet.
func Object(object runtime.Object) {
	if translation, ok := object.(*midonetv1.Translation); ok {
		resources(translation)
	}
	if object, ok := object.(metav1.ObjectMetaAccessor); ok {
		if meta, ok := object.GetObjectMeta().(*metav1.ObjectMeta); ok {
			metadata(meta)
		}
	}
}

// metadata leaves the values of labels and annotations: each object may have its own.
func metadata(meta *metav1.ObjectMeta) {
	meta.Namespace = String(meta.Namespace)
	for _, texts := range []map[string]string{meta.Labels, meta.Annotations} {
		for name, value := range texts {
			texts[String(name)] = value // a map takes the new copy of a key that it has
		}
	}
	for i := range meta.OwnerReferences {
		owner := &meta.OwnerReferences[i]
		owner.APIVersion, owner.Kind, owner.Name, owner.UID = String(owner.APIVersion), String(owner.Kind), String(owner.Name), String(owner.UID)
	}
	for i, finalizer := range meta.Finalizers {
		meta.Finalizers[i] = String(finalizer)
	}
	for i := range meta.ManagedFields {
		entry := &meta.ManagedFields[i]
		entry.Manager, entry.Operation, entry.Subresource = String(entry.Manager), String(entry.Operation), String(entry.Subresource)
		entry.APIVersion, entry.FieldsType = String(entry.APIVersion), String(entry.FieldsType)
	}
}

// resources are those of a Translation, and the words of its status.
func resources(translation *midonetv1.Translation) {
	for i := range translation.Resources {
		resource := &translation.Resources[i]
		resource.Kind, resource.Parent = String(resource.Kind), String(resource.Parent)
	}
	for i := range translation.Status.Resources {
		resource := &translation.Status.Resources[i]
		resource.Kind, resource.Parent, resource.State = String(resource.Kind), String(resource.Parent), String(resource.State)
	}
	for i := range translation.Status.Conditions {
		condition := &translation.Status.Conditions[i]
		condition.Type, condition.Status = String(condition.Type), String(condition.Status)
		condition.Reason, condition.Message = String(condition.Reason), String(condition.Message)
	}
}
