// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

func TestNextDeletion(t *testing.T) {
	const name = "groundskeeper_project_next_auto_deletion_timestamp_seconds"
	project := func(name string, at int64) *gardenerv1beta1.Project {
		p := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if at > 0 {
			p.Status.StaleAutoDeleteTimestamp = new(metav1.NewTime(time.Unix(at, 0)))
		}
		return p
	}
	going := project("going", 100)
	going.DeletionTimestamp, going.Finalizers = new(metav1.Now()), []string{"gardener"}
	registry := prometheus.NewRegistry()
	if err := RegisterMetrics(registry, newCluster(t, project("used", 0), going).store); err != nil {
		t.Fatal(err)
	}
	if n, err := testutil.GatherAndCount(registry, name); n != 0 || err != nil {
		t.Errorf("%d samples while nothing is to be deleted: %v", n, err)
	}
	// A second manager of this process takes the place of the first.
	if err := RegisterMetrics(registry, newCluster(t, project("used", 0), going, project("late", 300), project("soon", 200)).store); err != nil {
		t.Fatal(err)
	}
	want := "# HELP " + name + " When the next stale Project will be deleted, in seconds since 1970. There is no sample if none is planned.\n" +
		"# TYPE " + name + " gauge\n" + name + " 200\n"
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), name); err != nil {
		t.Error(err)
	}
}
