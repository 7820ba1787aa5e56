// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// limits returns a list of limits from "name", "value" pairs.
func limits(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func quotaConfig(hard corev1.ResourceList, selector *metav1.LabelSelector) configv1alpha1.QuotaConfiguration {
	return configv1alpha1.QuotaConfiguration{Config: corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: hard}}, ProjectSelector: selector}
}

func mustRules(t *testing.T, configured ...configv1alpha1.QuotaConfiguration) []quotaRule {
	t.Helper()
	rules, err := newQuotaRules(configured)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}

func TestDesiredQuota(t *testing.T) {
	gold := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "gold"}}
	silver := &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "silver"}}
	a, b := limits("count/secrets", "10"), limits("count/secrets", "20")
	for name, test := range map[string]struct {
		configured []configv1alpha1.QuotaConfiguration
		labels     map[string]string
		want       corev1.ResourceList
	}{
		"none configured":            {},
		"no selector is everybody":   {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, nil)}, want: a},
		"empty selector too":         {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, &metav1.LabelSelector{})}, want: a},
		"selected":                   {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, gold)}, labels: map[string]string{"tier": "gold"}, want: a},
		"not selected":               {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, gold)}, labels: map[string]string{"tier": "silver"}},
		"the first that matches":     {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, gold), quotaConfig(b, nil)}, labels: map[string]string{"tier": "gold"}, want: a},
		"the second, when not first": {configured: []configv1alpha1.QuotaConfiguration{quotaConfig(a, gold), quotaConfig(b, silver)}, labels: map[string]string{"tier": "silver"}, want: b},
	} {
		t.Run(name, func(t *testing.T) {
			project := testProject("dev")
			project.Labels = test.labels
			quota := desiredQuota(project, mustRules(t, test.configured...))
			if (quota != nil) != (test.want != nil) {
				t.Fatalf("got %v", quota)
			}
			if quota == nil {
				return
			}
			if diff := cmp.Diff(test.want, quota.Spec.Hard); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestQuotaMetadata(t *testing.T) {
	configured := quotaConfig(limits("pods", "1"), nil)
	configured.Config.ObjectMeta = metav1.ObjectMeta{Name: "ignored", Namespace: "ignored", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}
	configured.Config.Spec.Scopes = []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeBestEffort}
	rules := mustRules(t, configured)
	for range 2 { // the second is not to see the first
		got := desiredQuota(inNamespace("garden-dev"), rules)
		want := metav1.ObjectMeta{Name: "gardener", Namespace: "garden-dev",
			Labels:      map[string]string{"a": "b", "project.gardener.cloud/name": "dev"},
			Annotations: map[string]string{"c": "d", "groundskeeper.io/project-uid": "project-dev", "groundskeeper.io/quota-limits": `{"pods":"1"}`}}
		if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
			t.Error(diff)
		}
		if len(got.Spec.Scopes) != 1 {
			t.Errorf("scopes %v", got.Spec.Scopes)
		}
		got.Labels["a"], got.Spec.Hard["pods"] = "changed", resource.MustParse("2")
	}
	if configured.Config.Labels["a"] != "b" {
		t.Error("the configuration was changed")
	}
}

func TestNewQuotaRulesNamesTheEntry(t *testing.T) {
	_, err := newQuotaRules([]configv1alpha1.QuotaConfiguration{
		quotaConfig(nil, nil),
		quotaConfig(nil, &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}),
	})
	if err == nil || !strings.HasPrefix(err.Error(), "controllers.project.quotas[1].projectSelector: ") {
		t.Errorf("got %v", err)
	}
}

