// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// copiedArguments returns the flags for which services are copied, and with which labels and annotations. Only what is set has
// flags, so that the discoverers of other backends are not restarted.
func copiedArguments(cluster *gimbalv1.Cluster) []string {
	var args []string
	add := func(flag string, values []string) {
		if len(values) > 0 {
			args = append(args, "--"+flag+"="+strings.Join(values, ","))
		}
	}
	if cluster.Selector != nil {
		selector, err := metav1.LabelSelectorAsSelector(cluster.Selector)
		switch {
		case err != nil:
			// Validation rejects such a selector. Without a valid one nothing may be selected by accident.
			add("selector", []string{metav1.FormatLabelSelector(cluster.Selector)})
		case !selector.Empty():
			add("selector", []string{selector.String()})
		}
	}
	add("labels-include", cluster.Labels.Include)
	add("labels-exclude", cluster.Labels.Exclude)
	var added []string
	for _, key := range slices.Sorted(maps.Keys(cluster.Labels.Add)) {
		added = append(added, key+"="+cluster.Labels.Add[key])
	}
	add("labels-add", added)
	if cluster.Type == gimbalv1.BackendKubernetes { // load balancers have none
		add("copy-annotations", cluster.Annotations)
	}
	return args
}
