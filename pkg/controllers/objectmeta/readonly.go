// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package objectmeta has a base type for cached objects that store only a part of their metadata, or store it packed.
package objectmeta

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ReadOnly implements metav1.Object with empty values. A type that embeds it overrides the getters of the fields that it stores. Setters
// panic, because objects of a cache are shared.
type ReadOnly struct{}

var _ metav1.Object = ReadOnly{}

const rejection = "an object of a cache cannot be changed"

// GetNamespace implements metav1.Object.
func (ReadOnly) GetNamespace() string { return "" }

// SetNamespace implements metav1.Object. It panics.
func (ReadOnly) SetNamespace(string) { panic(rejection) }

// GetName implements metav1.Object.
func (ReadOnly) GetName() string { return "" }

// SetName implements metav1.Object. It panics.
func (ReadOnly) SetName(string) { panic(rejection) }

// GetGenerateName implements metav1.Object.
func (ReadOnly) GetGenerateName() string { return "" }

// SetGenerateName implements metav1.Object. It panics.
func (ReadOnly) SetGenerateName(string) { panic(rejection) }

// GetUID implements metav1.Object.
func (ReadOnly) GetUID() types.UID { return "" }

// SetUID implements metav1.Object. It panics.
func (ReadOnly) SetUID(types.UID) { panic(rejection) }

// GetResourceVersion implements metav1.Object.
func (ReadOnly) GetResourceVersion() string { return "" }

// SetResourceVersion implements metav1.Object. It panics.
func (ReadOnly) SetResourceVersion(string) { panic(rejection) }

// GetGeneration implements metav1.Object.
func (ReadOnly) GetGeneration() int64 { return 0 }

// SetGeneration implements metav1.Object. It panics.
func (ReadOnly) SetGeneration(int64) { panic(rejection) }

// GetSelfLink implements metav1.Object.
func (ReadOnly) GetSelfLink() string { return "" }

// SetSelfLink implements metav1.Object. It panics.
func (ReadOnly) SetSelfLink(string) { panic(rejection) }

// GetCreationTimestamp implements metav1.Object.
func (ReadOnly) GetCreationTimestamp() metav1.Time { return metav1.Time{} }

// SetCreationTimestamp implements metav1.Object. It panics.
func (ReadOnly) SetCreationTimestamp(metav1.Time) { panic(rejection) }

// GetDeletionTimestamp implements metav1.Object.
func (ReadOnly) GetDeletionTimestamp() *metav1.Time { return nil }

// SetDeletionTimestamp implements metav1.Object. It panics.
func (ReadOnly) SetDeletionTimestamp(*metav1.Time) { panic(rejection) }

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (ReadOnly) GetDeletionGracePeriodSeconds() *int64 { return nil }

// SetDeletionGracePeriodSeconds implements metav1.Object. It panics.
func (ReadOnly) SetDeletionGracePeriodSeconds(*int64) { panic(rejection) }

// GetLabels implements metav1.Object.
func (ReadOnly) GetLabels() map[string]string { return nil }

// SetLabels implements metav1.Object. It panics.
func (ReadOnly) SetLabels(map[string]string) { panic(rejection) }

// GetAnnotations implements metav1.Object.
func (ReadOnly) GetAnnotations() map[string]string { return nil }

// SetAnnotations implements metav1.Object. It panics.
func (ReadOnly) SetAnnotations(map[string]string) { panic(rejection) }

// GetFinalizers implements metav1.Object.
func (ReadOnly) GetFinalizers() []string { return nil }

// SetFinalizers implements metav1.Object. It panics.
func (ReadOnly) SetFinalizers([]string) { panic(rejection) }

// GetOwnerReferences implements metav1.Object.
func (ReadOnly) GetOwnerReferences() []metav1.OwnerReference { return nil }

// SetOwnerReferences implements metav1.Object. It panics.
func (ReadOnly) SetOwnerReferences([]metav1.OwnerReference) { panic(rejection) }

// GetManagedFields implements metav1.Object.
func (ReadOnly) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }

// SetManagedFields implements metav1.Object. It panics.
func (ReadOnly) SetManagedFields([]metav1.ManagedFieldsEntry) { panic(rejection) }
