// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// confined: the discoverer of a backend outside the admin namespaces works in its own, and requests nothing beyond.
func (d *clusters) confined(t *testing.T) {
	v := d.discover(t, true)
	other := d.discover(t, false) // there is another object
	other.create(other.b, other.service("web"))
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	v.leads(v.run())
	v.copied()
	v.status("Synced")
	v.delete(v.b, v.service("web"), v.slice("web", "a"))
	v.copied()
	if found := v.versions(); len(found) > 0 {
		t.Errorf("copies: %v", found)
	}
	for _, r := range v.requests(v.user(discoverer)) {
		if r.ObjectRef.Resource != "" && r.ObjectRef.Namespace != v.ns {
			t.Errorf("it requested to %s %s in namespace %q", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Namespace)
		}
	}
}

// cloud permissions: whatever discoverers requested in all these tests, they had permission to by artifacts/discovery.
func (d *clusters) permissions(t *testing.T) {
	v := d.discover(t, false)
	var confined, others int
	for _, r := range v.requests("system:serviceaccount:") {
		if strings.HasPrefix(r.User.Username, "system:serviceaccount:"+discoveryNamespace) {
			others++
		} else {
			confined++
		}
		if r.Annotations["authorization.k8s.io/decision"] == "forbid" {
			t.Errorf("%s may not %s %+v", r.User.Username, r.Verb, r.ObjectRef)
		}
	}
	if confined == 0 || others == 0 {
		t.Errorf("the audit log has %d requests of a confined discoverer and %d of others", confined, others)
	}
}

// rejectSlices makes the API server reject the endpoints of services called denied.
func (v *discovered) rejectSlices() {
	v.t.Helper()
	match := &admissionregistrationv1.MatchResources{
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": v.ns}},
		ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
			Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
			Rule:       admissionregistrationv1.Rule{APIGroups: []string{"discovery.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"endpointslices"}},
		}}},
	}
	meta := metav1.ObjectMeta{Name: v.name}
	v.create(v.c,
		&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: match,
			Validations: []admissionregistrationv1.Validation{{
				Expression: "object.metadata.labels['" + gimbalv1.LabelService + "'] != 'denied'", Message: "not this one",
			}},
		}},
		&admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: v.name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		}})
	eventually(v.t, func(ctx context.Context) error { // a policy takes effect some time after it is written
		slice := v.slice("x", "x")
		slice.Labels[gimbalv1.LabelService] = "denied"
		if err := v.c.Create(ctx, slice); apierrors.IsInvalid(err) {
			return nil
		}
		return errors.Join(errors.New("the policy does not work yet"), v.c.Delete(ctx, slice))
	})
}

// metrics: all of them have the names and labels of the original's.
func (d *clusters) metrics(t *testing.T) {
	v := d.discover(t, false)
	v.rejectSlices()
	lacking := name(t, "lacking")
	v.makeNamespace(v.b, lacking)
	waiting := v.service("waiting")
	waiting.Namespace = lacking
	v.create(v.c, v.service(v.name+"-taken"))
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1", "10.1.0.2"), v.service("taken"), v.service("denied"), v.slice("denied", "a", "10.1.0.3"), waiting)
	c := v.runAs(discoverer, "--namespaces-allow="+v.ns+","+lacking)
	v.leads(c)
	object := v.status("Incomplete", gimbalv1.ErrorConflict, gimbalv1.ErrorInvalidService, gimbalv1.ErrorNamespaceMissing)
	if *object.Status.Services != 1 || *object.Status.Endpoints != 2 {
		t.Errorf("status: %+v", object.Status)
	}
	page, err := c.read("/metrics")
	if err != nil {
		t.Fatal(err)
	}
	constant := `backendname="` + v.name + `",backendtype="kubernetes"`
	of := func(service string) string { return constant + `,name="` + service + `",namespace="` + v.ns + `"` }
	failed := func(service, kind string) string {
		return constant + `,errortype="` + kind + `",name="` + service + `",namespace="` + v.ns + `"`
	}
	endpoints := func(service string) string {
		return constant + `,namespace="` + v.ns + `",servicename="` + service + `"`
	}
	space := constant + `,namespace="` + v.ns + `"`
	for _, want := range []string{
		`gimbal_service_event_timestamp{` + of("web") + `} \d`,
		`gimbal_endpoints_event_timestamp{` + of("web") + `} \d`,
		`gimbal_service_error_total{` + failed("taken", gimbalv1.ErrorConflict) + `} 1`,
		`gimbal_service_error_total{` + failed("denied", gimbalv1.ErrorInvalidService) + `} 1`,
		`gimbal_endpoints_error_total{` + failed("denied", gimbalv1.ErrorInvalidService) + `} \d`,
		`gimbal_queuesize{` + constant + `} \d`,
		`gimbal_discoverer_api_latency_milliseconds_count{` + constant + `,path="/api/v1/namespaces/{namespace}/services"} \d`,
		`gimbal_discoverer_cycle_duration_seconds_count{` + constant + `} 1`,
		`gimbal_discoverer_error_total{` + constant + `,errortype="NamespaceMissing"} 1`,
		`gimbal_discoverer_upstream_services_total{` + space + `} 3`,
		`gimbal_discoverer_replicated_services_total{` + space + `} 1`,
		`gimbal_discoverer_invalid_services_total{` + space + `} 2`,
		`gimbal_discoverer_upstream_endpoints_total{` + endpoints("web") + `} 2`,
		`gimbal_discoverer_replicated_endpoints_total{` + endpoints("web") + `} 2`,
		`gimbal_discoverer_invalid_endpoints_total{` + endpoints("denied") + `} 1`,
		`gimbal_discoverer_info{` + constant + `,version="`,
	} {
		pattern := strings.ReplaceAll(regexp.QuoteMeta(want), `\\d`, `\d`)
		if !regexp.MustCompile(`(?m)^` + pattern).MatchString(page) {
			of, _, _ := strings.Cut(want, "{")
			var lines []string
			for line := range strings.Lines(page) {
				if strings.HasPrefix(line, of+"{") {
					lines = append(lines, line)
				}
			}
			slices.Sort(lines)
			t.Errorf("there is no %s\nthere is\n%s", want, strings.Join(lines, ""))
		}
	}
}
