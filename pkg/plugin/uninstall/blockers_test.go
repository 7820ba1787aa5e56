// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Abandoned objects need no running controller; all others do.
func TestAbandonedWithoutControllers(t *testing.T) {
	const silent, unknown = "does not work", "is unknown"
	deleted := func(f *Found) { f.Manager = Manager{Silent: "there is no Lease a/b"} }
	hidden := func(f *Found) { f.Manager = Manager{Unknown: "there is no Deployment"} }
	waiting := func(f *Found) {
		f.Manager.Controllers = map[string]controllerstate.State{controllerDeorbit: {State: controllerstate.Waiting, Reason: "not allowed to patch secrets"}}
	}
	onlyKlusters := func(f *Found) { f.Projects, f.Backends, f.Translations = nil, nil, nil }
	onlyTranslations := func(f *Found) { f.Projects, f.Backends, f.Klusters = nil, nil, nil }
	both := func(f *Found) { f.Projects, f.Backends = nil, nil }
	for name, test := range map[string]struct {
		manager, objects func(*Found)
		abandon          []string
		want             string
	}{
		"Klusters":                                 {deleted, onlyKlusters, []string{Klusters}, ""},
		"Klusters that are not abandoned":          {deleted, onlyKlusters, []string{Translations}, silent},
		"Klusters, and it waits for permissions":   {waiting, onlyKlusters, nil, "waits: not allowed to patch secrets, or leave"},
		"Translations":                             {deleted, onlyTranslations, []string{Translations}, ""},
		"Translations that are not abandoned":      {deleted, onlyTranslations, []string{Klusters}, silent},
		"both":                                     {deleted, both, []string{Klusters, Translations}, ""},
		"one of both":                              {deleted, both, []string{Klusters}, silent},
		"with Projects":                            {deleted, func(f *Found) { both(f); f.Projects = installed(t).Projects }, []string{Klusters, Translations}, silent},
		"with backends":                            {deleted, func(f *Found) { both(f); f.Backends = installed(t).Backends }, []string{Klusters, Translations}, silent},
		"Klusters, by a manager that hides":        {hidden, onlyKlusters, []string{Klusters}, ""},
		"not abandoned, by a manager that hides":   {hidden, onlyKlusters, nil, unknown},
		"Translations that may be made again":      {hidden, onlyTranslations, []string{Translations}, unknown},
		"not abandoned Translations, and it hides": {hidden, onlyTranslations, nil, unknown},
	} {
		f, o := installed(t), defaults
		test.manager(f)
		test.objects(f)
		o.Abandon = test.abandon
		got := NewPlan(f, o).Blockers
		if test.want == "" && len(got) > 0 || test.want != "" && (len(got) != 1 || !strings.Contains(got[0], test.want)) {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

// TestWaitingControllerDoesNotRun checks that the configuration does not make a controller run that waits for permissions.
func TestWaitingControllerDoesNotRun(t *testing.T) {
	m := installed(t).Manager
	if !m.Runs(controllerAnnounce) {
		t.Fatal("the controller does not run as configured")
	}
	m.Controllers = map[string]controllerstate.State{controllerAnnounce: {State: controllerstate.Waiting, Reason: "not allowed to patch secrets"}}
	if m.Runs(controllerAnnounce) {
		t.Error("a controller that waits runs")
	}
}

// Without its controllers, no step waits for them.
func TestStepsWithoutControllers(t *testing.T) {
	f := installed(t)
	f.Manager = Manager{Silent: "there is no Lease a/b", Deployed: true, Reconfigured: true}
	u := &Uninstaller{Options: defaults}
	for _, s := range u.steps(f) {
		if slices.Contains([]string{"stop the controller that writes Translations", "bring backends back to service", "withdraw Klusters that are announced"}, s.what) && !s.skip {
			t.Errorf("it is to %s", s.what)
		}
	}
}

// TestAbandonedAndPaused checks that an announced and paused Kluster blocks the removal even if it is abandoned, because the
// controller of announcements leaves it alone.
func TestAbandonedAndPaused(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Found)
		options func(*Options)
		blocked bool
	}{
		"announced":     {nil, nil, true},
		"not announced": {func(f *Found) { f.Klusters[0].Status.Conditions = nil }, nil, false},
		"to be announced": {func(f *Found) {
			f.Klusters[0].Status.Conditions = nil
			f.Klusters[0].Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
		}, nil, false},
		"it is being deleted": {func(f *Found) { f.Klusters[0].DeletionTimestamp = new(metav1.Now()) }, nil, false},
		"it is deorbited":     {nil, func(o *Options) { o.Klusters = Deorbit }, false},
		"it is not announced": {func(f *Found) {
			f.Manager.Config = configured(t, strings.Replace(everything, "{", "{enabled: ['*', -kluster-discovery], ", 1))
		}, nil, false},
		"it is not abandoned": {func(f *Found) { f.Klusters[0].Status.Conditions = nil }, func(o *Options) { o.Abandon = nil }, true},
	} {
		f, o := installed(t), defaults
		f.Klusters[0].Annotations = map[string]string{kit.AnnotationPaused: "true"}
		f.Klusters[0].Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionAnnounced, Status: metav1.ConditionTrue}}
		o.Abandon = []string{Klusters}
		if test.change != nil {
			test.change(f)
		}
		if test.options != nil {
			test.options(&o)
		}
		got := NewPlan(f, o).Blockers
		if len(got) > 0 != test.blocked || test.blocked && !strings.Contains(got[0], "Kluster web is paused") {
			t.Errorf("%s: got %q", name, got)
		}
	}
}
