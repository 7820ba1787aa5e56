// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"groundskeeper.io/groundskeeper/docs"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// remedies returns what a user does about the Deorbit of a Kluster: about the reason of its condition, and about each kind of reason for
// which objects remain, once. The texts are those of docs/deorbit.md.
func remedies(k *kubernikusv1.Kluster) (all []finding) {
	if k.DeletionTimestamp.IsZero() {
		return nil
	}
	add := func(reason, remedy string) {
		if remedy != "" {
			all = append(all, found(inProgress, "about %q: %s", reason, commandsOf(k, remedy)))
		}
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); c != nil {
		add(c.Reason, docs.DeorbitRemedy(c.Reason))
	}
	if d := k.Status.Deorbit; d != nil {
		var explained []string
		for _, o := range slices.Concat(d.Remaining, d.Undecided) {
			if pattern, remedy := docs.LeftoverRemedy(o.Reason); !slices.Contains(explained, pattern) {
				explained = append(explained, pattern)
				add(pattern, remedy)
			}
		}
	}
	return all
}

// commandsOf returns a text whose commands are those for a Kluster.
func commandsOf(k *kubernikusv1.Kluster, text string) string {
	return strings.ReplaceAll(text, "deorbit NAME", "deorbit "+k.Name+" -n "+k.Namespace)
}
