// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package readonly helps with objects of caches that have less than all metadata, or have them packed.
package readonly

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Object implements metav1.Object without having anything. A type that embeds it overrides what it does have; a caller that tries
// to change an object of a cache learns of it by a panic.
type Object struct{}

var _ metav1.Object = Object{}

const rejection = "an object of a cache cannot be changed"

// GetNamespace implements metav1.Object.
func (Object) GetNamespace() string { return "" }

// SetNamespace implements metav1.Object. It panics.
func (Object) SetNamespace(string) { panic(rejection) }

// GetName implements metav1.Object.
func (Object) GetName() string { return "" }

// SetName implements metav1.Object. It panics.
func (Object) SetName(string) { panic(rejection) }

// GetGenerateName implements metav1.Object.
func (Object) GetGenerateName() string { return "" }

// SetGenerateName implements metav1.Object. It panics.
func (Object) SetGenerateName(string) { panic(rejection) }

// GetUID implements metav1.Object.
func (Object) GetUID() types.UID { return "" }

// SetUID implements metav1.Object. It panics.
func (Object) SetUID(types.UID) { panic(rejection) }

// GetResourceVersion implements metav1.Object.
func (Object) GetResourceVersion() string { return "" }

// SetResourceVersion implements metav1.Object. It panics.
func (Object) SetResourceVersion(string) { panic(rejection) }

// GetGeneration implements metav1.Object.
func (Object) GetGeneration() int64 { return 0 }

// SetGeneration implements metav1.Object. It panics.
func (Object) SetGeneration(int64) { panic(rejection) }

// GetSelfLink implements metav1.Object.
func (Object) GetSelfLink() string { return "" }

// SetSelfLink implements metav1.Object. It panics.
func (Object) SetSelfLink(string) { panic(rejection) }

// GetCreationTimestamp implements metav1.Object.
func (Object) GetCreationTimestamp() metav1.Time { return metav1.Time{} }

// SetCreationTimestamp implements metav1.Object. It panics.
func (Object) SetCreationTimestamp(metav1.Time) { panic(rejection) }

// GetDeletionTimestamp implements metav1.Object.
func (Object) GetDeletionTimestamp() *metav1.Time { return nil }

// SetDeletionTimestamp implements metav1.Object. It panics.
func (Object) SetDeletionTimestamp(*metav1.Time) { panic(rejection) }

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (Object) GetDeletionGracePeriodSeconds() *int64 { return nil }

// SetDeletionGracePeriodSeconds implements metav1.Object. It panics.
func (Object) SetDeletionGracePeriodSeconds(*int64) { panic(rejection) }

// GetLabels implements metav1.Object.
func (Object) GetLabels() map[string]string { return nil }

// SetLabels implements metav1.Object. It panics.
func (Object) SetLabels(map[string]string) { panic(rejection) }

// GetAnnotations implements metav1.Object.
func (Object) GetAnnotations() map[string]string { return nil }

// SetAnnotations implements metav1.Object. It panics.
func (Object) SetAnnotations(map[string]string) { panic(rejection) }

// GetFinalizers implements metav1.Object.
func (Object) GetFinalizers() []string { return nil }

// SetFinalizers implements metav1.Object. It panics.
func (Object) SetFinalizers([]string) { panic(rejection) }

// GetOwnerReferences implements metav1.Object.
func (Object) GetOwnerReferences() []metav1.OwnerReference { return nil }

// SetOwnerReferences implements metav1.Object. It panics.
func (Object) SetOwnerReferences([]metav1.OwnerReference) { panic(rejection) }

// GetManagedFields implements metav1.Object.
func (Object) GetManagedFields() []metav1.ManagedFieldsEntry { return nil }

// SetManagedFields implements metav1.Object. It panics.
func (Object) SetManagedFields([]metav1.ManagedFieldsEntry) { panic(rejection) }
