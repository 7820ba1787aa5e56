// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package klusterdiscovery

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

var klusters = kubernikusv1.SchemeGroupVersion.WithResource("klusters")

func anna() user.Info { return &user.DefaultInfo{Name: "anna"} }

// write returns a request of anna; without an old object, a creation.
func write(object, old runtime.Object, resource schema.GroupVersionResource, subresource string) admission.Attributes {
	operation := admission.Update
	if old == nil {
		operation = admission.Create
	}
	return admission.NewAttributesRecord(object, old, kubernikusv1.SchemeGroupVersion.WithKind("Kluster"), "garden-shop", "web", resource, subresource,
		operation, nil, false, anna())
}

// namespaceDecisions is an authorizer: the namespaces where it allows the request. It records the requests.
type namespaceDecisions struct {
	allowed  []string
	err      error
	requests []authorizer.Attributes
}

func (r *namespaceDecisions) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	r.requests = append(r.requests, a)
	for _, namespace := range r.allowed {
		if a.GetNamespace() == namespace {
			return authorizer.DecisionAllow, "", r.err
		}
	}
	return authorizer.DecisionNoOpinion, "", r.err
}

func judging(r *namespaceDecisions) *Plugin {
	plugin := New()
	plugin.SetUnconditionalAuthorizer(r)
	return plugin
}

func kluster(discovery *kubernikusv1.DiscoverySpec) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: "web"}, Spec: kubernikusv1.KlusterSpec{Discovery: discovery}}
	kubernikusv1.NormalizeKluster(k)
	return k
}

func TestValidate(t *testing.T) {
	on, off := &kubernikusv1.DiscoverySpec{Enabled: true}, &kubernikusv1.DiscoverySpec{}
	elsewhere, offElsewhere := &kubernikusv1.DiscoverySpec{Enabled: true, Namespace: "team"}, &kubernikusv1.DiscoverySpec{Namespace: "team"}
	keepSole := &kubernikusv1.DiscoverySpec{Enabled: true, DrainPolicy: kubernikusv1.DrainKeepSole}
	for _, tc := range []struct {
		name     string
		old, now *kubernikusv1.DiscoverySpec
		created  bool
		requests string // the namespace
		field    string
	}{
		{"created without", nil, nil, true, "", ""},
		{"created disabled", nil, off, true, "", ""},
		{"created enabled", nil, on, true, "gimbal-discovery", "spec.discovery.enabled"},
		{"created enabled elsewhere", nil, elsewhere, true, "team", "spec.discovery.enabled"},
		{"enabled", nil, on, false, "gimbal-discovery", "spec.discovery.enabled"},
		{"enabled where it was disabled", off, on, false, "gimbal-discovery", "spec.discovery.enabled"},
		{"prepared, and enabled", offElsewhere, elsewhere, false, "team", "spec.discovery.enabled"},
		{"moved", on, elsewhere, false, "team", "spec.discovery.namespace"},
		{"moved while disabled", off, offElsewhere, false, "", ""},
		{"unchanged", on, on, false, "", ""},
		{"another policy", on, keepSole, false, "", ""},
		{"disabled", on, off, false, "", ""},
		{"removed", on, nil, false, "", ""},
		{"disabled and moved", on, offElsewhere, false, "", ""},
	} {
		for _, subresource := range []string{"", "status"} { // a change is judged by what it does, not by where it was sent
			t.Run(tc.name+" "+subresource, func(t *testing.T) {
				var old runtime.Object
				if !tc.created {
					old = kluster(tc.old)
				}
				update := write(kluster(tc.now), old, klusters, subresource)
				without := &namespaceDecisions{allowed: []string{"garden-shop"}}
				err := judging(without).Validate(t.Context(), update, nil)
				if tc.requests == "" {
					if err != nil || len(without.requests) > 0 {
						t.Errorf("error = %v, reviews = %v", err, without.requests)
					}
					return
				}
				want := []authorizer.Attributes{authorizer.AttributesRecord{User: anna(), Verb: "create", APIGroup: "gimbal.heptio.com", APIVersion: "v1",
					Resource: "discoverybackends", Namespace: tc.requests, ResourceRequest: true}}
				if diff := cmp.Diff(want, without.requests); diff != "" {
					t.Errorf("questions (-want +got):\n%s", diff)
				}
				text := tc.field + `: user "anna" cannot create discoverybackends.gimbal.heptio.com in namespace "` + tc.requests + `"`
				if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), text) {
					t.Errorf("error = %v, want the rejection %s", err, text)
				}
				if err := judging(&namespaceDecisions{allowed: []string{tc.requests}}).Validate(t.Context(), update, nil); err != nil {
					t.Errorf("rejected: %v", err)
				}
			})
		}
	}
}

// TestValidateWhenTheAuthorizerFails checks that nothing is announced if the authorizer fails, and that an allowed decision is used
// even if it has an error.
func TestValidateWhenTheAuthorizerFails(t *testing.T) {
	update := write(kluster(&kubernikusv1.DiscoverySpec{Enabled: true}), kluster(nil), klusters, "")
	down := &namespaceDecisions{err: errors.New("kube-apiserver is unavailable")}
	if err := judging(down).Validate(t.Context(), update, nil); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "is unavailable") {
		t.Errorf("got %v", err)
	}
	down.allowed = []string{"gimbal-discovery"}
	if err := judging(down).Validate(t.Context(), update, nil); err != nil {
		t.Errorf("got %v", err)
	}
}

func TestValidateLeavesOthersAlone(t *testing.T) {
	r := &namespaceDecisions{}
	on := kluster(&kubernikusv1.DiscoverySpec{Enabled: true})
	if err := judging(r).Validate(t.Context(), write(on, nil, kubernikusv1.SchemeGroupVersion.WithResource("others"), ""), nil); err != nil || len(r.requests) > 0 {
		t.Errorf("another resource: error = %v, reviews = %v", err, r.requests)
	}
	for operation, want := range map[admission.Operation]bool{admission.Create: true, admission.Update: true, admission.Delete: false} {
		if got := New().Handles(operation); got != want {
			t.Errorf("handles %s: %t", operation, got)
		}
	}
	for name, bad := range map[string]admission.Attributes{
		"new": write(&gardenerv1beta1.Project{}, on, klusters, ""), "old": write(on, &gardenerv1beta1.Project{}, klusters, ""),
	} {
		if err := judging(r).Validate(t.Context(), bad, nil); !apierrors.IsInternalError(err) {
			t.Errorf("%s is no Kluster: %v", name, err)
		}
	}
}

func TestValidateInitialization(t *testing.T) {
	if err := New().ValidateInitialization(); err == nil {
		t.Error("it is content without an authorizer")
	}
	if err := judging(&namespaceDecisions{}).ValidateInitialization(); err != nil {
		t.Error(err)
	}
}
