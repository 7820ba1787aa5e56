// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func condition(status gardenerv1beta1.ConditionStatus, reason, message string, transition, update *metav1.Time) gardenerv1beta1.Condition {
	return gardenerv1beta1.Condition{Type: gardenerv1beta1.ProjectStale, Status: status, Reason: reason, Message: message,
		LastTransitionTime: *transition, LastUpdateTime: *update}
}

func TestNextStatus(t *testing.T) {
	others := gardenerv1beta1.Condition{Type: gardenerv1beta1.ProjectNamespaceReady, Status: "True", LastTransitionTime: *on(1), LastUpdateTime: *on(1)}
	coded := condition("True", "Unused", "a", on(40), on(40))
	coded.Codes = []gardenerv1beta1.ErrorCode{"ERR_X"}
	recoded := condition("True", "DeletionPlanned", "b", on(40), on(50))
	recoded.Codes = coded.Codes
	status := func(since, autoDelete *metav1.Time, conditions ...gardenerv1beta1.Condition) gardenerv1beta1.ProjectStatus {
		return gardenerv1beta1.ProjectStatus{Phase: gardenerv1beta1.ProjectReady, ObservedGeneration: 3, LastActivityTimestamp: on(2),
			StaleSinceTimestamp: since, StaleAutoDeleteTimestamp: autoDelete, Conditions: append([]gardenerv1beta1.Condition{others}, conditions...)}
	}
	for name, test := range map[string]struct {
		current  gardenerv1beta1.ProjectStatus
		decision decision
		want     gardenerv1beta1.ProjectStatus
		event    *announcement
	}{
		"never stale": {status(nil, nil), decision{reason: "InUse", message: "a"}, status(nil, nil), nil},
		"becomes stale": {
			status(nil, nil), decision{stale: true, since: on(50), reason: "Unused", message: "a"},
			status(on(50), nil, condition("True", "Unused", "a", on(50), on(50))), &announcement{"Warning", "ProjectStale", "Unused", "a"},
		},
		"stays stale": {
			status(on(40), nil, condition("True", "Unused", "a", on(40), on(40))), decision{stale: true, since: on(40), reason: "Unused", message: "a"},
			status(on(40), nil, condition("True", "Unused", "a", on(40), on(40))), nil,
		},
		"marked by another client": {
			status(on(40), on(130)), decision{stale: true, since: on(40), autoDelete: on(130), reason: "DeletionPlanned", message: "a"},
			status(on(40), on(130), condition("True", "DeletionPlanned", "a", on(50), on(50))), &announcement{"Warning", "ProjectStale", "DeletionPlanned", "a"},
		},
		"another message of the same": {
			status(on(40), nil, condition("True", "Unused", "a", on(40), on(40))), decision{stale: true, since: on(40), reason: "Unused", message: "b"},
			status(on(40), nil, condition("True", "Unused", "b", on(40), on(50))), nil,
		},
		"gets a date": {
			status(on(40), nil, coded), decision{stale: true, since: on(40), autoDelete: on(130), reason: "DeletionPlanned", message: "b"},
			status(on(40), on(130), recoded), &announcement{"Warning", "ProjectStale", "DeletionPlanned", "b"},
		},
		"gets another date": {
			status(on(40), on(130), condition("True", "DeletionPlanned", "a", on(40), on(40))), decision{stale: true, since: on(40), autoDelete: on(140), reason: "DeletionPlanned", message: "b"},
			status(on(40), on(140), condition("True", "DeletionPlanned", "b", on(40), on(50))), &announcement{"Warning", "ProjectStale", "DeletionPlanned", "b"},
		},
		"the last day": {
			status(on(40), on(130), condition("True", "DeletionPlanned", "a", on(40), on(40))), decision{stale: true, since: on(40), autoDelete: on(130), reason: "DeletionImminent", message: "a"},
			status(on(40), on(130), condition("True", "DeletionImminent", "a", on(40), on(50))), &announcement{"Warning", "ProjectStale", "DeletionImminent", "a"},
		},
		"not stale any more": {
			status(on(40), on(130), condition("True", "DeletionPlanned", "a", on(40), on(40))), decision{reason: "InUse", message: "b"},
			status(nil, nil, condition("False", "InUse", "b", on(50), on(50))), &announcement{"Normal", "ProjectNotStale", "InUse", "the project is no longer stale: b"},
		},
		"marks without a condition are taken back": {
			status(on(40), nil), decision{reason: "TooYoung", message: "b"},
			status(nil, nil, condition("False", "TooYoung", "b", on(50), on(50))), &announcement{"Normal", "ProjectNotStale", "TooYoung", "the project is no longer stale: b"},
		},
		"still not stale, for another reason": {
			status(nil, nil, condition("False", "InUse", "a", on(40), on(40))), decision{reason: "RecentlyActive", message: "b"},
			status(nil, nil, condition("False", "RecentlyActive", "b", on(40), on(50))), nil,
		},
		"stale once more": {
			status(nil, nil, condition("False", "InUse", "a", on(40), on(40))), decision{stale: true, since: on(50), reason: "Unused", message: "b"},
			status(on(50), nil, condition("True", "Unused", "b", on(50), on(50))), &announcement{"Warning", "ProjectStale", "Unused", "b"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := test.current.DeepCopy()
			got := nextStatus(&test.current, &test.decision, at(50))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.event, announce(&test.current, &got), cmp.AllowUnexported(announcement{})); diff != "" {
				t.Errorf("the event:\n%s", diff)
			}
			if diff := cmp.Diff(before, &test.current); diff != "" {
				t.Errorf("the status that was read has changed:\n%s", diff)
			}
			again := nextStatus(&got, &test.decision, at(51))
			if !equality.Semantic.DeepEqual(got, again) || announce(&got, &again) != nil {
				t.Errorf("the same decision writes again: %+v", again)
			}
		})
	}
}
