// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Withhold returns the conditions of an endpoint that is to get no new traffic, whatever the backend says of it: it is
// not ready. What the backend said stays in serving, which means the same as ready as long as nobody says otherwise.
func Withhold(conditions discoveryv1.EndpointConditions) discoveryv1.EndpointConditions {
	if conditions.Serving == nil {
		conditions.Serving = conditions.Ready
		if conditions.Ready == nil { // which means ready
			conditions.Serving = &truth[1]
		}
	}
	conditions.Ready = &truth[0]
	return conditions
}

// Restore returns the conditions of an endpoint that may get traffic again: one that serves and does not terminate is
// ready. One that says nothing of serving was not withheld.
func Restore(conditions discoveryv1.EndpointConditions) discoveryv1.EndpointConditions {
	if is(conditions.Ready, false) && is(conditions.Serving, true) && !is(conditions.Terminating, true) {
		conditions.Ready = &truth[1]
	}
	return conditions
}

func is(condition *bool, value bool) bool { return condition != nil && *condition == value }

// Withhold takes the traffic from the slices, as Build has just made them.
func (o *Objects) Withhold() {
	for _, slice := range o.Slices {
		for i := range slice.Endpoints {
			slice.Endpoints[i].Conditions = Withhold(slice.Endpoints[i].Conditions)
		}
	}
}

// DifferInReadiness says whether endpoints, in the form that is compared, differ, and only in that the ones are
// withheld and the others are not.
func DifferInReadiness(a, b []discoveryv1.Endpoint) bool {
	return !equality.Semantic.DeepEqual(a, b) && slices.EqualFunc(a, b, func(a, b discoveryv1.Endpoint) bool {
		a.Conditions, b.Conditions = Withhold(a.Conditions), Withhold(b.Conditions)
		return equality.Semantic.DeepEqual(a, b)
	})
}

// GivesReadiness says whether one of the wanted endpoints is ready and, as it is there, is not. They differ in readiness
// only.
func GivesReadiness(want, have []discoveryv1.Endpoint) bool {
	for i := range want {
		if is(have[i].Conditions.Ready, false) && !is(want[i].Conditions.Ready, false) {
			return true
		}
	}
	return false
}
