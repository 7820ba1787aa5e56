// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestValidateDiscoveryBackendStatusUpdate(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	condition := metav1.Condition{
		Type: gimbalv1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: "Running", LastTransitionTime: now,
	}
	status := func(mutate func(*gimbalv1.DiscoveryBackendStatus)) func(*gimbalv1.DiscoveryBackend) {
		return func(b *gimbalv1.DiscoveryBackend) { mutate(&b.Status) }
	}
	for _, tc := range []change{
		{"good", status(func(*gimbalv1.DiscoveryBackendStatus) {}), nil},
		{"empty", status(func(s *gimbalv1.DiscoveryBackendStatus) { *s = gimbalv1.DiscoveryBackendStatus{} }), nil},
		{"same type, another message", status(func(s *gimbalv1.DiscoveryBackendStatus) {
			s.Errors = append(s.Errors, gimbalv1.DiscoveryError{Type: gimbalv1.ErrorConnection, Message: "other"})
		}), nil},
		{"same error twice", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Errors = append(s.Errors, s.Errors[0]) }),
			[]string{"status.errors[1]: Duplicate value"}},
		{"error without type", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Errors[0].Type = "" }),
			[]string{"status.errors[0].type: Required value"}},
		{"error without message", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Errors[0].Message = "" }),
			[]string{"status.errors[0].message: Required value"}},
		{"condition without reason", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Conditions[0].Reason = "" }),
			[]string{"status.conditions[0].reason: Required value"}},
		{"negative generation", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.ObservedGeneration = -1 }),
			[]string{"status.observedGeneration: Invalid value"}},
		{"no services", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Services, s.Endpoints = new(int32(0)), new(int32(0)) }), nil},
		{"negative services", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Services = new(int32(-1)) }),
			[]string{"status.services: Invalid value"}},
		{"negative endpoints", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Endpoints = new(int32(-1)) }),
			[]string{"status.endpoints: Invalid value"}},
		{"no routes", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Routes = &gimbalv1.RouteStatus{} }), nil},
		{"negative matching", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Routes.Matching = -1 }),
			[]string{"status.routes.matching: Invalid value"}},
		{"negative drained", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.Routes.Drained = -1 }),
			[]string{"status.routes.drained: Invalid value"}},
		{"20 routes without alternative", status(func(s *gimbalv1.DiscoveryBackendStatus) {
			s.Routes.WithoutAlternative = &gimbalv1.RouteNames{Names: slices.Repeat([]string{"HTTPProxy a/b"}, 20), Count: 99}
		}), nil},
		{"21 routes without alternative", status(func(s *gimbalv1.DiscoveryBackendStatus) {
			s.Routes.WithoutAlternative = &gimbalv1.RouteNames{Names: slices.Repeat([]string{"HTTPProxy a/b"}, gimbalv1.MaxRouteNames+1)}
		}), []string{"status.routes.withoutAlternative.names: Too many", "20"}},
		{"negative count", status(func(s *gimbalv1.DiscoveryBackendStatus) {
			s.Routes.WithoutAlternative = &gimbalv1.RouteNames{Count: -1}
		}), []string{"status.routes.withoutAlternative.count: Invalid value"}},
		{"discoverer without name", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.DiscovererRef.Name = "" }),
			[]string{"status.discovererRef.name: Required value"}},
		{"discoverer without kind", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.DiscovererRef.Kind = "" }),
			[]string{"status.discovererRef.kind: Required value"}},
		{"discoverer without API version", status(func(s *gimbalv1.DiscoveryBackendStatus) { s.DiscovererRef.APIVersion = "" }),
			[]string{"status.discovererRef.apiVersion: Required value"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			old, backend := goodBackend(), goodBackend()
			backend.Status = gimbalv1.DiscoveryBackendStatus{
				Errors: []gimbalv1.DiscoveryError{
					{Type: gimbalv1.ErrorConnection, Message: "https://198.51.100.1:6443 does not respond", StatusTime: &now},
				},
				ObservedGeneration: 1,
				Conditions:         []metav1.Condition{condition},
				Services:           new(int32(3)),
				Endpoints:          new(int32(15)),
				Routes:             &gimbalv1.RouteStatus{Matching: 2, Drained: 1},
				LastSyncTime:       &now,
				DiscovererRef:      &gimbalv1.DiscovererReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "openstack001-discoverer"},
			}
			tc.mutate(backend)
			expect(t, whole(t, ValidateDiscoveryBackendStatusUpdate(backend, old), backend, old, "status"), tc.want)
		})
	}
}