func TestRaisedLimits(t *testing.T) {
	for name, test := range map[string]struct{ current, set, configured, want corev1.ResourceList }{
		"as configured":                {limits("pods", "1"), nil, limits("pods", "1"), limits("pods", "1")},
		"raised manually":              {limits("pods", "9"), nil, limits("pods", "1"), limits("pods", "9")},
		"lowered manually":             {limits("pods", "1"), nil, limits("pods", "5"), limits("pods", "5")},
		"one raised, one lowered":      {limits("pods", "9", "secrets", "1"), nil, limits("pods", "5", "secrets", "5"), limits("pods", "9", "secrets", "5")},
		"new in the configuration":     {limits("pods", "1"), nil, limits("pods", "1", "secrets", "5"), limits("pods", "1", "secrets", "5")},
		"not in the configuration":     {limits("pods", "1", "secrets", "5"), nil, limits("pods", "1"), limits("pods", "1")},
		"the same in another writing":  {limits("cpu", "1000m"), nil, limits("cpu", "1"), limits("cpu", "1")},
		"nothing there":                {nil, nil, limits("pods", "1"), limits("pods", "1")},
		"own, of another rule":         {limits("pods", "9"), limits("pods", "9"), limits("pods", "1"), limits("pods", "1")},
		"own, in another writing":      {limits("cpu", "9000m"), limits("cpu", "9"), limits("cpu", "1"), limits("cpu", "1")},
		"raised above another rule":    {limits("pods", "12"), limits("pods", "9"), limits("pods", "1"), limits("pods", "12")},
		"one own, one raised manually": {limits("pods", "9", "secrets", "9"), limits("pods", "9", "secrets", "5"), limits("pods", "1", "secrets", "1"), limits("pods", "1", "secrets", "9")},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.configured.DeepCopy()
			if diff := cmp.Diff(test.want, raisedLimits(test.current, test.set, test.configured)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(before, test.configured); diff != "" {
				t.Errorf("the configuration was changed:\n%s", diff)
			}
		})
	}
}

// TestQuotaFollowsLabels checks that a larger quota is reverted together with the label that selected it, and that limits that a
// user raised are retained.
func TestQuotaFollowsLabels(t *testing.T) {
	c := newCluster(t)
	large := &metav1.LabelSelector{MatchLabels: map[string]string{"size": "large"}}
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "20", "secrets", "20"), large), quotaConfig(limits("pods", "3", "secrets", "3"), nil))
	project := c.project("dev")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: *project.Spec.Namespace, Name: quotaName}}
	expect := func(step string, want corev1.ResourceList) {
		t.Helper()
		c.settle("dev")
		c.read(quota.Namespace, quota.Name, quota)
		if diff := cmp.Diff(want, quota.Spec.Hard); diff != "" {
			t.Errorf("%s: limits (-want +got):\n%s", step, diff)
		}
	}
	label := func(value string) {
		change(c, project, func(p *gardenerv1beta1.Project) { p.Labels = map[string]string{"size": value} })
	}
	expect("created", limits("pods", "3", "secrets", "3"))
	label("large")
	expect("large", limits("pods", "20", "secrets", "20"))
	change(c, quota, func(q *corev1.ResourceQuota) { q.Spec.Hard = limits("pods", "50", "secrets", "20") })
	expect("raised manually", limits("pods", "50", "secrets", "20"))
	label("small")
	expect("small again", limits("pods", "50", "secrets", "3"))
	if wrote := c.settle("dev"); wrote != 0 {
		t.Errorf("writes = %q, want none", c.store.Writes())
	}
}

func TestUnguardedKeys(t *testing.T) {
	selector := func(keys ...string) *metav1.LabelSelector {
		s := &metav1.LabelSelector{}
		for _, key := range keys {
			s.MatchExpressions = append(s.MatchExpressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpExists})
		}
		return s
	}
	rules := mustRules(t, quotaConfig(limits("pods", "1"), nil), quotaConfig(limits("pods", "1"), selector("size", "quota.groundskeeper.io/size")),
		quotaConfig(limits("pods", "1"), selector("size", "edition")))
	if diff := cmp.Diff([]string{"edition", "size"}, unguardedKeys(rules)); diff != "" {
		t.Error(diff)
	}
}

