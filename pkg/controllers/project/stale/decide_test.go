// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// birth is when the project of these tests was created.
var birth = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// at returns a time so many days after the birth.
func at(days float64) time.Time { return birth.Add(time.Duration(days * float64(day))) }

func on(days float64) *metav1.Time { return new(metav1.NewTime(at(days))) }

// testPolicy returns the default one.
func testPolicy(change ...func(*policy)) policy {
	p := policy{minimumLifetime: 30 * day, gracePeriod: 14 * day, expiration: 90 * day, notice: 7 * day, syncPeriod: 12 * time.Hour}
	for _, f := range change {
		f(&p)
	}
	return p
}

func testProject(change ...func(*gardenerv1beta1.Project)) *gardenerv1beta1.Project {
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: "dev", UID: "1", CreationTimestamp: metav1.NewTime(birth)},
		Spec:       gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev")},
	}
	for _, f := range change {
		f(project)
	}
	return project
}

func marked(since, autoDelete *metav1.Time) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) {
		p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = since, autoDelete
	}
}

func active(last *metav1.Time) func(*gardenerv1beta1.Project) {
	return func(p *gardenerv1beta1.Project) { p.Status.LastActivityTimestamp = last }
}

func testNamespace(annotations ...string) *corev1.Namespace {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden-dev",
		Labels:      map[string]string{gardenerv1beta1.LabelProjectName: "dev"},
		Annotations: map[string]string{gardenerv1beta1.AnnotationProjectUID: "1"}}}
	for i := 0; i+1 < len(annotations); i += 2 {
		namespace.Annotations[annotations[i]] = annotations[i+1]
	}
	return namespace
}

func exempt(value string) *corev1.Namespace {
	return testNamespace(gardenerv1beta1.AnnotationSkipStaleCheck, value)
}

func TestNewPolicy(t *testing.T) {
	config := configv1alpha1.ProjectControllerConfiguration{
		MinimumLifetimeDays: new(int32(30)), StaleGracePeriodDays: new(int32(14)), StaleExpirationTimeDays: new(int32(90)), StaleNoticeDays: new(int32(7)),
		StaleSyncPeriod: &metav1.Duration{Duration: 12 * time.Hour}, StaleDryRun: new(true),
	}
	if diff := cmp.Diff(testPolicy(func(p *policy) { p.dryRun = true }), newPolicy(config), cmp.AllowUnexported(policy{})); diff != "" {
		t.Error(diff)
	}
}

