// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const maxPoolNameLength = 20

var poolName = regexp.MustCompile(`^[a-z0-9][-.a-z0-9]*$`)

// validateNodePools checks names of new pools, and labels and taints of pools that are new or get other ones.
func validateNodePools(pools, old []kubernikusv1.NodePool, path *field.Path) field.ErrorList {
	before := poolsByName(old)
	var errs field.ErrorList
	for i := range pools {
		pool, path := &pools[i], path.Index(i)
		previous := before[pool.Name]
		if previous == nil {
			errs = append(errs, validatePoolName(pool.Name, path.Child("name"))...)
		}
		if previous == nil || !slices.Equal(pool.Labels, previous.Labels) {
			for i, label := range pool.Labels {
				errs = append(errs, validateLabel(label, path.Child("labels").Index(i))...)
			}
		}
		if previous == nil || !slices.Equal(pool.Taints, previous.Taints) {
			for i, taint := range pool.Taints {
				errs = append(errs, validateTaint(taint, path.Child("taints").Index(i))...)
			}
		}
	}
	return errs
}

// validatePoolRemoval rejects the removal of a pool that has nodes.
func validatePoolRemoval(pools, old []kubernikusv1.NodePool, path *field.Path) field.ErrorList {
	kept := poolsByName(pools)
	var errs field.ErrorList
	for i := range old {
		if pool := &old[i]; kept[pool.Name] == nil && pool.NodeCount > 0 {
			errs = append(errs, field.Forbidden(path, fmt.Sprintf(
				"pool %q cannot be removed while its size is %d: set its size to 0 first", pool.Name, pool.NodeCount)))
		}
	}
	return errs
}

func poolsByName(pools []kubernikusv1.NodePool) map[string]*kubernikusv1.NodePool {
	byName := make(map[string]*kubernikusv1.NodePool, len(pools))
	for i := range pools {
		byName[pools[i].Name] = &pools[i]
	}
	return byName
}

func validatePoolName(name string, path *field.Path) field.ErrorList {
	switch {
	case name == "":
		return field.ErrorList{field.Required(path, "set a name that no other pool of the Kluster has")}
	case len(name) > maxPoolNameLength:
		return field.ErrorList{field.TooLong(path, name, maxPoolNameLength)}
	case !poolName.MatchString(name):
		return field.ErrorList{field.Invalid(path, name,
			"must start with a lower case letter or digit, and have only lower case letters, digits, dashes and dots")}
	}
	return nil
}

// validateLabel checks a label written as key=value.
func validateLabel(label string, path *field.Path) field.ErrorList {
	key, value, found := strings.Cut(label, "=")
	if !found {
		return field.ErrorList{field.Invalid(path, label, "must have the form key=value")}
	}
	return invalidIfAny(path, label, keyAndValue(key, value))
}

func keyAndValue(key, value string) []string {
	return append(validation.IsQualifiedName(key), validation.IsValidLabelValue(value)...)
}

// validateTaint checks a taint written as key=value:effect.
func validateTaint(taint string, path *field.Path) field.ErrorList {
	label, effect, hasEffect := strings.Cut(taint, ":")
	key, value, hasValue := strings.Cut(label, "=")
	if !hasEffect || !hasValue {
		return field.ErrorList{field.Invalid(path, taint, "must have the form key=value:effect")}
	}
	switch corev1.TaintEffect(effect) {
	case corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute:
		return invalidIfAny(path, taint, keyAndValue(key, value))
	}
	return field.ErrorList{field.Invalid(path, taint, fmt.Sprintf("the effect must be %s, %s or %s",
		corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute))}
}
