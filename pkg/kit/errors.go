// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kit

import (
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ErrChanged reports that an object was deleted or replaced between the read and the write.
var ErrChanged = errors.New("the object was changed concurrently")

// NotFoundIsChanged marks the error of a write whose object does not exist any more with ErrChanged. The error of a server that
// does not serve the resource is returned unchanged: nothing is known about the object then.
func NotFoundIsChanged(err error) error {
	if apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}

// IsConcurrentChange reports whether an error is caused by a concurrent change, which the next reconciliation reads. It is not
// worth a report to users.
func IsConcurrentChange(err error) bool {
	return apierrors.IsConflict(err) || errors.Is(err, ErrChanged) || IsTerminating(err)
}

// IsTerminating reports whether a write was rejected because its namespace is being deleted.
func IsTerminating(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// IsUnavailable reports whether a later request may succeed: there was no response, the server is overloaded, or it failed.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return true
	}
	code := status.Status().Code
	return code == http.StatusTooManyRequests || code >= http.StatusInternalServerError
}