func TestLimitsOthers(t *testing.T) {
	scoped := func(scopes ...corev1.ResourceQuotaScope) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: limits("pods", "1"), Scopes: scopes}}
	}
	selecting := func(operator corev1.ScopeSelectorOperator, values ...string) *corev1.ResourceQuota {
		return &corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: operator, Values: values}}}}}
	}
	labelled := scoped(corev1.ResourceQuotaScopeBestEffort)
	labelled.Labels = map[string]string{"a": "b"}
	for name, test := range map[string]struct {
		current, desired *corev1.ResourceQuota
		want             bool
	}{
		"no scopes":                {scoped(), scoped(), false},
		"the same":                 {scoped(corev1.ResourceQuotaScopeBestEffort), labelled, false},
		"in another order":         {scoped("A", "B"), scoped("B", "A"), false},
		"another":                  {scoped(corev1.ResourceQuotaScopeTerminating), scoped(corev1.ResourceQuotaScopeBestEffort), true},
		"all instead of some":      {scoped(corev1.ResourceQuotaScopeTerminating), scoped(), true},
		"a scope as an expression": {scoped(corev1.ResourceQuotaScopePriorityClass), selecting(corev1.ScopeSelectorOpExists), false},
		"values in another order":  {selecting(corev1.ScopeSelectorOpIn, "low", "high"), selecting(corev1.ScopeSelectorOpIn, "high", "low"), false},
		"other values":             {selecting(corev1.ScopeSelectorOpIn, "low"), selecting(corev1.ScopeSelectorOpIn, "high"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := limitsOthers(test.current, test.desired); got != test.want {
				t.Errorf("limits others = %t, want %t", got, test.want)
			}
		})
	}
}

// TestQuotaFollowsScopes checks that a quota that limits other objects than the configured one is recreated with the limits that were
// raised manually, and that one which was not created for the Project is not deleted.
func TestQuotaFollowsScopes(t *testing.T) {
	c := newCluster(t)
	c.reconciler.quotas = mustRules(t, quotaConfig(limits("pods", "3", "secrets", "3"), nil))
	project := c.project("dev")
	c.settle("dev")
	quota := &corev1.ResourceQuota{}
	c.read(*project.Spec.Namespace, quotaName, quota)
	change(c, quota, func(q *corev1.ResourceQuota) {
		q.Spec.Hard, q.Spec.Scopes = limits("pods", "9", "secrets", "3"), []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	})
	c.settle("dev")
	c.read(*project.Spec.Namespace, quotaName, quota)
	if diff := cmp.Diff(corev1.ResourceQuotaSpec{Hard: limits("pods", "9", "secrets", "3")}, quota.Spec); diff != "" {
		t.Errorf("quota (-want +got):\n%s", diff)
	}
	change(c, quota, func(q *corev1.ResourceQuota) {
		q.Annotations, q.Spec.Scopes = nil, []corev1.ResourceQuotaScope{corev1.ResourceQuotaScopeTerminating}
	})
	if _, err := c.reconcile("dev"); err == nil || !strings.Contains(err.Error(), "delete it") {
		t.Errorf("error = %v, want the remedy", err)
	}
	if c.read(*project.Spec.Namespace, quotaName, quota); len(quota.Spec.Scopes) != 1 {
		t.Error("a quota that was not created for the project was deleted")
	}
}

// TestRecordedQuota checks whose quota a namespace records.
func TestRecordedQuota(t *testing.T) {
	for name, test := range map[string]struct{ annotation, want, wantErr string }{
		"of the project": {`{"metadata":{"annotations":{"groundskeeper.io/project-uid":"project-dev"}},"spec":{"hard":{"pods":"9"}}}`, "9", ""},
		"of another":     {`{"metadata":{"annotations":{"groundskeeper.io/project-uid":"other"}},"spec":{"hard":{"pods":"9"}}}`, "", ""},
		"of none":        {`{"spec":{"hard":{"pods":"9"}}}`, "", ""},
		"invalid":        {`{`, "", "remove it to use those of the configuration"},
	} {
		t.Run(name, func(t *testing.T) {
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-dev", Annotations: map[string]string{annotationRecreatedQuota: test.annotation}}}
			quota, err := recordedQuota(testProject("dev"), namespace)
			if (err != nil) != (test.wantErr != "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("error = %v, want %q", err, test.wantErr)
			}
			got := ""
			if quota != nil {
				got = quota.Spec.Hard.Pods().String()
			}
			if got != test.want {
				t.Errorf("pods = %q, want %q", got, test.want)
			}
			if len(releasedNamespace(namespace).Annotations) > 0 {
				t.Errorf("a namespace that is released has %v", namespace.Annotations)
			}
		})
	}
}