func TestValidateCopied(t *testing.T) {
	many := map[string]string{}
	for i := range maxAdded + 1 {
		many["key"+strconv.Itoa(i)] = ""
	}
	for _, tc := range []struct {
		name   string
		mutate func(*gimbalv1.Cluster)
		want   []string
	}{
		{"everything", func(c *gimbalv1.Cluster) {
			c.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"publish": "true"}}
			c.Labels = gimbalv1.LabelPolicy{Include: []string{"app.kubernetes.io/instance"}, Exclude: []string{"a", "example.com/"}, Add: map[string]string{"cluster": "eu"}}
			c.Annotations = []string{"example.com/a"}
		}, nil},
		{"a selector that selects everything", func(c *gimbalv1.Cluster) { c.Selector = &metav1.LabelSelector{} }, nil},
		{"an operator that does not exist", func(c *gimbalv1.Cluster) {
			c.Selector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "is"}}}
		}, []string{"cluster.selector.matchExpressions[0].operator"}},
		{"a value that no label has", func(c *gimbalv1.Cluster) {
			c.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "not valid"}}
		}, []string{"cluster.selector.matchLabels"}},
		{"an excluded wildcard", func(c *gimbalv1.Cluster) { c.Labels.Exclude = []string{"a", "b*"} }, []string{"cluster.labels.exclude[1]", "a prefix that ends with a slash"}},
		{"an included prefix of nothing", func(c *gimbalv1.Cluster) { c.Labels.Include = []string{"/"} }, []string{"cluster.labels.include[0]"}},
		{"an added key", func(c *gimbalv1.Cluster) { c.Labels.Add = map[string]string{"a b": ""} }, []string{"cluster.labels.add[a b]"}},
		{"an added value", func(c *gimbalv1.Cluster) { c.Labels.Add = map[string]string{"a": "b c"} }, []string{"cluster.labels.add[a]"}},
		{"the mark of a copy", func(c *gimbalv1.Cluster) { c.Labels.Add = map[string]string{gimbalv1.LabelBackend: "eu"} }, []string{"cluster.labels.add[" + gimbalv1.LabelBackend + "]", "choose another key"}},
		{"the writer of a copy", func(c *gimbalv1.Cluster) {
			c.Labels.Add = map[string]string{"app.kubernetes.io/managed-by": "x"}
		}, []string{"cluster.labels.add[app.kubernetes.io/managed-by]"}},
		{"too many", func(c *gimbalv1.Cluster) { c.Labels.Add = many }, []string{"cluster.labels.add", "at most 32"}},
		{"an annotation", func(c *gimbalv1.Cluster) { c.Annotations = []string{"a/b/c"} }, []string{"cluster.annotations[0]"}},
		{"what kubectl applied", func(c *gimbalv1.Cluster) { c.Annotations = []string{lastApplied} }, []string{"cluster.annotations[0]", "remove it"}},
		{"an annotation of Groundskeeper", func(c *gimbalv1.Cluster) {
			c.Annotations = []string{"groundskeeper.io/paused"}
		}, []string{"cluster.annotations[0]", "remove it"}},
		{"too many annotations", func(c *gimbalv1.Cluster) {
			c.Annotations = strings.Split(strings.Repeat("a,", 100)+"a", ",")
		}, []string{"cluster.annotations", "100"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			backend := goodBackend()
			tc.mutate(&backend.Cluster)
			expect(t, whole(t, ValidateDiscoveryBackend(backend), backend, nil), tc.want)
		})
	}
}
