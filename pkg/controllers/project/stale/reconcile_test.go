// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// cluster is a reconciler on an API server.
type cluster struct {
	*reconciler
	t        *testing.T
	store    *kubetest.Server
	time     *testclock.FakePassiveClock
	recorder *events.FakeRecorder
	// use and useErr are the responses about what uses the project, of the watches and of the API server.
	use, liveUse       string
	useErr, liveUseErr error
}

func newCluster(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	store := kubetest.New(t, objects...)
	meters, err := newMeters(prometheus.NewRegistry(), store)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, store: store, time: testclock.NewFakePassiveClock(birth), recorder: events.NewFakeRecorder(100)}
	store.Describe = func(w kubetest.Write) string { return w.Verb }
	store.Reject = func(w kubetest.Write) error {
		if project := c.project(); w.Verb == "delete" && project != nil && project.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
			return apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), w.Name, errors.New("not confirmed"))
		}
		return nil
	}
	c.reconciler = &reconciler{
		client: store.Client(), live: store.Live(), policy: testPolicy(), clock: c.time, recorder: c.recorder, meters: meters,
		watchedUse: func(context.Context, string) (string, error) { return c.use, c.useErr },
		liveUse:    func(context.Context, string) (string, error) { return c.liveUse, c.liveUseErr },
	}
	return c
}

// pass reconciles once so many days after the birth.
func (c *cluster) pass(days float64) (reconcile.Result, error) {
	c.time.SetTime(at(days))
	c.store.ResetLog()
	return c.Reconcile(c.t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "dev"}})
}

// must returns a reconciliation that succeeds.
func (c *cluster) must(days float64) time.Duration {
	c.t.Helper()
	result, err := c.pass(days)
	if err != nil {
		c.t.Fatal(err)
	}
	return result.RequeueAfter
}

// project reads the Project, nil when it has been deleted.
func (c *cluster) project() *gardenerv1beta1.Project {
	c.t.Helper()
	project := &gardenerv1beta1.Project{}
	err := c.store.Get(c.t.Context(), client.ObjectKey{Name: "dev"}, project)
	if client.IgnoreNotFound(err) != nil {
		c.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return project
}

// marks returns the timestamps of the Project in days after the birth, and the reason of its condition.
func (c *cluster) marks() string {
	c.t.Helper()
	project := c.project()
	if project == nil {
		return "gone"
	}
	days := func(t *metav1.Time) string {
		if t == nil {
			return "-"
		}
		return fmt.Sprint(t.Sub(birth).Hours() / 24)
	}
	reason := "-"
	if found := conditions.Find(project.Status.Conditions, gardenerv1beta1.ProjectStale); found != nil {
		reason = found.Reason
	}
	return days(project.Status.StaleSinceTimestamp) + " " + days(project.Status.StaleAutoDeleteTimestamp) + " " + reason
}

// announced returns the events since the last call, without their messages.
func (c *cluster) announced() string {
	var all []string
	for {
		select {
		case event := <-c.recorder.Events:
			all = append(all, strings.Join(strings.Fields(event)[:2], " "))
		default:
			return strings.Join(all, ", ")
		}
	}
}

// TestLifecycleOfAStaleProject runs a project from fresh to deleted, each reconciliation twice: the second one writes and reports nothing.
func TestLifecycleOfAStaleProject(t *testing.T) {
	c := newCluster(t, testProject(), testNamespace())
	const warning = "Warning ProjectStale"
	for _, step := range []struct {
		day          float64
		marks, event string
		after        time.Duration
		writes       int
	}{
		{0, "- - -", "", 12 * time.Hour, 0},
		{29.75, "- - -", "", 6 * time.Hour, 0},
		{30, "30 - Unused", warning, 12 * time.Hour, 1},
		{43.5, "30 - Unused", "", 12 * time.Hour, 0},
		{44, "30 120 DeletionPlanned", warning, 12 * time.Hour, 1},
		{118.9, "30 120 DeletionPlanned", "", (2*time.Hour + 24*time.Minute), 0},
		{119, "30 120 DeletionImminent", warning, 12 * time.Hour, 1},
		{119.9, "30 120 DeletionImminent", "", (2*time.Hour + 24*time.Minute), 0},
	} {
		for i := range 2 {
			after := c.must(step.day)
			if c.marks() != step.marks || after.Round(time.Second) != step.after {
				t.Errorf("day %v: %s, next after %s", step.day, c.marks(), after)
			}
			if writes := step.writes * (1 - i); c.store.Count() != writes {
				t.Errorf("day %v, pass %d: it wrote %q", step.day, i, c.store.Writes())
			}
			if announced := c.announced(); i == 0 && announced != step.event || i == 1 && announced != "" {
				t.Errorf("day %v, pass %d: events %q", step.day, i, announced)
			}
		}
	}
	c.must(120)
	if diff := cmp.Diff([]string{"patch", "delete"}, c.store.Writes()); diff != "" || c.marks() != "gone" {
		t.Errorf("%s, %s", c.marks(), diff)
	}
	if announced := c.announced(); announced != warning {
		t.Errorf("events %q", announced)
	}
	if got := testutil.ToFloat64(c.deletions); got != 1 {
		t.Errorf("%v deletions are counted", got)
	}
	if after := c.must(121); after != 0 || c.store.Count() > 0 {
		t.Errorf("a project that has been deleted: next after %s, writes %q", after, c.store.Writes())
	}
}

func TestDryRunDeletesNothing(t *testing.T) {
	c := newCluster(t, testProject(marked(on(30), on(120))), testNamespace())
	c.policy.dryRun = true
	c.must(120)
	c.must(500)
	if c.marks() != "30 120 DryRun" || c.announced() != "Warning ProjectStale" || testutil.ToFloat64(c.deletions) != 0 {
		t.Errorf("%s", c.marks())
	}
	c.policy.dryRun = false
	c.must(501)
	if c.marks() != "gone" {
		t.Errorf("%s", c.marks())
	}
}

func TestUseRemovesTheMarks(t *testing.T) {
	for name, come := range map[string]func(*cluster){
		"used":   func(c *cluster) { c.use = "shoots" },
		"active": func(c *cluster) { c.change(active(on(100))) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, testProject(), testNamespace())
			c.must(30)
			c.must(44)
			c.announced()
			come(c)
			c.must(101)
			if !strings.HasPrefix(c.marks(), "- - ") || c.announced() != "Normal ProjectNotStale" {
				t.Errorf("%s", c.marks())
			}
			c.must(102)
			if c.store.Count() > 0 {
				t.Errorf("it writes again: %q", c.store.Writes())
			}
		})
	}
}

