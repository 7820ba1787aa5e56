// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deletionconfirmation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

const confirmation = "true"

// confirmed reports whether the deletion of an object is confirmed.
func confirmed(object metav1.Object) bool {
	return object.GetAnnotations()[gardenerv1beta1.AnnotationConfirmDeletion] == confirmation
}

// record writes who confirmed the deletion of an object: the user whose request confirms it, and retains that user in later
// requests of any user. Old is the object that the request replaces, nil when it creates one. The record can only be written by
// confirming: its value in the request is discarded. It is idempotent.
func record(object, old metav1.Object, who user.Info) {
	by, known := "", false
	switch {
	case !confirmed(object): // no record
	case old == nil || !confirmed(old):
		by, known = who.GetName(), true
	default:
		by, known = old.GetAnnotations()[gardenerv1beta1.AnnotationDeletionConfirmedBy]
	}
	annotations := object.GetAnnotations()
	if !known {
		delete(annotations, gardenerv1beta1.AnnotationDeletionConfirmedBy)
		return
	}
	annotations[gardenerv1beta1.AnnotationDeletionConfirmedBy] = by // not nil: it has the confirmation
}
