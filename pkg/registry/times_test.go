// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"groundskeeper.io/groundskeeper/pkg/registry"
)

// A server-side apply that changes only its time, and with it the order of the managers, writes nothing.
func TestApplyThatChangesOnlyItsTime(t *testing.T) {
	at := func(second int64) *metav1.Time { return new(metav1.Unix(second, 0)) }
	entry := func(manager, fields string, second int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{
			Manager: manager, Operation: metav1.ManagedFieldsOperationApply, Time: at(second), FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
		}
	}
	stored := []metav1.ManagedFieldsEntry{entry("gitops", "{a}", 1), entry("other", "{b}", 2)}
	later := []metav1.ManagedFieldsEntry{entry("other", "{b}", 2), entry("gitops", "{a}", time.Now().Unix())}
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		change  func(served, registry.Object)
		written bool
	}{
		"the time alone":                 {entries: later},
		"the time and a label":           {later, func(_ served, o registry.Object) { o.SetLabels(map[string]string{"a": "b"}) }, true},
		"the time and the desired state": {later, func(s served, o registry.Object) { s.change(o) }, true},
		"another field becomes owned":    {[]metav1.ManagedFieldsEntry{entry("gitops", "{a,c}", 1), entry("other", "{b}", 2)}, nil, true},
		"another client owns":            {append(slices.Clone(stored), entry("third", "{c}", 3)), nil, true},
		"a manager owns nothing anymore": {later[:1], nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			forEach(t, func(t *testing.T, kind served) {
				old := kind.stored(t)
				old.SetManagedFields(stored)
				old.GetObjectKind().SetGroupVersionKind(kind.version.WithKind("FromTheCache"))
				for what, update := range map[string]func(testing.TB, registry.Object, registry.Object) error{"object": kind.update, "status": kind.updateStatus} {
					o := copied(old)
					o.SetManagedFields(slices.Clone(test.entries))
					o.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
					if test.change != nil {
						if what == "status" {
							kind.observe(o)
						} else {
							test.change(kind, o)
						}
					}
					if err := update(t, o, old); err != nil {
						t.Fatal(err)
					}
					want := stored
					if test.written {
						want = test.entries
					}
					if diff := cmp.Diff(want, o.GetManagedFields()); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
				}
			})
		})
	}
}
