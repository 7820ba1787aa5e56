// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

const reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// TestPermissionsAreThoseOfTheRole checks that the reviewed permissions are those of the documented role.
func TestPermissionsAreThoseOfTheRole(t *testing.T) {
	text, err := os.ReadFile("../../../../../artifacts/kluster/workload/deorbit.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var role rbacv1.ClusterRole
	if err := yaml.UnmarshalStrict([]byte(first), &role); err != nil {
		t.Fatal(err)
	}
	line := func(verb, group, resource, name string) string {
		return strings.Join([]string{verb, group, resource, name}, " ")
	}
	var want, got []string
	for _, rule := range role.Rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, resource := range rule.Resources {
				for _, name := range names {
					want = append(want, line(verb, rule.APIGroups[0], resource, name))
				}
			}
		}
	}
	for _, f := range []facts{{policies: true, snapshots: true, keepsAddresses: true}, {}} {
		for _, p := range permissionsFor(f) {
			for _, request := range p.requests() {
				for _, a := range request.Attributes() {
					// A grant for all names is one for a single name.
					if all := line(a.Verb, a.Group, a.Resource, ""); slices.Contains(want, all) {
						a.Name = ""
					}
					got = append(got, line(a.Verb, a.Group, a.Resource, a.Name))
				}
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(slices.Compact(want), slices.Compact(got)); diff != "" {
		t.Errorf("permissions differ from those of the role (-role +reviewed):\n%s", diff)
	}
}

func TestMissingPermissions(t *testing.T) {
	for name, c := range map[string]struct {
		snapshots, policies bool
		keepsAddresses      bool
		denied              []string
		want                []string
	}{
		"all there":           {denied: nil},
		"one verb":            {denied: []string{"delete services"}, want: []string{"delete services"}},
		"two verbs":           {denied: []string{"list pods", "delete pods"}, want: []string{"list, delete pods"}},
		"of one name":         {policies: true, denied: []string{"patch validatingadmissionpolicies"}, want: []string{"patch validatingadmissionpolicies.admissionregistration.k8s.io groundskeeper-deorbit"}},
		"no such policies":    {denied: []string{"patch validatingadmissionpolicies"}},
		"webhooks instead":    {denied: []string{"create validatingwebhookconfigurations"}, want: []string{"create validatingwebhookconfigurations.admissionregistration.k8s.io groundskeeper-deorbit"}},
		"no snapshots":        {denied: []string{"delete volumesnapshots"}},
		"snapshots":           {snapshots: true, denied: []string{"delete volumesnapshots"}, want: []string{"delete volumesnapshots.snapshot.storage.k8s.io"}},
		"addresses go":        {denied: []string{"patch services"}},
		"addresses are kept":  {keepsAddresses: true, denied: []string{"patch services"}, want: []string{"patch services"}},
		"of two, each itself": {denied: []string{"list nodes", "delete services"}, want: []string{"delete services", "list nodes"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			if c.snapshots {
				s.on("GET /apis/snapshot.storage.k8s.io/v1", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, resources("volumesnapshots")) })
			}
			if c.policies {
				s.on("GET "+admissionAPI, func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, resources("validatingadmissionpolicies")) })
			}
			s.on("POST "+reviewPath, func(w http.ResponseWriter, r *http.Request) {
				attributes := reviewed(t, r)
				allowed := !slices.Contains(c.denied, attributes.Verb+" "+attributes.Resource)
				reply(w, 201, authorizationv1.SelfSubjectAccessReview{
					TypeMeta: metav1.TypeMeta{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"},
					Status:   authorizationv1.SubjectAccessReviewStatus{Allowed: allowed},
				})
			})
			missing, err := connect(t, s).MissingPermissions(t.Context(), c.keepsAddresses)
			if err != nil || !slices.Equal(missing, c.want) {
				t.Errorf("missing = %q, %v, want %q", missing, err, c.want)
			}
		})
	}
}

// TestPermissionsThatCannotBeReviewed checks that a permission that cannot be reviewed is neither present nor missing.
func TestPermissionsThatCannotBeReviewed(t *testing.T) {
	s := newServer(t)
	s.on("POST "+reviewPath, func(w http.ResponseWriter, _ *http.Request) {
		reply(w, 401, status(401, "Unauthorized", "Unauthorized: "+secret))
	})
	missing, err := connect(t, s).MissingPermissions(t.Context(), false)
	if err == nil || missing != nil || strings.Contains(err.Error(), secret) || !apierrors.IsUnauthorized(errors.Unwrap(err)) {
		t.Errorf("got %q, %v", missing, err)
	}
}

// reviewed returns what a review requests; clients send it as protobuf.
func reviewed(t *testing.T, r *http.Request) *authorizationv1.ResourceAttributes {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var envelope runtime.Unknown
	var review authorizationv1.SelfSubjectAccessReview
	text, _ := bytes.CutPrefix(body, []byte("k8s\x00"))
	if err := errors.Join(envelope.Unmarshal(text), review.Unmarshal(envelope.Raw)); err != nil || review.Spec.ResourceAttributes == nil {
		t.Fatalf("review %q: %v", body, err)
	}
	return review.Spec.ResourceAttributes
}
