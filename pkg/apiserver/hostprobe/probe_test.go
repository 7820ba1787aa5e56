// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package hostprobe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

func TestDecide(t *testing.T) {
	a := schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "as"}
	b := schema.GroupVersionResource{Group: "g", Version: "v1", Resource: "bs"}
	features := []feature{{"OnlyA", []schema.GroupVersionResource{a}}, {"Both", []schema.GroupVersionResource{b, a}}}
	whole := access{served: true, list: true, watch: true}
	for name, test := range map[string]struct {
		a, b access
		want []Disabled
	}{
		"all there":     {whole, whole, nil},
		"not served":    {access{}, whole, []Disabled{{"OnlyA", "the kube-apiserver does not serve as (g/v1)"}, {"Both", "the kube-apiserver does not serve as (g/v1)"}}},
		"no list":       {whole, access{served: true, watch: true}, []Disabled{{"Both", "this server may not list bs (g/v1)"}}},
		"no watch":      {whole, access{served: true, list: true}, []Disabled{{"Both", "this server may not watch bs (g/v1)"}}},
		"first reason":  {access{}, access{}, []Disabled{{"OnlyA", "the kube-apiserver does not serve as (g/v1)"}, {"Both", "the kube-apiserver does not serve bs (g/v1)"}}},
		"only the list": {access{served: true, list: true}, whole, []Disabled{{"OnlyA", "this server may not watch as (g/v1)"}, {"Both", "this server may not watch as (g/v1)"}}},
	} {
		if got := decide(features, map[schema.GroupVersionResource]access{a: test.a, b: test.b}); !slices.Equal(got, test.want) {
			t.Errorf("%s: got %v, want %v", name, got, test.want)
		}
	}
}

// newHost returns a cluster that serves some resources of each group version, and lets Groundskeeper do all except what is denied
// ("verb resource").
func newHost(served map[string][]string, denied ...string) *fake.Clientset {
	client := fake.NewClientset()
	for gv, resources := range served {
		list := &metav1.APIResourceList{GroupVersion: gv}
		for _, resource := range resources {
			list.APIResources = append(list.APIResources, metav1.APIResource{Name: resource})
		}
		client.Resources = append(client.Resources, list)
	}
	client.PrependReactor("create", "selfsubjectaccessreviews", func(action clienttesting.Action) (bool, runtime.Object, error) {
		review := action.(clienttesting.CreateAction).GetObject().(*authorizationv1.SelfSubjectAccessReview).DeepCopy()
		attributes := review.Spec.ResourceAttributes
		review.Status.Allowed = attributes.Namespace == "" && attributes.Name == "" && !slices.Contains(denied, attributes.Verb+" "+attributes.Resource)
		return true, review, nil
	})
	return client
}

// kubernetes136 returns what a 1.36 serves of what Groundskeeper requests.
func kubernetes136() map[string][]string {
	return map[string][]string{
		"v1": {"namespaces", "pods", "resourcequotas"},
		"admissionregistration.k8s.io/v1": {"mutatingadmissionpolicies", "mutatingadmissionpolicybindings", "mutatingwebhookconfigurations",
			"validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"},
		"flowcontrol.apiserver.k8s.io/v1": {"flowschemas", "prioritylevelconfigurations"},
	}
}

func TestProbe(t *testing.T) {
	before136 := kubernetes136()
	before136["admissionregistration.k8s.io/v1"] = slices.DeleteFunc(before136["admissionregistration.k8s.io/v1"], func(name string) bool {
		return strings.HasPrefix(name, "mutatingadmissionpolic")
	})
	before136["admissionregistration.k8s.io/v1beta1"] = []string{"mutatingadmissionpolicies", "mutatingadmissionpolicybindings"}
	noFlowControl := kubernetes136()
	delete(noFlowControl, "flowcontrol.apiserver.k8s.io/v1")
	for _, test := range []struct {
		name   string
		served map[string][]string
		denied []string
		want   []string
	}{
		{"1.36", kubernetes136(), nil, nil},
		{"1.35", before136, nil, []string{"MutatingAdmissionPolicy"}},
		{"no flow control", noFlowControl, nil, []string{"PriorityAndFairness"}},
		{"no quotas", kubernetes136(), []string{"list resourcequotas"}, []string{"ResourceQuota"}},
		{"no webhooks", kubernetes136(), []string{"watch mutatingwebhookconfigurations", "list validatingwebhookconfigurations"}, []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"}},
		{"no namespaces", kubernetes136(), []string{"watch namespaces"}, []string{"NamespaceLifecycle", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"}},
		{"bindings count", kubernetes136(), []string{"list validatingadmissionpolicybindings"}, []string{"ValidatingAdmissionPolicy"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			disabled, err := Probe(t.Context(), newHost(test.served, test.denied...), 0)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, d := range disabled {
				got = append(got, d.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("disabled %v, want %v", disabled, test.want)
			}
		})
	}
}

func TestProbeOfAHostThatFails(t *testing.T) {
	down := errors.New("connection refused")
	for _, resource := range []string{"resource", "selfsubjectaccessreviews"} { // discovery, review
		host := newHost(kubernetes136())
		calls := 0
		host.PrependReactor("*", resource, func(clienttesting.Action) (bool, runtime.Object, error) {
			calls++
			return true, nil, down
		})
		disabled, err := Probe(t.Context(), host, 100*time.Millisecond)
		if !errors.Is(err, down) || disabled != nil {
			t.Errorf("%s: got %v, %v", resource, disabled, err)
		}
		if err != nil && (strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "--kubeconfig")) {
			t.Errorf("%s: %v", resource, err)
		}
	}
	host := newHost(kubernetes136())
	calls := 0
	host.PrependReactor("*", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		calls++
		return calls == 1, nil, down
	})
	if disabled, err := Probe(t.Context(), host, 0); err != nil || len(disabled) != 0 {
		t.Errorf("a host that comes up late: got %v, %v", disabled, err)
	}
}

// TestProbeReportsTheLastProblem checks that the reported reason is that of the last complete attempt, because the very last one
// only reports the timeout.
func TestProbeReportsTheLastProblem(t *testing.T) {
	down := errors.New("connection refused")
	host := newHost(kubernetes136())
	ctx, cancel := context.WithCancel(t.Context())
	attempts := 0
	host.PrependReactor("*", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		attempts++
		if attempts == 1 {
			return true, nil, down
		}
		cancel()
		return true, nil, context.Canceled
	})
	if _, err := Probe(ctx, host, 0); !errors.Is(err, down) {
		t.Errorf("got %v", err)
	}
}
