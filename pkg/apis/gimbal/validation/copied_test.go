// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

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
