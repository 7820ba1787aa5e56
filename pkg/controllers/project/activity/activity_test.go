// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func object(created time.Time, generation int64) *resourcewatch.Object {
	return &resourcewatch.Object{Identity: resourcewatch.Identity{UID: "1", Generation: generation, CreationTimestamp: metav1.NewTime(created)}}
}

// changed returns an object whose last change is known.
func changed(object *resourcewatch.Object, at time.Time) *resourcewatch.Object {
	object.Value = at
	return object
}

func TestIsSpecChanged(t *testing.T) {
	other := object(noon, 1)
	other.UID = "2"
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  bool
	}{
		"created":                      {resourcewatch.Event{New: object(noon, 1)}, true},
		"deleted":                      {resourcewatch.Event{Old: object(noon, 1)}, true},
		"another generation":           {resourcewatch.Event{Old: object(noon, 1), New: object(noon, 2)}, true},
		"another one of the same name": {resourcewatch.Event{Old: object(noon, 1), New: other}, true},
		"its status":                   {resourcewatch.Event{Old: object(noon, 1), New: object(noon, 1)}, false},
	} {
		if got := isSpecChanged(test.event); got != test.want {
			t.Errorf("%s: changed = %t, want %t", name, got, test.want)
		}
	}
}

func TestHappened(t *testing.T) {
	other := object(noon, 1)
	other.UID = "2"
	old := noon.Add(-youth - time.Second)
	for name, test := range map[string]struct {
		event resourcewatch.Event
		want  time.Time
	}{
		"created":                            {resourcewatch.Event{New: object(noon, 1)}, noon},
		"created while the manager was down": {resourcewatch.Event{New: object(noon.Add(-youth), 1)}, noon},
		"too old to be created":              {resourcewatch.Event{New: object(old, 1)}, time.Time{}},
		"there before, and young":            {resourcewatch.Event{New: object(noon.Add(-time.Minute), 1), Initial: true}, noon.Add(-time.Minute)},
		"there before, and old":              {resourcewatch.Event{New: object(old, 1), Initial: true}, time.Time{}},
		"changed":                            {resourcewatch.Event{Old: object(old, 1), New: object(old, 2)}, noon},
		"changed without a generation":       {resourcewatch.Event{Old: object(old, 1), New: object(old, 1)}, noon},
		"there before, rotated not long ago": {resourcewatch.Event{New: changed(object(old, 0), noon.Add(-time.Minute)), Initial: true}, noon.Add(-time.Minute)},
		"there before, rotated long ago":     {resourcewatch.Event{New: changed(object(old, 0), old), Initial: true}, time.Time{}},
		"another one of the same name":       {resourcewatch.Event{Old: object(old, 1), New: other}, noon},
		"deleted":                            {resourcewatch.Event{Old: object(old, 1)}, noon},
	} {
		if at, active := happened(test.event, noon); active == test.want.IsZero() || active && !at.Equal(test.want) {
			t.Errorf("%s: %s, %t", name, at, active)
		}
	}
}

// cluster is a reconciler with the Project dev on a store that counts writes.
type cluster struct {
	*reconciler
	t     *testing.T
	store *kubetest.Server
	// err fails each write.
	err error
}

func newCluster(t *testing.T, change ...func(*gardenerv1beta1.Project, *corev1.Namespace)) *cluster {
	t.Helper()
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "1"}}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-dev",
		Labels: map[string]string{gardenerv1beta1.LabelProjectName: "dev"}, Annotations: map[string]string{gardenerv1beta1.AnnotationProjectUID: "1"}}}
	for _, f := range change {
		f(project, namespace)
	}
	c := &cluster{t: t, store: kubetest.New(t, project, namespace)}
	c.store.Fault = func(int, kubetest.Write) error { return c.err }
	c.reconciler = &reconciler{client: c.store.Client()}
	return c
}

// happens reports an activity and runs the reconciliation that it triggers.
func (c *cluster) happens(at time.Time) error {
	c.memory.note("garden-dev", at)
	_, err := c.Reconcile(c.t.Context(), requestFor("garden-dev"))
	return err
}

