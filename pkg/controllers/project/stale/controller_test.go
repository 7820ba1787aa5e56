// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/event"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

func TestProjectChanged(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*gardenerv1beta1.Project)
		want   bool
	}{
		"resync":                   {func(p *gardenerv1beta1.Project) { p.ResourceVersion = "1" }, true},
		"spec":                     {func(p *gardenerv1beta1.Project) { p.Generation++ }, true},
		"recreated":                {func(p *gardenerv1beta1.Project) { p.UID = "other" }, true},
		"paused":                   {func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} }, true},
		"active":                   {active(on(3)), true},
		"marked, by Groundskeeper": {marked(on(3), on(4)), false},
		"the phase":                {func(p *gardenerv1beta1.Project) { p.Status.Phase = gardenerv1beta1.ProjectReady }, false},
		"a label":                  {func(p *gardenerv1beta1.Project) { p.Labels = map[string]string{"a": "b"} }, false},
		"confirmed for deletion":   {func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{"a": "b"} }, false},
	} {
		before := testProject()
		before.ResourceVersion = "1"
		after := before.DeepCopy()
		after.ResourceVersion = "2"
		test.change(after)
		if got := projectChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !projectChanged().Create(event.CreateEvent{}) {
		t.Error("a new Project is missed")
	}
}

func TestOfNamespace(t *testing.T) {
	if got := ofNamespace(t.Context(), testNamespace()); len(got) != 1 || got[0].Name != "dev" {
		t.Errorf("got %v", got)
	}
	other := testNamespace()
	other.Labels = nil
	if got := ofNamespace(t.Context(), other); got != nil {
		t.Errorf("got %v", got)
	}
}