func TestIsConcerned(t *testing.T) {
	for name, test := range map[string]struct {
		project   *gardenerv1beta1.Project
		namespace *corev1.Namespace
		want      bool
	}{
		"a project with its namespace": {testProject(), testNamespace(), true},
		"being deleted":                {testProject(func(p *gardenerv1beta1.Project) { p.DeletionTimestamp = on(1) }), testNamespace(), false},
		"paused":                       {testProject(func(p *gardenerv1beta1.Project) { p.Annotations = map[string]string{kit.AnnotationPaused: "true"} }), testNamespace(), false},
		"no namespace":                 {testProject(), nil, false},
		"a namespace of no client":     {testProject(), &corev1.Namespace{}, false},
		"a namespace of another":       {testProject(), testNamespace(gardenerv1beta1.AnnotationProjectUID, "2"), false},
		"a namespace being deleted": {testProject(), func() *corev1.Namespace {
			n := testNamespace()
			n.DeletionTimestamp = on(1)
			return n
		}(), false},
	} {
		if got := isConcerned(test.project, test.namespace); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestDecide checks each rule with a case that fails without it. Days are counted from the creation of the project.
func TestDecide(t *testing.T) {
	grace := func(days int) policy {
		return testPolicy(func(p *policy) { p.gracePeriod = time.Duration(days) * day })
	}
	expiration := func(days int) policy {
		return testPolicy(func(p *policy) { p.expiration = time.Duration(days) * day })
	}
	lifetime := func(days int) policy {
		return testPolicy(func(p *policy) { p.minimumLifetime = time.Duration(days) * day })
	}
	notice := func(days int) policy {
		return testPolicy(func(p *policy) { p.notice = time.Duration(days) * day })
	}
	const half = 12 * time.Hour
	second := 1 / (24 * 3600.0)
	for name, test := range map[string]struct {
		policy    policy
		project   *gardenerv1beta1.Project
		namespace *corev1.Namespace
		use       string
		now       float64
		want      decision
	}{
		"exempt":                             {namespace: exempt("true"), now: 100, want: decision{reason: reasonExempt, after: half}},
		"exempt in another spelling":         {namespace: exempt("True"), now: 100, want: decision{reason: reasonExempt, after: half}},
		"exempt takes the marks away":        {project: testProject(marked(on(40), on(130))), namespace: exempt("true"), now: 140, want: decision{reason: reasonExempt, after: half}},
		"not exempt":                         {namespace: exempt("false"), now: 100, want: decision{stale: true, reason: reasonUnused, since: on(100), after: half}},
		"no word to exempt":                  {namespace: exempt("please"), now: 100, want: decision{stale: true, reason: reasonUnused, since: on(100), after: half}},
		"younger than the minimum":           {now: 29, want: decision{reason: reasonTooYoung, after: half}},
		"younger by a second":                {now: 30 - second, want: decision{reason: reasonTooYoung, after: soon}},
		"as old as the minimum":              {now: 30, want: decision{stale: true, reason: reasonUnused, since: on(30), after: half}},
		"the clock was before its creation":  {now: -1, want: decision{reason: reasonTooYoung, after: half}},
		"minimum raised, no date":            {policy: lifetime(60), project: testProject(marked(on(31), nil)), now: 35, want: decision{reason: reasonTooYoung, after: half}},
		"minimum raised, with a date":        {policy: lifetime(200), project: testProject(marked(on(31), on(121))), now: 122, want: decision{reason: reasonTooYoung, after: half}},
		"minimum lowered":                    {policy: lifetime(5), now: 6, want: decision{stale: true, reason: reasonUnused, since: on(6), after: half}},
		"minimum zero":                       {policy: lifetime(0), now: 0, want: decision{stale: true, reason: reasonUnused, since: on(0), after: half}},
		"recently active":                    {project: testProject(active(on(80))), now: 100, want: decision{reason: reasonRecentlyActive, after: half}},
		"active a while ago":                 {project: testProject(active(on(70))), now: 100, want: decision{stale: true, reason: reasonUnused, since: on(100), after: half}},
		"activity takes the marks away":      {project: testProject(active(on(139)), marked(on(40), on(130))), now: 140, want: decision{reason: reasonRecentlyActive, after: half}},
		"activity of the future":             {project: testProject(active(on(200))), now: 100, want: decision{reason: reasonRecentlyActive, after: half}},
		"in use":                             {use: "shoots", now: 100, want: decision{reason: reasonInUse, after: half}},
		"use takes the marks away":           {use: "shoots", project: testProject(marked(on(40), on(130))), now: 140, want: decision{reason: reasonInUse, after: half}},
		"stale since the first time":         {project: testProject(marked(on(40), nil)), now: 50, want: decision{stale: true, reason: reasonUnused, since: on(40), after: half}},
		"in the grace period, nearly over":   {project: testProject(marked(on(40), nil)), now: 54 - second, want: decision{stale: true, reason: reasonUnused, since: on(40), after: soon}},
		"the grace period is over":           {project: testProject(marked(on(40), nil)), now: 54, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"a date stays":                       {project: testProject(marked(on(40), on(130))), now: 100, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"grace raised, no date":              {policy: grace(60), project: testProject(marked(on(40), nil)), now: 60, want: decision{stale: true, reason: reasonUnused, since: on(40), after: half}},
		"grace raised takes the date back":   {policy: grace(60), project: testProject(marked(on(40), on(130))), now: 60, want: decision{stale: true, reason: reasonUnused, since: on(40), after: half}},
		"grace raised, but over too":         {policy: grace(60), project: testProject(marked(on(40), on(130))), now: 110, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"grace lowered":                      {policy: grace(2), project: testProject(marked(on(40), nil)), now: 43, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"grace zero":                         {policy: grace(0), now: 40, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"expiration raised, no date":         {policy: expiration(200), project: testProject(marked(on(40), nil)), now: 60, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(240), after: half}},
		"expiration raised moves the date":   {policy: expiration(200), project: testProject(marked(on(40), on(130))), now: 60, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(240), after: half}},
		"raised when it was to go":           {policy: expiration(200), project: testProject(marked(on(40), on(130))), now: 131, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(240), after: half}},
		"expiration lowered, no date":        {policy: expiration(20), project: testProject(marked(on(40), nil)), now: 55, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(62), after: half}},
		"expiration lowered, date stays":     {policy: expiration(20), project: testProject(marked(on(40), on(130))), now: 100, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"more than a day":                    {project: testProject(marked(on(40), on(130))), now: 129 - second, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: soon}},
		"the last day":                       {project: testProject(marked(on(40), on(130))), now: 129, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), after: half}},
		"the last second":                    {project: testProject(marked(on(40), on(130))), now: 130 - second, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), after: soon}},
		"the date":                           {project: testProject(marked(on(40), on(130))), now: 130, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), delete: true, after: soon}},
		"long after the date":                {project: testProject(marked(on(40), on(130))), now: 500, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), delete: true, after: soon}},
		"a new date that is over":            {project: testProject(marked(on(40), nil)), now: 500, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(507), after: half}},
		"a new date in less than the notice": {project: testProject(marked(on(40), nil)), now: 125, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(132), after: half}},
		"a new date in the notice":           {project: testProject(marked(on(40), nil)), now: 123, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(130), after: half}},
		"a date is not postponed again":      {project: testProject(marked(on(40), on(507))), now: 501, want: decision{stale: true, reason: reasonDeletionPlanned, since: on(40), autoDelete: on(507), after: half}},
		"no notice":                          {policy: notice(0), project: testProject(marked(on(40), nil)), now: 500, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), after: soon}},
		"a date without a beginning":         {policy: testPolicy(func(p *policy) { p.gracePeriod, p.expiration = 0, 0 }), project: testProject(marked(nil, on(130))), now: 131, want: decision{stale: true, reason: reasonDeletionImminent, since: on(131), autoDelete: on(131), after: soon}},
		"a beginning in the future":          {project: testProject(marked(on(200), on(130))), now: 140, want: decision{stale: true, reason: reasonUnused, since: on(140), after: half}},
		"dry run, before the date":           {policy: testPolicy(func(p *policy) { p.dryRun = true }), project: testProject(marked(on(40), on(130))), now: 129, want: decision{stale: true, reason: reasonDeletionImminent, since: on(40), autoDelete: on(130), after: half}},
		"dry run deletes nothing":            {policy: testPolicy(func(p *policy) { p.dryRun = true }), project: testProject(marked(on(40), on(130))), now: 200, want: decision{stale: true, reason: reasonDryRun, since: on(40), autoDelete: on(130), after: half}},
		"young, even with a date and unused": {project: testProject(marked(on(1), on(2))), now: 3, want: decision{reason: reasonTooYoung, after: half}},
	} {
		t.Run(name, func(t *testing.T) {
			p, project, namespace := test.policy, test.project, test.namespace
			if p == (policy{}) {
				p = testPolicy()
			}
			if project == nil {
				project = testProject()
			}
			if namespace == nil {
				namespace = testNamespace()
			}
			got := p.decide(project, namespace, test.use, at(test.now))
			options := []cmp.Option{cmp.AllowUnexported(decision{}), cmpopts.IgnoreFields(decision{}, "message")}
			if diff := cmp.Diff(test.want, got, options...); diff != "" {
				t.Error(diff)
			}
			if got.message == "" {
				t.Error("there is no message")
			}
		})
	}
}

