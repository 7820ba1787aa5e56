// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestLoggingOf(t *testing.T) {
	for name, tc := range map[string]struct {
		annotation string
		want       Logging
		invalid    bool
	}{
		"no annotation":      {"", Logging{}, false},
		"both":               {`{"deny":"alert","allow":"notice"}`, Logging{"notice", "alert"}, false},
		"denied connections": {`{"deny":"debug"}`, Logging{"", "debug"}, false},
		"none":               {`{"deny":"","allow":""}`, Logging{}, false},
		"empty":              {`{}`, Logging{}, false},
		"no JSON":            {`alert`, Logging{}, true},
		"another type":       {`{"deny":"alert","allow":true}`, Logging{}, true},
		"unknown severity":   {`{"deny":"alert","allow":"loud"}`, Logging{"", "alert"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Annotations: map[string]string{midonetv1.AnnotationACLLogging: tc.annotation}}}
			got, failed := LoggingOf(namespace)
			if got != tc.want || (failed != nil) != tc.invalid {
				t.Errorf("logging = %+v, %v, want %+v, invalid: %v", got, failed, tc.want, tc.invalid)
			}
			if reported := len(ovnEmitter().Namespace(namespace).Skipped); (reported > 0) != tc.invalid {
				t.Errorf("%d problems of the namespace, want one: %v", reported, tc.invalid)
			}
		})
	}
}

// TestACLNames checks names, severities and meters of the ACLs of a policy.
func TestACLNames(t *testing.T) {
	anyPeer := func(s *networkingv1.NetworkPolicySpec) {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
		s.Ingress, s.Egress = make([]networkingv1.NetworkPolicyIngressRule, 2), make([]networkingv1.NetworkPolicyEgressRule, 1)
	}
	inward := func(s *networkingv1.NetworkPolicySpec) {
		s.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	}
	const logs = " true acl-logging"
	for name, tc := range map[string]struct {
		edit    func(*networkingv1.NetworkPolicySpec)
		logging Logging
		rename  string
		want    []string
	}{
		"no logging": {anyPeer, Logging{}, "", []string{"to-lport default_np_0 1001", "to-lport default_np_1 1001", "from-lport default_np_0 1001"}},
		"allowed": {anyPeer, Logging{Allow: "info"}, "", []string{
			"to-lport default_np_0 1001 info" + logs, "to-lport default_np_1 1001 info" + logs, "from-lport default_np_0 1001 info" + logs,
		}},
		"denied": {anyPeer, Logging{Deny: "alert"}, "", []string{
			"to-lport default_np_0 1001", "to-lport default_np_1 1001", "from-lport default_np_0 1001", "to-lport default_np_deny 1000 alert" + logs, "from-lport default_np_deny 1000 alert" + logs,
		}},
		"denied in one direction": {inward, Logging{Deny: "alert"}, "", []string{"to-lport default_np_deny 1000 alert" + logs}},
		"a long name":             {inward, Logging{Deny: "alert"}, strings.Repeat("n", 100), []string{"to-lport default_" + strings.Repeat("n", 50) + "_deny 1000 alert" + logs}},
	} {
		t.Run(name, func(t *testing.T) {
			policy := testPolicy(tc.edit)
			if tc.rename != "" {
				policy.Name = tc.rename
			}
			result := ovnEmitter().NetworkPolicy(ReadPolicy(policy), nil, nil, tc.logging)
			var got []string
			for _, resource := range result.Translations[0].Resources[1:] {
				body := fields(t, resource)
				var texts []string
				for _, column := range []string{"direction", "name", "priority", "severity", "log", "meter"} {
					if body[column] != nil {
						texts = append(texts, fmt.Sprint(body[column]))
					}
				}
				got = append(got, strings.Join(texts, " "))
			}
			expect(t, got, tc.want)
		})
	}
}
