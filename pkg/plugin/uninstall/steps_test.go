// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// A wait ends when nothing is left, when waiting does not help, and when nothing changes any more: then it reports why.
func TestUntil(t *testing.T) {
	for name, test := range map[string]struct {
		// looks are the remaining objects of successive checks; the last one repeats.
		looks []left
		errs  []error
		want  string
		after time.Duration
	}{
		"nothing left":    {looks: []left{{}}, after: 0},
		"it is deleted":   {looks: []left{{names: []string{"a", "b"}}, {names: []string{"b"}}, {}}, after: 2 * time.Second},
		"it is stuck":     {looks: []left{{names: []string{"a"}, why: "it is held"}}, want: "no progress for 1m0s (a: it is held)", after: time.Minute},
		"a late progress": {looks: append(repeat(left{names: []string{"a", "b"}}, 50), left{names: []string{"b"}}), want: "(b)", after: 110 * time.Second},
		"the reason alone is no progress": {
			looks: []left{{names: []string{"a"}, why: "1"}, {names: []string{"a"}, why: "2"}, {names: []string{"a"}, why: "3"}}, want: "(a: 3)", after: time.Minute},
		"an outage passes":    {looks: []left{{names: []string{"a"}}, {}, {}}, errs: []error{nil, errors.New("no response")}, after: 2 * time.Second},
		"an outage stays":     {looks: []left{{names: []string{"a"}}, {}}, errs: []error{nil, errors.New("no response")}, want: "a: no response", after: time.Minute},
		"it is denied":        {looks: []left{{}}, errs: []error{fmt.Errorf("%w: a", errDenied)}, want: "denied: a", after: 0},
		"many have few words": {looks: []left{{names: []string{"a", "b", "c", "d", "e"}}}, want: "(a, b, c and 2 more)", after: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				u := &Uninstaller{Options: Options{Timeout: time.Minute}, Show: func(string) {}, poll: time.Second}
				began, i := time.Now(), -1
				err := u.until(t.Context(), "it", func(context.Context) (left, error) {
					i++
					var err error
					if len(test.errs) > 0 {
						err = test.errs[min(i, len(test.errs)-1)]
						if i >= len(test.errs) && len(test.looks) > len(test.errs) {
							err = nil
						}
					}
					return test.looks[min(i, len(test.looks)-1)], err
				})
				if (err != nil) != (test.want != "") || err != nil && !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				if took := time.Since(began); took != test.after {
					t.Errorf("it took %s, want %s", took, test.after)
				}
			})
		})
	}
}

func repeat(l left, times int) (all []left) {
	for range times {
		all = append(all, l)
	}
	return all
}

// Webhooks and APIServices belong to Groundskeeper when they have its label and point to its Service.
func TestRegistrationOf(t *testing.T) {
	service := func(namespace, group string) map[string]any {
		return map[string]any{"kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1", "spec": map[string]any{
			"group": group, "service": map[string]any{"namespace": namespace, "name": "groundskeeper-apiserver"}}}
	}
	webhook := func(name string, client map[string]any) map[string]any {
		return map[string]any{"kind": "ValidatingWebhookConfiguration", "apiVersion": "admissionregistration.k8s.io/v1",
			"webhooks": []any{map[string]any{"name": name, "clientConfig": client}}}
	}
	for name, test := range map[string]struct {
		object map[string]any
		own    bool
	}{
		"APIService":                      {service(SystemNamespace, gimbalv1.GroupName), true},
		"a real Gardener's":               {service("garden", "core.gardener.cloud"), false},
		"an APIService of others":         {service(SystemNamespace, "example.com"), false},
		"webhook of Groundskeeper":        {webhook("a.groundskeeper.io", map[string]any{"service": map[string]any{"namespace": SystemNamespace}}), true},
		"webhook of Groundskeeper by URL": {webhook("a.groundskeeper.io", map[string]any{"url": "https://localhost"}), true},
		"a webhook of others":             {webhook("a.groundskeeper.io", map[string]any{"service": map[string]any{"namespace": "shop"}}), false},
		"another by URL":                  {webhook("a.example.com", map[string]any{"url": "https://localhost"}), false},
	} {
		if _, own := registrationOf(&unstructured.Unstructured{Object: test.object}); own != test.own {
			t.Errorf("%s: belongs to Groundskeeper = %v", name, own)
		}
	}
}

func TestRestoration(t *testing.T) {
	for want, c := range map[string]*metav1.Condition{
		"not reconciled yet false": nil,
		"Draining false":           {Status: metav1.ConditionFalse, Reason: "Draining", ObservedGeneration: 2},
		"Restoring false":          {Status: metav1.ConditionFalse, Reason: "Restoring", ObservedGeneration: 2},
		"Enabled true":             {Status: metav1.ConditionFalse, Reason: "Enabled", ObservedGeneration: 2},
	} {
		b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		if c != nil {
			c.Type = gimbalv1.ConditionDrained
			b.Status.Conditions = []metav1.Condition{*c}
		}
		if state, restored := restoration(b); fmt.Sprint(state, " ", restored) != want {
			t.Errorf("got %s %v, want %s", state, restored, want)
		}
		b.Generation++
		if _, restored := restoration(b); restored {
			t.Errorf("%s: it is about another generation", want)
		}
	}
}

// Workloads are deleted before their permissions.
func TestRank(t *testing.T) {
	order := []schema.GroupVersionResource{
		{Group: "admissionregistration.k8s.io", Resource: "validatingadmissionpolicies"}, {Group: "apps", Resource: "statefulsets"},
		{Resource: "services"}, {Group: "rbac.authorization.k8s.io", Resource: "clusterroles"}, {Group: "rbac.authorization.k8s.io", Resource: "rolebindings"},
	}
	for i, resource := range order {
		if rank(resource) != i {
			t.Errorf("%s has rank %d, want %d", resource.Resource, rank(resource), i)
		}
	}
}

func TestMountedConfiguration(t *testing.T) {
	deployment := func(change func(*corev1.PodSpec)) *appsv1.Deployment {
		d := &appsv1.Deployment{}
		d.Spec.Template.Spec = corev1.PodSpec{
			Containers: []corev1.Container{{Args: []string{"--config=/etc/groundskeeper/config.yaml"}, VolumeMounts: []corev1.VolumeMount{{Name: "config", MountPath: "/etc/groundskeeper/"}}}},
			Volumes: []corev1.Volume{{Name: "other"}, {Name: "config", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: "held"}}}}},
		}
		change(&d.Spec.Template.Spec)
		return d
	}
	for name, test := range map[string]struct {
		change func(*corev1.PodSpec)
		found  bool
	}{
		"as in the manifests": {func(*corev1.PodSpec) {}, true},
		"in two arguments":    {func(s *corev1.PodSpec) { s.Containers[0].Args = []string{"--config", "/etc/groundskeeper/config.yaml"} }, true},
		"no argument":         {func(s *corev1.PodSpec) { s.Containers[0].Args = nil }, false},
		"elsewhere":           {func(s *corev1.PodSpec) { s.Containers[0].VolumeMounts[0].MountPath = "/etc" }, false},
		"a Secret":            {func(s *corev1.PodSpec) { s.Volumes[1].VolumeSource = corev1.VolumeSource{} }, false},
	} {
		volume, key, err := mounted(deployment(test.change))
		if (err == nil) != test.found || err == nil && (volume.ConfigMap.Name != "held" || key != "config.yaml") {
			t.Errorf("%s: %v, %q, %v", name, volume, key, err)
		}
	}
}
