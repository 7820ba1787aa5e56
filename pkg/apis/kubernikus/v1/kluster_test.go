// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAnnotationsAndFinalizers(t *testing.T) {
	for _, test := range []struct {
		name     string
		metadata metav1.ObjectMeta
		accessor func(*Kluster) bool
		want     bool
	}{
		{"not protected", metav1.ObjectMeta{}, (*Kluster).TerminationProtected, false},
		{"an empty value protects nothing", annotated(TerminationProtectionAnnotation, ""), (*Kluster).TerminationProtected, false},
		{"protected by any value", annotated(TerminationProtectionAnnotation, "false"), (*Kluster).TerminationProtected, true},
		{"not detached", metav1.ObjectMeta{}, (*Kluster).Detached, false},
		{"detached by true only", annotated(DetachAnnotation, "yes"), (*Kluster).Detached, false},
		{"detached", annotated(DetachAnnotation, "true"), (*Kluster).Detached, true},
		{"self-destruct by now only", annotated(SelfDestructAnnotation, "later"), (*Kluster).SelfDestructs, false},
		{"self-destruct", annotated(SelfDestructAnnotation, "now"), (*Kluster).SelfDestructs, true},
		{"no deorbiter", metav1.ObjectMeta{Finalizers: []string{"groundctl"}}, (*Kluster).HasDeorbiter, false},
		{"deorbiter", metav1.ObjectMeta{Finalizers: []string{"groundctl", "kubernikus.sap.cc/deorbiter"}}, (*Kluster).HasDeorbiter, true},
		{"imported deorbiter", metav1.ObjectMeta{Finalizers: []string{"deorbiter"}}, (*Kluster).HasDeorbiter, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.accessor(&Kluster{ObjectMeta: test.metadata}); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

func TestAcceptsUnknownIdentity(t *testing.T) {
	for name, test := range map[string]struct {
		value, kind, object string
		want                bool
	}{
		"nothing":                      {"", "Kluster", "shop/web", false},
		"a Kluster":                    {"kluster/shop/web", "Kluster", "shop/web", true},
		"a backend":                    {"discoverybackend/shop/web", "DiscoveryBackend", "shop/web", true},
		"a Kluster is no backend":      {"kluster/shop/web", "DiscoveryBackend", "shop/web", false},
		"a backend is no Kluster":      {"discoverybackend/shop/web", "Kluster", "shop/web", false},
		"without a kind":               {"shop/web", "Kluster", "shop/web", true},
		"without a kind, no backend":   {"shop/web", "DiscoveryBackend", "shop/web", false},
		"another name":                 {"kluster/shop/web-old", "Kluster", "shop/web", false},
		"several":                      {"a/b, discoverybackend/shop/us ,kluster/shop/web,", "Kluster", "shop/web", true},
		"a kind in another case":       {"Kluster/shop/web", "Kluster", "shop/web", false},
		"a namespace that is a kind":   {"discoverybackend/web", "Kluster", "discoverybackend/web", true},
		"a namespace that is no other": {"discoverybackend/web", "DiscoveryBackend", "discoverybackend/web", false},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kluster{ObjectMeta: annotated(AcceptUnknownIdentityAnnotation, test.value)}
			if got := k.AcceptsUnknownIdentity(test.kind, test.object); got != test.want {
				t.Errorf("accepts %s %s = %t, want %t", test.kind, test.object, got, test.want)
			}
		})
	}
}

// TestAcceptingIdentities checks that the value has what is accepted already, and that a message of 1,024 bytes has room for it.
func TestAcceptingIdentities(t *testing.T) {
	long := strings.Repeat("kluster/shop/web-old,", 20) + "kluster/shop/last"
	for name, test := range map[string]struct{ value, want string }{
		"nothing":  {"", "kluster/shop/a,kluster/shop/b"},
		"one":      {"shop/web", "kluster/shop/web,kluster/shop/a,kluster/shop/b"},
		"too many": {long, "<the present value>,kluster/shop/a,kluster/shop/b"},
	} {
		t.Run(name, func(t *testing.T) {
			k := &Kluster{ObjectMeta: annotated(AcceptUnknownIdentityAnnotation, test.value)}
			if got := k.AcceptingIdentities("kluster/shop/a", "kluster/shop/b"); got != test.want {
				t.Errorf("value = %q, want %q", got, test.want)
			}
		})
	}
}

func annotated(key, value string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Annotations: map[string]string{key: value}}
}

func TestClusterPrefix(t *testing.T) {
	for _, test := range []struct {
		name string
		cidr *string
		want string
	}{
		{"default", nil, "100.100.0.0/16"},
		{"own", new("10.1.0.0/16"), "10.1.0.0/16"},
		{"host bits", new("10.1.2.3/16"), "10.1.0.0/16"},
		{"none", new(""), "invalid Prefix"},
		{"IPv6", new("fd00::/64"), "fd00::/64"},
		{"dual-stack", new("10.1.2.3/16, fd00::1/64"), "10.1.0.0/16,fd00::/64"},
		{"two of a family", new("10.1.0.0/16,10.2.0.0/16"), "invalid Prefix"},
		{"IPv4 written as IPv6", new("::ffff:10.1.0.0/112"), "invalid Prefix"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := RangesString((&Kluster{Spec: KlusterSpec{ClusterCIDR: test.cidr}}).PodRanges()); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

func TestRouterID(t *testing.T) {
	for _, test := range []struct{ name, given, found, want string }{
		{"given", "a", "", "a"}, {"found", "", "b", "b"}, {"given wins", "a", "b", "a"}, {"neither", "", "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			kluster := &Kluster{Spec: KlusterSpec{Openstack: OpenstackSpec{RouterID: test.given}}}
			if test.found != "" {
				kluster.Status.Openstack = &OpenstackStatus{RouterID: test.found}
			}
			if got := kluster.RouterID(); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestFieldLabels(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	for label, supported := range map[string]bool{
		"metadata.name": true, "metadata.namespace": true, "status.phase": true, "status.identity.clusterID": true, "spec.version": false,
	} {
		got, value, err := scheme.ConvertFieldLabel(SchemeGroupVersion.WithKind("Kluster"), label, "x")
		if (err == nil) != supported || supported && (got != label || value != "x") {
			t.Errorf("%s became %q=%q, error %v; supported should be %t", label, got, value, err, supported)
		}
	}
}
