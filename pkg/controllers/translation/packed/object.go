// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package packed

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// What follows implements client.Object. Caches request the first three, of each object and often.

// GetNamespace implements metav1.Object.
func (t *Translation) GetNamespace() string { return t.namespace }

// GetName implements metav1.Object.
func (t *Translation) GetName() string { return t.name }

// GetResourceVersion implements metav1.Object.
func (t *Translation) GetResourceVersion() string { return t.version }

// GetGenerateName implements metav1.Object.
func (t *Translation) GetGenerateName() string { return t.Unpack().GenerateName }

// GetUID implements metav1.Object.
func (t *Translation) GetUID() types.UID { return t.Unpack().UID }

// GetGeneration implements metav1.Object.
func (t *Translation) GetGeneration() int64 { return t.Unpack().Generation }

// GetCreationTimestamp implements metav1.Object.
func (t *Translation) GetCreationTimestamp() metav1.Time { return t.Unpack().CreationTimestamp }

// GetDeletionTimestamp implements metav1.Object.
func (t *Translation) GetDeletionTimestamp() *metav1.Time { return t.Unpack().DeletionTimestamp }

// GetDeletionGracePeriodSeconds implements metav1.Object.
func (t *Translation) GetDeletionGracePeriodSeconds() *int64 {
	return t.Unpack().DeletionGracePeriodSeconds
}

// GetLabels implements metav1.Object.
func (t *Translation) GetLabels() map[string]string { return t.Unpack().Labels }

// GetAnnotations implements metav1.Object.
func (t *Translation) GetAnnotations() map[string]string { return t.Unpack().Annotations }

// GetFinalizers implements metav1.Object.
func (t *Translation) GetFinalizers() []string { return t.Unpack().Finalizers }

// GetOwnerReferences implements metav1.Object.
func (t *Translation) GetOwnerReferences() []metav1.OwnerReference { return t.Unpack().OwnerReferences }

// GetObjectKind implements runtime.Object. Like other objects of a cache it does not know its kind.
func (t *Translation) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
