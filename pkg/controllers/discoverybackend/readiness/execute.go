// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// writeAll replaces slices, and returns how many changed meanwhile and have to be read again. The API server handles an update in
// protobuf with less CPU time than a patch, which it applies to JSON; and copies have no fields that their discoverers do not know.
func (e *Endpoints) writeAll(ctx context.Context, due []*discoveryv1.EndpointSlice) (left int, err error) {
	errs := make([]error, len(due))
	var group errgroup.Group
	group.SetLimit(parallelWrites)
	for i, slice := range due {
		group.Go(func() error {
			options := metav1.UpdateOptions{FieldManager: fieldOwner}
			_, errs[i] = e.client.DiscoveryV1().EndpointSlices(slice.Namespace).Update(ctx, slice, options)
			return nil
		})
	}
	_ = group.Wait()
	for i, err := range errs {
		switch errs[i] = nil; {
		case err == nil, apierrors.IsNotFound(err):
		case apierrors.IsConflict(err):
			left++
		default:
			left++
			errs[i] = fmt.Errorf("update EndpointSlice %s/%s: %w", due[i].Namespace, due[i].Name, err)
		}
	}
	return left, errors.Join(errs...)
}