// TestMessages checks that a message changes only with what it refers to, so that reconciliations do not write continuously.
func TestMessages(t *testing.T) {
	project := testProject(marked(on(40), on(130)))
	for _, test := range []struct {
		policy policy
		days   []float64
		want   string
	}{
		{testPolicy(), []float64{60, 100, 129.5, 131}, `nothing uses the project since 2030-02-10T00:00:00Z: it is deleted on 2030-05-11T00:00:00Z, ` +
			`unless it is used or namespace "garden-dev" gets the annotation project.gardener.cloud/skip-stale-check=true`},
		{testPolicy(func(p *policy) { p.dryRun = true }), []float64{60, 131}, `nothing uses the project since 2030-02-10T00:00:00Z: it would be (staleDryRun is enabled) deleted on 2030-05-11T00:00:00Z, ` +
			`unless it is used or namespace "garden-dev" gets the annotation project.gardener.cloud/skip-stale-check=true`},
	} {
		for _, days := range test.days {
			if diff := cmp.Diff(test.want, test.policy.decide(project, testNamespace(), "", at(days)).message); diff != "" {
				t.Errorf("day %v:\n%s", days, diff)
			}
		}
	}
	young := testPolicy().decide(testProject(), testNamespace(), "", at(1))
	if young.message != "the project is younger than 30 days" {
		t.Errorf("got %q", young.message)
	}
	if used := testPolicy().decide(testProject(), testNamespace(), "shoots.core.gardener.cloud", at(100)); used.message != "the project has shoots.core.gardener.cloud in use" {
		t.Errorf("got %q", used.message)
	}
}
