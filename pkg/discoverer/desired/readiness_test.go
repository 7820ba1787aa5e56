// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// conditions are ready, serving and terminating: y, n, or - for absent.
func conditions(t *testing.T, letters string) discoveryv1.EndpointConditions {
	t.Helper()
	var read [3]*bool
	for i, letter := range letters {
		if letter != '-' {
			read[i] = new(letter == 'y')
		}
	}
	return discoveryv1.EndpointConditions{Ready: read[0], Serving: read[1], Terminating: read[2]}
}

func sliceOf(t *testing.T, letters ...string) *discoveryv1.EndpointSlice {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{}
	for i, each := range letters {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}, Conditions: conditions(t, each)})
	}
	return slice
}

// TestWithholdAndRestore checks that no withheld endpoint is ready or serving, and that restored ones are exactly as before, even
// where ready and serving differ.
func TestWithholdAndRestore(t *testing.T) {
	for _, tc := range []struct{ before, withheld string }{
		{"yyn", "nnn"}, {"yy-", "nn-"}, {"y--", "nn-"}, {"---", "nn-"}, {"-n-", "nn-"}, {"-y-", "nn-"}, {"n--", "nn-"}, {"nnn", "nnn"},
		{"nyn", "nnn"}, {"nyy", "nny"}, {"nny", "nny"}, {"yyy", "nny"}, {"ynn", "nnn"}, {"yny", "nny"},
	} {
		t.Run(tc.before, func(t *testing.T) {
			slice := sliceOf(t, tc.before, "yyn")
			slice.Annotations = map[string]string{"a": "b"}
			slice.Endpoints = append(slice.Endpoints, slice.Endpoints[0]) // the same address again
			before := slice.DeepCopy()
			Withhold(slice)
			if diff := cmp.Diff(conditions(t, tc.withheld), slice.Endpoints[0].Conditions); diff != "" {
				t.Errorf("withheld (-want +got):\n%s", diff)
			}
			once := slice.DeepCopy()
			if Withhold(slice); !cmp.Equal(once, slice) {
				t.Errorf("withheld twice (-once +twice):\n%s", cmp.Diff(once, slice))
			}
			if Restore(slice); !cmp.Equal(before, slice) {
				t.Errorf("restored (-before +after):\n%s", cmp.Diff(before, slice))
			}
			if Restore(slice); !cmp.Equal(before, slice) {
				t.Errorf("restored twice (-before +after):\n%s", cmp.Diff(before, slice))
			}
		})
	}
}

// TestWithheldSliceChanges checks that new endpoints of a withheld slice, and those that another client makes ready, are retained.
func TestWithheldSliceChanges(t *testing.T) {
	slice := sliceOf(t, "yyn", "nyn")
	Withhold(slice)
	slice.Endpoints = append(slice.Endpoints[:1], sliceOf(t, "yyn", "yyn", "nyy").Endpoints[2])
	slice.Endpoints[0].Conditions = conditions(t, "ynn")
	Withhold(slice)
	if got := slice.Annotations[AnnotationWithheld]; got != `{"10.0.0.0":"ynn","10.0.0.2":"nyy"}` {
		t.Errorf("the annotation is %s", got)
	}
	slice.Endpoints[1].Conditions = conditions(t, "yyn")
	Restore(slice)
	if diff := cmp.Diff([]discoveryv1.EndpointConditions{conditions(t, "ynn"), conditions(t, "yyn")},
		[]discoveryv1.EndpointConditions{slice.Endpoints[0].Conditions, slice.Endpoints[1].Conditions}); diff != "" {
		t.Error(diff)
	}
}

// TestRestoreRetainsOtherReferences checks that a slice that was never withheld, or whose annotation cannot be parsed, remains as
// the backend reports it.
func TestRestoreRetainsOtherReferences(t *testing.T) {
	for _, letters := range []string{"---", "y--", "n--", "yyn", "nnn", "nyy", "yyy", "nn-", "nyn"} {
		slice := sliceOf(t, letters)
		Restore(slice)
		if diff := cmp.Diff(sliceOf(t, letters), slice); diff != "" {
			t.Errorf("%s (-want +got):\n%s", letters, diff)
		}
	}
	for _, text := range []string{"", "{", "null", `{"10.0.0.0":"y"}`, `["10.0.0.0"]`} {
		slice := sliceOf(t, "nnn")
		slice.Annotations = map[string]string{AnnotationWithheld: text}
		Restore(slice)
		if diff := cmp.Diff(sliceOf(t, "nnn"), slice); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

func TestDifferInReadiness(t *testing.T) {
	endpoints := func(letters ...string) []discoveryv1.Endpoint {
		var built []discoveryv1.Endpoint
		for i, each := range letters {
			built = append(built, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", i)}, Conditions: conditions(t, each)})
		}
		return built
	}
	inZone := func(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
		endpoints[0].Zone, endpoints[0].Hints = new("a"), &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}
		return endpoints
	}
	moved := endpoints("nyn")
	moved[0].Addresses[0] = "10.0.0.9"
	for name, tc := range map[string]struct {
		a, b []discoveryv1.Endpoint
		want bool
	}{
		"equal":                 {endpoints("yyn"), endpoints("yyn"), false},
		"withheld":              {endpoints("yyn", "nnn"), endpoints("nnn", "nnn"), true},
		"withheld in part":      {endpoints("yyn", "yyn"), endpoints("nnn", "yyn"), true},
		"restored":              {endpoints("---"), endpoints("yy-"), true},
		"terminates there":      {endpoints("yyn"), endpoints("nyy"), false},
		"withheld, and a zone":  {inZone(endpoints("yyn", "nnn")), endpoints("nnn", "nnn"), true},
		"a zone":                {inZone(endpoints("yyn")), endpoints("yyn"), false},
		"one more":              {endpoints("yyn"), endpoints("nyn", "nyn"), false},
		"of another address":    {endpoints("yyn"), moved, false},
		"no endpoints at all":   {nil, nil, false},
		"none and an empty one": {nil, []discoveryv1.Endpoint{}, false},
	} {
		if got := DifferInReadiness(tc.a, tc.b); got != tc.want {
			t.Errorf("%s: got %t", name, got)
		}
		if got := DifferInReadiness(tc.b, tc.a); got != tc.want {
			t.Errorf("%s, the other way: got %t", name, got)
		}
	}
}

func TestGivesReadiness(t *testing.T) {
	for name, tc := range map[string]struct {
		want, have string
		gives      bool
	}{
		"given":             {"yyn", "nyn", true},
		"given, by absence": {"-yn", "nyn", true},
		"taken":             {"nyn", "yyn", false},
		"serving is given":  {"nyy", "nny", true},
		"the same":          {"nyn", "nyn", false},
		"ready unset":       {"yyn", "-yn", false},
	} {
		t.Run(name, func(t *testing.T) {
			endpoint := func(letters string) []discoveryv1.Endpoint {
				return []discoveryv1.Endpoint{{Conditions: conditions(t, "nyn")}, {Conditions: conditions(t, letters)}}
			}
			if got := GivesReadiness(endpoint(tc.want), endpoint(tc.have)); got != tc.gives {
				t.Errorf("got %t", got)
			}
		})
	}
}
