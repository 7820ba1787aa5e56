// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package accessreview

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func configMaps(method Method, namespace, name string) Request {
	return Request{method, schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, namespace, name}
}

// TestAttributes checks that a review has the attributes by which API servers authorize the request.
func TestAttributes(t *testing.T) {
	for name, c := range map[string]struct {
		request Request
		want    []string
	}{
		"get":              {configMaps(Get, "ns", "one"), []string{"get configmaps// ns one"}},
		"list":             {configMaps(List, "", ""), []string{"list configmaps//  "}},
		"create by POST":   {configMaps(Create, "ns", "one"), []string{"create configmaps// ns "}},
		"apply":            {configMaps(Apply, "ns", "one"), []string{"create configmaps// ns one", "patch configmaps// ns one"}},
		"of a subresource": {Request{Patch, schema.GroupVersionResource{Group: "g", Resource: "things/status"}, "", ""}, []string{"patch things/status/g  "}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, a := range c.request.Attributes() {
				got = append(got, strings.Join([]string{a.Verb, a.Resource + "/" + a.Subresource + "/" + a.Group, a.Namespace, a.Name}, " "))
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestMissing checks that each verb that a request needs is reviewed, and that an error is neither allowed nor missing.
func TestMissing(t *testing.T) {
	down := errors.New("down")
	for name, c := range map[string]struct {
		denied string
		err    error
		want   []string
	}{
		"allowed":       {},
		"one of two":    {denied: "create", want: []string{"create"}},
		"cannot review": {err: down},
	} {
		t.Run(name, func(t *testing.T) {
			reviewer := Reviewer(func(_ context.Context, review *authorizationv1.SelfSubjectAccessReview) error {
				review.Status.Allowed = review.Spec.ResourceAttributes.Verb != c.denied
				return c.err
			})
			missing, err := reviewer.Missing(t.Context(), configMaps(Apply, "ns", "one"))
			allowed, _ := reviewer.Allowed(t.Context(), configMaps(Apply, "ns", "one"))
			if !slices.Equal(missing, c.want) || !errors.Is(err, c.err) || allowed != (c.want == nil && c.err == nil) {
				t.Errorf("got %q, %v, allowed %v, want %q, %v", missing, err, allowed, c.want, c.err)
			}
		})
	}
}