// change edits the Project and its status manually.
func (c *cluster) change(how func(*gardenerv1beta1.Project)) {
	c.t.Helper()
	project := c.project()
	how(project)
	status := project.Status
	if err := c.store.Update(c.t.Context(), project); err != nil {
		c.t.Fatal(err)
	}
	project.Status = status
	if err := c.store.Status().Update(c.t.Context(), project); err != nil {
		c.t.Fatal(err)
	}
}

// TestUnknownUseChangesNothing checks that, if the use of a project is unknown, no annotation is set, changed or removed.
func TestUnknownUseChangesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		since, autoDelete *metav1.Time
		policy            func(*policy)
	}{
		"nothing would be set":            {nil, nil, func(*policy) {}},
		"no date would be set":            {on(30), nil, func(*policy) {}},
		"the date would not be moved":     {on(30), on(120), func(p *policy) { p.expiration = 400 * day }},
		"the date would not be taken":     {on(30), on(120), func(p *policy) { p.gracePeriod = 400 * day }},
		"the project would not be erased": {on(30), on(120), func(*policy) {}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, testProject(marked(test.since, test.autoDelete)), testNamespace())
			test.policy(&c.policy)
			before := c.project()
			c.useErr = errors.New("list shoots: no response")
			if after := c.must(300); after != unknownPeriod {
				t.Errorf("it is tried again after %s", after)
			}
			if diff := cmp.Diff(before, c.project()); diff != "" || c.store.Count() > 0 || c.announced() != "" {
				t.Errorf("%q %s", c.store.Writes(), diff)
			}
			if got := testutil.ToFloat64(c.passes.WithLabelValues(outcomeUnknown)); got != 1 {
				t.Errorf("%v passes are counted as unknown", got)
			}
		})
	}
	c := newCluster(t, testProject(marked(on(30), on(120))), exempt("true"))
	c.useErr = errors.New("list shoots: no response")
	if c.must(300); c.marks() != "- - Exempt" {
		t.Errorf("an exempt project is not spared: %s", c.marks())
	}
}

func TestWhoIsNotConcernedIsLeftAlone(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"no name of a namespace": {testProject(marked(on(30), on(120)), func(p *gardenerv1beta1.Project) { p.Spec.Namespace = nil }), testNamespace()},
		"no namespace":           {testProject(marked(on(30), on(120)))},
		"another's namespace":    {testProject(marked(on(30), on(120))), testNamespace(gardenerv1beta1.AnnotationProjectUID, "2")},
		"paused":                 {testProject(marked(on(30), on(120)), func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} }), testNamespace()},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, objects...)
			if after := c.must(300); after != 12*time.Hour || c.store.Count() > 0 {
				t.Errorf("next after %s, writes %q", after, c.store.Writes())
			}
		})
	}
}
