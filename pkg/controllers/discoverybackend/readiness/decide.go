// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// way is what is done to the conditions of endpoints.
type way func(discoveryv1.EndpointConditions) discoveryv1.EndpointConditions

// IsCopy reports whether a discoverer of ours wrote an EndpointSlice. What others made of it, for instance Kubernetes when
// it mirrors Endpoints, is theirs.
func IsCopy(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == desired.Manager || slice.Labels[desired.LabelManagedBy] == desired.Manager
}

// changed returns the endpoints as they should be, and whether that is anything new.
func (w way) changed(endpoints []discoveryv1.Endpoint) ([]discoveryv1.Endpoint, bool) {
	next, differ := slices.Clone(endpoints), false
	for i := range next {
		conditions := w(next[i].Conditions)
		differ = differ || !equality.Semantic.DeepEqual(conditions, next[i].Conditions)
		next[i].Conditions = conditions
	}
	return next, differ
}

// patch returns the JSON merge patch that changes a slice, nil when nothing has to change. It is taken only for the
// very object, in the state in which it was read.
func (w way) patch(slice *discoveryv1.EndpointSlice) ([]byte, error) {
	endpoints, differ := w.changed(slice.Endpoints)
	if !differ {
		return nil, nil
	}
	patch, err := json.Marshal(map[string]any{
		"metadata":  map[string]any{"uid": slice.UID, "resourceVersion": slice.ResourceVersion},
		"endpoints": endpoints,
	})
	if err != nil {
		return nil, fmt.Errorf("patch of EndpointSlice %s/%s: %w", slice.Namespace, slice.Name, err)
	}
	return patch, nil
}
