// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// world is a project in a world in which anything may happen, with what the specification requires of it, kept apart from what the
// controller keeps: since when the passes found nothing, and the latest date that any of them promised.
type world struct {
	now     time.Time
	policy  policy
	project *gardenerv1beta1.Project
	used    bool
	exempt  bool

	// unusedSince is the first of the passes that found the project unused, without one in between that did not.
	unusedSince time.Time
	// promised is the latest date of those that were set since there is one.
	promised time.Time
	// announced is true when a reconciliation before this one wrote the date that is there.
	announced bool
}

// pass returns a check of the project by the controller, whose decision is written. It fails the test when the project would be
// deleted although the seed does not allow it. It reports whether it would be, and whether a date was moved.
func (w *world) pass(t *rapid.T) (deleted, moved bool) {
	use := ""
	if w.used {
		use = "shoots"
	}
	namespace := testNamespace()
	if w.exempt {
		namespace = exempt("true")
	}
	d := w.policy.decide(w.project, namespace, use, w.now)
	young := w.now.Before(birth.Add(w.policy.minimumLifetime))
	quiet := w.project.Status.LastActivityTimestamp == nil || !w.now.Before(w.project.Status.LastActivityTimestamp.Add(w.policy.minimumLifetime))
	if stale := !w.used && !w.exempt && !young && quiet; stale != d.stale {
		t.Fatalf("stale is %t: %+v", d.stale, d)
	}
	if d.stale && (w.unusedSince.IsZero() || w.unusedSince.After(w.now)) {
		w.unusedSince = w.now
	}
	if !d.stale {
		w.unusedSince = time.Time{}
	}
	graceIsOver := d.stale && !w.now.Before(w.unusedSince.Add(w.policy.gracePeriod))
	if graceIsOver != (d.autoDelete != nil) {
		t.Fatalf("the grace period of %s is over: %t, and there is the date %v", w.policy.gracePeriod, graceIsOver, d.autoDelete)
	}
	announced := w.announced && graceIsOver
	date := w.unusedSince.Add(w.policy.expiration)
	if notice := w.now.Add(w.policy.notice); w.policy.notice > 0 && w.promised.IsZero() && notice.After(date) {
		date = notice
	}
	if !graceIsOver {
		w.promised = time.Time{}
	} else if date.After(w.promised) {
		announced, moved, w.promised = false, w.announced, date
	}
	if graceIsOver && !d.autoDelete.Time.Equal(w.promised) {
		t.Fatalf("the date is %s, and %s was promised", d.autoDelete, w.promised)
	}
	if may := announced && !w.now.Before(w.promised) && !w.policy.dryRun; may != d.delete {
		t.Fatalf("it may be deleted: %t, and is: %t, at %s, since %s, promised for %s", may, d.delete, w.now, w.unusedSince, w.promised)
	}
	w.announced = graceIsOver
	w.project.Status = nextStatus(&w.project.Status, &d, w.now)
	again := w.policy.decide(w.project, namespace, use, w.now)
	if next := nextStatus(&w.project.Status, &again, w.now.Add(time.Second)); !equality.Semantic.DeepEqual(w.project.Status, next) {
		t.Fatalf("a second pass changes the status from %+v to %+v", w.project.Status, next)
	}
	return d.delete, moved
}

// TestNothingIsDeletedEarly checks that no sequence of configuration changes, clock steps in both directions, use and activity
// deletes a project earlier than documented, or retains it longer. The periods are short, so that much happens around each limit.
func TestNothingIsDeletedEarly(t *testing.T) {
	deletions, moved := 0, 0
	property := func(t *rapid.T) {
		days := func(t *rapid.T, label string, to int) time.Duration {
			return time.Duration(rapid.IntRange(0, to).Draw(t, label)) * day
		}
		w := &world{now: birth, policy: testPolicy(), project: testProject()}
		change := func(t *rapid.T) {
			w.policy.minimumLifetime, w.policy.gracePeriod = days(t, "minimum", 4), days(t, "grace", 6)
			w.policy.expiration = w.policy.gracePeriod + days(t, "more", 12)
			w.policy.notice = days(t, "notice", 3)
			w.policy.dryRun = rapid.IntRange(0, 9).Draw(t, "dryRun") == 0
		}
		change(t)
		for range rapid.IntRange(20, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 11).Draw(t, "what happens") {
			case 0:
				change(t)
			case 1:
				w.now = w.now.Add(-days(t, "the clock is set back", 3))
			case 2:
				switch rapid.IntRange(0, 5).Draw(t, "what comes between") {
				case 0:
					w.used = true
				case 1:
					w.exempt = true
				case 2:
					w.project.Status.LastActivityTimestamp = new(metav1.NewTime(w.now))
				default:
					w.used, w.exempt = false, false
				}
			case 3, 4:
				if date := w.project.Status.StaleAutoDeleteTimestamp; date != nil {
					w.now = date.Time
				}
			default:
				w.now = w.now.Add(time.Duration(rapid.IntRange(0, 3*24*3600).Draw(t, "seconds")) * time.Second)
			}
			deleted, later := w.pass(t)
			if deleted {
				deletions++
			}
			if later {
				moved++
			}
		}
	}
	// A few random worlds may happen to contain neither a deletion nor a moved date, and would prove nothing.
	for round := 0; round < 50 && (deletions == 0 || moved == 0); round++ {
		rapid.Check(t, property)
	}
	if deletions == 0 || moved == 0 {
		t.Errorf("%d projects were to be deleted, and %d dates were moved: the property was not tested", deletions, moved)
	}
}