// last returns the last activity that was written.
func (c *cluster) last() *metav1.Time {
	c.t.Helper()
	project := &gardenerv1beta1.Project{}
	if err := c.store.Get(c.t.Context(), client.ObjectKey{Name: "dev"}, project); err != nil {
		c.t.Fatal(err)
	}
	return project.Status.LastActivityTimestamp
}

// TestActivityIsCoalesced checks that at most one write per minute is sent, and none that sets an earlier time.
func TestActivityIsCoalesced(t *testing.T) {
	c := newCluster(t)
	for _, step := range []struct {
		at     time.Duration
		last   time.Duration
		writes int
	}{{0, 0, 1}, {time.Second, 0, 1}, {59 * time.Second, 0, 1}, {time.Minute, time.Minute, 2}, {90 * time.Second, time.Minute, 2}, {-time.Hour, time.Minute, 2}, {time.Hour, time.Hour, 3}} {
		if err := c.happens(noon.Add(step.at)); err != nil {
			t.Fatal(err)
		}
		if last := c.last(); last == nil || !last.Time.Equal(noon.Add(step.last)) || c.store.Count() != step.writes {
			t.Errorf("after %s: %s, %d writes", step.at, last, c.store.Count())
		}
	}
	if _, err := c.Reconcile(t.Context(), requestFor("garden-dev")); err != nil || c.store.Count() != 3 {
		t.Errorf("without an activity it wrote: %v", err)
	}
}

// TestActivityIsTriedAgain checks that a failed write is retried.
func TestActivityIsTriedAgain(t *testing.T) {
	c := newCluster(t)
	c.err = errors.New("refused")
	if err := c.happens(noon); err == nil {
		t.Error("a failed write is no error")
	}
	c.err = nil
	if _, err := c.Reconcile(t.Context(), requestFor("garden-dev")); err != nil || c.last() == nil {
		t.Errorf("%v, %v", c.last(), err)
	}
}

// TestPending checks that an activity during a write is written, too.
func TestPending(t *testing.T) {
	var p memory
	p.note("a", noon)
	p.note("a", noon.Add(-time.Hour))
	if got := p.last("a"); !got.Equal(noon) {
		t.Errorf("got %s", got)
	}
	p.note("a", noon.Add(time.Hour))
	p.done("a", noon)
	if got := p.last("a"); !got.Equal(noon.Add(time.Hour)) {
		t.Errorf("got %s", got)
	}
	p.done("a", noon.Add(time.Hour))
	if len(p.at) != 0 {
		t.Errorf("%v", p.at)
	}
}

func TestWhoseActivityIsNotWritten(t *testing.T) {
	for name, change := range map[string]func(*gardenerv1beta1.Project, *corev1.Namespace){
		"a namespace without a project": func(_ *gardenerv1beta1.Project, n *corev1.Namespace) { n.Labels = nil },
		"a namespace of another": func(_ *gardenerv1beta1.Project, n *corev1.Namespace) {
			n.Annotations[gardenerv1beta1.AnnotationProjectUID] = "2"
		},
		"a project that does not exist": func(_ *gardenerv1beta1.Project, n *corev1.Namespace) {
			n.Labels[gardenerv1beta1.LabelProjectName] = "other"
		},
		"no such namespace": func(_ *gardenerv1beta1.Project, n *corev1.Namespace) { n.Name = "garden-other" },
		"paused": func(p *gardenerv1beta1.Project, _ *corev1.Namespace) {
			p.Annotations = map[string]string{kit.AnnotationPaused: "true"}
		},
		"being deleted": func(p *gardenerv1beta1.Project, _ *corev1.Namespace) {
			p.DeletionTimestamp, p.Finalizers = new(metav1.NewTime(noon)), []string{"gardener"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, change)
			if err := c.happens(noon); err != nil || c.store.Count() > 0 || len(c.memory.at) > 0 {
				t.Errorf("%d writes, %v", c.store.Count(), err)
			}
		})
	}
}
