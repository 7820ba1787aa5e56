// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

var noon = time.Date(2030, 1, 2, 12, 0, 30, 5, time.UTC)

// A condition keeps its time until its status changes, and is new when any of the rest does.
func TestConditions(t *testing.T) {
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	drained := func(status metav1.ConditionStatus, message string) []metav1.Condition {
		return []metav1.Condition{Condition(backend, gimbalv1.ConditionDrained, status, "Reason", message)}
	}
	first, changed := Conditions(backend, drained(metav1.ConditionFalse, "1 of 2"), noon)
	if !changed || first[0].ObservedGeneration != 3 || !first[0].LastTransitionTime.Time.Equal(noon.Truncate(time.Second)) {
		t.Errorf("the first one: %t, %+v", changed, first)
	}
	backend.Status.Conditions = first
	if _, changed := Conditions(backend, drained(metav1.ConditionFalse, "1 of 2"), noon.Add(time.Hour)); changed {
		t.Error("the same one is written again")
	}
	next, changed := Conditions(backend, drained(metav1.ConditionFalse, "2 of 2"), noon.Add(time.Hour))
	if !changed || next[0].LastTransitionTime != first[0].LastTransitionTime {
		t.Errorf("another message: %t, %+v", changed, next)
	}
	next, changed = Conditions(backend, drained(metav1.ConditionTrue, "2 of 2"), noon.Add(time.Hour))
	if !changed || next[0].LastTransitionTime == first[0].LastTransitionTime {
		t.Errorf("another status: %t, %+v", changed, next)
	}
}

func TestErrors(t *testing.T) {
	a, b := gimbalv1.DiscoveryError{Type: "A", Message: "a"}, gimbalv1.DiscoveryError{Type: "A", Message: "b"}
	first, changed := Errors(nil, []gimbalv1.DiscoveryError{a}, noon)
	if !changed || !first[0].StatusTime.Time.Equal(noon.Truncate(time.Second)) {
		t.Errorf("the first one: %t, %+v", changed, first)
	}
	if _, changed := Errors(first, []gimbalv1.DiscoveryError{a}, noon.Add(time.Hour)); changed {
		t.Error("the same one is written again")
	}
	next, changed := Errors(first, []gimbalv1.DiscoveryError{a, b}, noon.Add(time.Hour))
	if !changed || !next[0].StatusTime.Equal(first[0].StatusTime) || next[1].StatusTime.Equal(first[0].StatusTime) {
		t.Errorf("one more: %t, %+v", changed, next)
	}
	if next, changed := Errors(first, nil, noon); !changed || len(next) != 0 {
		t.Errorf("one being deleted: %t, %+v", changed, next)
	}
}

func TestOwnErrors(t *testing.T) {
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, fields string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	of := func(messages ...string) string {
		var keys []string
		for _, message := range messages {
			keys = append(keys, `"k:{\"message\":\"`+message+`\",\"type\":\"T\"}":{".":{},"f:message":{}}`)
		}
		return `{"f:status":{"f:errors":{` + strings.Join(keys, ",") + `}}}`
	}
	for name, tc := range map[string]struct {
		fields []metav1.ManagedFieldsEntry
		want   string
	}{
		"nobody's":             {nil, ""},
		"two of the owner":     {[]metav1.ManagedFieldsEntry{entry("us", metav1.ManagedFieldsOperationApply, of("a", "b"))}, "a b"},
		"one of each":          {[]metav1.ManagedFieldsEntry{entry("them", metav1.ManagedFieldsOperationApply, of("a")), entry("us", metav1.ManagedFieldsOperationApply, of("b"))}, "b"},
		"not applied":          {[]metav1.ManagedFieldsEntry{entry("us", metav1.ManagedFieldsOperationUpdate, of("a"))}, ""},
		"deleted meanwhile":    {[]metav1.ManagedFieldsEntry{entry("us", metav1.ManagedFieldsOperationApply, of("c"))}, ""},
		"something of no list": {[]metav1.ManagedFieldsEntry{entry("us", metav1.ManagedFieldsOperationApply, `{"f:status":{"f:errors":{".":{}}}}`)}, ""},
	} {
		backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{ManagedFields: tc.fields}}
		backend.Status.Errors = []gimbalv1.DiscoveryError{{Type: "T", Message: "a"}, {Type: "T", Message: "b"}}
		own, err := OwnErrors(backend, "us")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		got := map[string]bool{}
		for _, entry := range own {
			got[entry.Message] = true
		}
		want := strings.Fields(tc.want)
		if len(got) != len(want) {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
		for _, message := range want {
			if !got[message] {
				t.Errorf("%s: %s is missing", name, message)
			}
		}
	}
	if _, err := OwnErrors(&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{
		entry("us", metav1.ManagedFieldsOperationApply, `{"f:status":1}`)}}}, "us"); err == nil {
		t.Error("what cannot be read is no error")
	}
}

func TestBounded(t *testing.T) {
	if got := Bounded("a\nb"); got != "a; b" {
		t.Error(got)
	}
	if got := Bounded(strings.Repeat("ü", MaxMessage)); len(got) > MaxMessage || !strings.HasSuffix(got, "ü…") {
		t.Errorf("%d bytes", len(got))
	}
}

func TestPlural(t *testing.T) {
	if got := Plural(1, "route") + ", " + Plural(0, "route"); got != "1 route, 0 routes" {
		t.Error(got)
	}
}
