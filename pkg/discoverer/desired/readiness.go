// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// AnnotationWithheld has the conditions that the endpoints of a withheld slice had before: by their addresses, for each
// endpoint the letters of ready, serving and terminating, which are y, n, or - for unset. Endpoints that did not change are
// not in it. A slice that is withheld always has it, even without endpoints: those that it gets later are withheld, too.
const AnnotationWithheld = "gimbal.heptio.com/withheld-conditions"

// withheld returns the conditions of an endpoint that is to get no new traffic, whatever the backend reports about it. It does
// not serve either: Traefik and Envoy Gateway send to endpoints that serve, and are not ready.
func withheld(conditions discoveryv1.EndpointConditions) discoveryv1.EndpointConditions {
	conditions.Ready, conditions.Serving = &truth[0], &truth[0]
	return conditions
}

// IsWithheld reports whether an endpoint with these conditions gets no new traffic.
func IsWithheld(conditions discoveryv1.EndpointConditions) bool {
	return isFalse(conditions.Ready) && isFalse(conditions.Serving)
}

func isFalse(condition *bool) bool { return condition != nil && !*condition }

// Withhold takes the traffic from a slice, and keeps in an annotation what its conditions were.
func Withhold(slice *discoveryv1.EndpointSlice) {
	before, after := saved(slice), map[string]string{}
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		key := addressesOf(endpoint)
		kept, rest := next(before[key])
		before[key] = rest
		switch {
		case !IsWithheld(endpoint.Conditions):
			kept = lettersOf(endpoint.Conditions)
			endpoint.Conditions = withheld(endpoint.Conditions)
		case kept == "": // it was like this before
			kept = lettersOf(endpoint.Conditions)
		}
		after[key] += kept
	}
	maps.DeleteFunc(after, func(_, letters string) bool { return !differs(letters) })
	annotate(slice, after)
}

// HasWithheld reports whether one of the slices of a Service is withheld. So are those that it gets besides.
func HasWithheld(all []*discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(all, func(slice *discoveryv1.EndpointSlice) bool {
		_, withheld := slice.Annotations[AnnotationWithheld]
		return withheld
	})
}

// differs reports whether withholding changed one of the endpoints with these letters.
func differs(letters string) bool {
	for first, rest := next(letters); first != ""; first, rest = next(rest) {
		if !strings.HasPrefix(first, "nn") {
			return true
		}
	}
	return false
}

// Restore gives the endpoints of a slice the conditions back that they had before it was withheld. One that was changed since is
// left unchanged.
func Restore(slice *discoveryv1.EndpointSlice) {
	before := saved(slice)
	for i := range slice.Endpoints {
		endpoint := &slice.Endpoints[i]
		key := addressesOf(endpoint)
		kept, rest := next(before[key])
		before[key] = rest
		if kept != "" && IsWithheld(endpoint.Conditions) {
			endpoint.Conditions = conditionsOf(kept)
		}
	}
	annotate(slice, nil)
}

const lettersPerEndpoint = 3

func addressesOf(endpoint *discoveryv1.Endpoint) string { return strings.Join(endpoint.Addresses, ",") }

// next divides the letters of the endpoints with one address into those of the first and the others.
func next(letters string) (first, rest string) {
	if len(letters) < lettersPerEndpoint {
		return "", ""
	}
	return letters[:lettersPerEndpoint], letters[lettersPerEndpoint:]
}

func lettersOf(conditions discoveryv1.EndpointConditions) string {
	letters := make([]byte, 0, lettersPerEndpoint)
	for _, condition := range []*bool{conditions.Ready, conditions.Serving, conditions.Terminating} {
		switch {
		case condition == nil:
			letters = append(letters, '-')
		case *condition:
			letters = append(letters, 'y')
		default:
			letters = append(letters, 'n')
		}
	}
	return string(letters)
}

func conditionsOf(letters string) discoveryv1.EndpointConditions {
	var read [lettersPerEndpoint]*bool
	for i, letter := range []byte(letters) {
		if letter == 'y' || letter == 'n' {
			read[i] = Condition(letter == 'y')
		}
	}
	return discoveryv1.EndpointConditions{Ready: read[0], Serving: read[1], Terminating: read[2]}
}

// saved reads the annotation. One that cannot be read has nothing.
func saved(slice *discoveryv1.EndpointSlice) map[string]string {
	found := map[string]string{}
	if err := json.Unmarshal([]byte(slice.Annotations[AnnotationWithheld]), &found); err != nil || found == nil {
		return map[string]string{}
	}
	return found
}

// annotate sets the annotation, or removes it when conditions is nil. The map of annotations may be shared, so it is copied.
func annotate(slice *discoveryv1.EndpointSlice, conditions map[string]string) {
	annotations := maps.Clone(slice.Annotations)
	delete(annotations, AnnotationWithheld)
	if text, err := json.Marshal(conditions); err == nil && conditions != nil {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[AnnotationWithheld] = string(text)
	}
	if len(annotations) == 0 {
		annotations = nil
	}
	slice.Annotations = annotations
}

// Withhold takes the traffic from the slices, as Build has just made them.
func (o *Objects) Withhold() {
	for _, slice := range o.Slices {
		Withhold(slice)
	}
}

// DifferInReadiness reports whether endpoints, in the form that is compared, differ in that the ones are withheld and the others are
// not, and otherwise at most in zones and hints: a copy of an earlier version has none, and must not become ready by getting them.
func DifferInReadiness(a, b []discoveryv1.Endpoint) bool {
	differ := false
	return slices.EqualFunc(a, b, func(a, b discoveryv1.Endpoint) bool {
		differ = differ || !equality.Semantic.DeepEqual(a.Conditions, b.Conditions)
		a.Conditions, b.Conditions = withheld(a.Conditions), withheld(b.Conditions)
		b.Zone, b.Hints = a.Zone, a.Hints
		return equality.Semantic.DeepEqual(a, b)
	}) && differ
}

// GivesReadiness reports whether one of the wanted endpoints is ready or serves and does not in the stored copy. They differ in
// readiness only.
func GivesReadiness(want, have []discoveryv1.Endpoint) bool {
	for i := range want {
		wanted, there := want[i].Conditions, have[i].Conditions
		if isFalse(there.Ready) && !isFalse(wanted.Ready) || isFalse(there.Serving) && !isFalse(wanted.Serving) {
			return true
		}
	}
	return false
}
