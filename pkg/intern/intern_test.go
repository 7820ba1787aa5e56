// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package intern

import (
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// full returns a Translation with distinct strings in all fields.
func full() *midonetv1.Translation {
	own := strings.Clone
	now := metav1.NewTime(time.Unix(1, 0))
	return &midonetv1.Translation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       own("namespace"),
			Name:            own("name"),
			Labels:          map[string]string{own("label"): own("value")},
			Annotations:     map[string]string{own("annotation"): own("value")},
			Finalizers:      []string{own("finalizer")},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: own("v1"), Kind: own("Pod"), Name: own("pod"), UID: "u"}},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: own("manager"), Operation: metav1.ManagedFieldsOperationType(own("Apply")),
				APIVersion: own("midonet.org/v1"), FieldsType: own("FieldsV1"), FieldsV1: metav1.NewFieldsV1(`{"f:a":{}}`), Subresource: own("status"), Time: &now}},
		},
		Resources: []midonetv1.BackendResource{{Kind: own("Port"), Parent: own("parent"), Body: own("{}")}},
		Status: midonetv1.TranslationStatus{
			ObservedGeneration: 3,
			Conditions:         []metav1.Condition{{Type: own("Synced"), Status: metav1.ConditionStatus(own("True")), Reason: own("Reason"), Message: own("message")}},
			Resources: []midonetv1.BackendResourceStatus{{Kind: own("Port"), ID: own("id"), Parent: own("parent"),
				State: midonetv1.BackendResourceState(own("Synced")), BodyHash: own("hash"), LastTransitionTime: &now}},
		},
	}
}

// common returns the strings that objects have in common.
func common(t *midonetv1.Translation) map[string]string {
	owner, entry, condition := t.OwnerReferences[0], t.ManagedFields[0], t.Status.Conditions[0]
	return map[string]string{
		"the namespace":              t.Namespace,
		"the name of a label":        slices.Collect(maps.Keys(t.Labels))[0],
		"the name of an annotation":  slices.Collect(maps.Keys(t.Annotations))[0],
		"a finalizer":                t.Finalizers[0],
		"the version of an owner":    owner.APIVersion,
		"the kind of an owner":       owner.Kind,
		"the name of an owner":       owner.Name,
		"the UID of an owner":        string(owner.UID),
		"a manager":                  entry.Manager,
		"an operation":               string(entry.Operation),
		"a version":                  entry.APIVersion,
		"a type of fields":           entry.FieldsType,
		"a subresource":              entry.Subresource,
		"a kind":                     t.Resources[0].Kind,
		"a parent":                   t.Resources[0].Parent,
		"a kind in the status":       t.Status.Resources[0].Kind,
		"a parent in the status":     t.Status.Resources[0].Parent,
		"a state":                    string(t.Status.Resources[0].State),
		"the type of a condition":    condition.Type,
		"the status of a condition":  string(condition.Status),
		"the reason of a condition":  condition.Reason,
		"the message of a condition": condition.Message,
	}
}

func TestObjectSharesStrings(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection may begin another copy
	first, second := full(), full()
	Object(first)
	Object(second)
	if diff := cmp.Diff(full(), first); diff != "" {
		t.Error(diff)
	}
	copies := common(second)
	for what, one := range common(first) {
		if unsafe.StringData(one) != unsafe.StringData(copies[what]) {
			t.Errorf("there are two copies of %s", what)
		}
	}
}

// TestObjectOfOtherKinds checks that the metadata of every kind is interned, and that an object without metadata is left alone.
func TestObjectOfOtherKinds(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection may begin another copy
	first, second := &gardenerv1beta1.Project{}, &gardenerv1beta1.Project{}
	first.Finalizers, second.Finalizers = []string{strings.Clone("gardener")}, []string{strings.Clone("gardener")}
	Object(first)
	Object(second)
	if unsafe.StringData(first.Finalizers[0]) != unsafe.StringData(second.Finalizers[0]) {
		t.Error("there are two copies of a finalizer")
	}
	Object(&metav1.Status{})
	Object(&runtime.Unknown{})
}
