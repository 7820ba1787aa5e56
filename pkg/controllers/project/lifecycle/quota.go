// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// quotaName is the name of the ResourceQuota in project namespaces.
const quotaName = "gardener"

// quotaRule is one entry of the configuration.
type quotaRule struct {
	projects labels.Selector
	quota    corev1.ResourceQuota
}

// newQuotaRules prepares the quotas of the configuration. An error names the entry.
func newQuotaRules(configured []configv1alpha1.QuotaConfiguration) ([]quotaRule, error) {
	rules := make([]quotaRule, 0, len(configured))
	for i := range configured {
		projects := labels.Everything()
		if selector := configured[i].ProjectSelector; selector != nil {
			var err error
			if projects, err = metav1.LabelSelectorAsSelector(selector); err != nil {
				return nil, fmt.Errorf("controllers.project.quotas[%d].projectSelector: %w", i, err)
			}
		}
		rules = append(rules, quotaRule{projects: projects, quota: configured[i].Config})
	}
	return rules, nil
}

// guardedLabelPrefix is the prefix of labels that the API server always protects.
const guardedLabelPrefix = "quota.groundskeeper.io/"

// unguardedKeys returns the sorted keys of labels that select quotas and that the API server protects only if its flags name
// them.
func unguardedKeys(rules []quotaRule) []string {
	var keys []string
	for i := range rules {
		requirements, _ := rules[i].projects.Requirements()
		for _, requirement := range requirements {
			if !strings.HasPrefix(requirement.Key(), guardedLabelPrefix) {
				keys = append(keys, requirement.Key())
			}
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// desiredQuota returns the quota of a Project by the first rule that selects it, or nil if there is none.
func desiredQuota(project *gardenerv1beta1.Project, rules []quotaRule) *corev1.ResourceQuota {
	for i := range rules {
		if !rules[i].projects.Matches(labels.Set(project.Labels)) {
			continue
		}
		configured := rules[i].quota.DeepCopy()
		metav1.SetMetaDataLabel(&configured.ObjectMeta, gardenerv1beta1.LabelProjectName, project.Name)
		metav1.SetMetaDataAnnotation(&configured.ObjectMeta, annotationProjectUID, string(project.UID))
		metav1.SetMetaDataAnnotation(&configured.ObjectMeta, annotationQuotaLimits, writtenLimits(configured.Spec.Hard))
		return &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{
				Namespace:   namespaceName(project),
				Name:        quotaName,
				Labels:      configured.Labels,
				Annotations: configured.Annotations,
			},
			Spec: configured.Spec,
		}
	}
	return nil
}

// annotationQuotaLimits contains the limits that this controller set in a quota, to distinguish them from manually raised ones.
const annotationQuotaLimits = "groundskeeper.io/quota-limits"

// writtenLimits returns limits in the format of the annotation.
func writtenLimits(limits corev1.ResourceList) string {
	written, err := json.Marshal(limits)
	if err != nil {
		return "" // a list of quantities can be encoded
	}
	return string(written)
}

// limitsSet returns the limits that this controller set last, or none if they are unknown.
func limitsSet(quota *corev1.ResourceQuota) corev1.ResourceList {
	limits := corev1.ResourceList{}
	if json.Unmarshal([]byte(quota.Annotations[annotationQuotaLimits]), &limits) != nil {
		return nil
	}
	return limits
}

// raisedLimits returns the configured limits, each with its manually raised value. A limit that this controller set, with
// another configuration or for other labels, was not raised manually. A manually lowered limit is reverted, and one that is not
// configured is removed.
func raisedLimits(current, set, configured corev1.ResourceList) corev1.ResourceList {
	limits := configured.DeepCopy()
	for name, limit := range limits {
		found, ok := current[name]
		own, known := set[name]
		if ok && found.Cmp(limit) > 0 && (!known || found.Cmp(own) != 0) {
			limits[name] = found
		}
	}
	return limits
}

// limitsOthers reports whether a quota limits other objects than the desired one: its scopes are immutable, so that it has to be recreated.
func limitsOthers(current, desired *corev1.ResourceQuota) bool {
	return !equality.Semantic.DeepEqual(scopesOf(current), scopesOf(desired))
}

// scopesOf returns which objects a quota limits, in an order that does not depend on how it is written: a scope is the same as an
// expression that it exists.
func scopesOf(quota *corev1.ResourceQuota) []string {
	var scopes []string
	for _, scope := range quota.Spec.Scopes {
		scopes = append(scopes, fmt.Sprintf("%s %s []", scope, corev1.ScopeSelectorOpExists))
	}
	if selector := quota.Spec.ScopeSelector; selector != nil {
		for _, expression := range selector.MatchExpressions {
			values := slices.Sorted(slices.Values(expression.Values))
			scopes = append(scopes, fmt.Sprintf("%s %s %q", expression.ScopeName, expression.Operator, values))
		}
	}
	slices.Sort(scopes)
	return slices.Compact(scopes)
}

// recreatedQuota returns a desired quota with what others wrote into the current one.
func recreatedQuota(current, desired *corev1.ResourceQuota) *corev1.ResourceQuota {
	created, next := desired.DeepCopy(), merged(current, desired)
	created.Labels, created.Annotations = next.GetLabels(), next.GetAnnotations()
	created.Spec.Hard = raisedLimits(current.Spec.Hard, limitsSet(current), desired.Spec.Hard)
	return created
}

// annotationRecreatedQuota is set in a namespace while its quota is recreated, and contains what others may have written into it.
const annotationRecreatedQuota = "groundskeeper.io/recreated-quota"

// withRecordedQuota returns a namespace that records a quota.
func withRecordedQuota(namespace *corev1.Namespace, quota *corev1.ResourceQuota) (*corev1.Namespace, error) {
	written, err := json.Marshal(corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Labels: quota.Labels, Annotations: quota.Annotations}, Spec: corev1.ResourceQuotaSpec{Hard: quota.Spec.Hard},
	})
	next := namespace.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, annotationRecreatedQuota, string(written))
	return next, err
}

// withoutRecordedQuota returns a namespace that records no quota.
func withoutRecordedQuota(namespace *corev1.Namespace) *corev1.Namespace {
	next := namespace.DeepCopy()
	delete(next.Annotations, annotationRecreatedQuota)
	return next
}

// recordedQuota returns the quota of a Project that its namespace records, or nil.
func recordedQuota(project *gardenerv1beta1.Project, namespace *corev1.Namespace) (*corev1.ResourceQuota, error) {
	written, ok := namespace.Annotations[annotationRecreatedQuota]
	if !ok {
		return nil, nil
	}
	quota := &corev1.ResourceQuota{}
	if err := json.Unmarshal([]byte(written), quota); err != nil {
		return nil, fmt.Errorf("annotation %s of namespace %q, which has the limits of quota %q: %w: remove it to use those of the configuration",
			annotationRecreatedQuota, namespace.Name, quotaName, err)
	}
	if quota.Annotations[annotationProjectUID] != string(project.UID) {
		return nil, nil
	}
	return quota, nil
}
