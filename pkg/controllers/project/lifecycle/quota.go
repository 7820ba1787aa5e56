// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
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

// guardedLabelPrefix is that of labels which the API server guards whatever its flags say.
const guardedLabelPrefix = "quota.groundskeeper.io/"

// unguardedKeys are the keys of labels that quotas are selected by and that the API server guards only when its flags name
// them, sorted.
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

// desiredQuota is the quota of a Project by the first rule that selects it, nil when none does.
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

// annotationQuotaLimits holds the limits that this controller set in a quota, so that they are told apart from those that
// somebody raised by hand.
const annotationQuotaLimits = "groundskeeper.io/quota-limits"

// writtenLimits are limits as the annotation has them.
func writtenLimits(limits corev1.ResourceList) string {
	written, err := json.Marshal(limits)
	if err != nil {
		return "" // a list of quantities can be written
	}
	return string(written)
}

// limitsSet are the limits that this controller set last, none when it is not known which.
func limitsSet(quota *corev1.ResourceQuota) corev1.ResourceList {
	limits := corev1.ResourceList{}
	if json.Unmarshal([]byte(quota.Annotations[annotationQuotaLimits]), &limits) != nil {
		return nil
	}
	return limits
}

// raisedLimits are the configured limits, each as somebody raised it by hand. A limit that this controller set, by another
// configuration or for other labels, is not raised by hand. One that was lowered by hand comes back, and one that the
// configuration does not have goes.
func raisedLimits(current, set, configured corev1.ResourceList) corev1.ResourceList {
	limits := configured.DeepCopy()
	for name, limit := range limits {
		found, ok := current[name]
		ours, known := set[name]
		if ok && found.Cmp(limit) > 0 && (!known || found.Cmp(ours) != 0) {
			limits[name] = found
		}
	}
	return limits
}
