// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// TestStaleProjects checks that an unused project becomes stale and is deleted, and that another one becomes fresh again by use and
// by activity.
func TestStaleProjects(t *testing.T) {
	t.Parallel()
	g := newGarden(t, startPlane(t, plane.Options{Dir: t.TempDir(), APIServers: 1}))
	absent, back := g.project(t, "gone"), g.project(t, "back")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: absent.NamespaceName()}}
	if err := g.client.Get(t.Context(), client.ObjectKeyFromObject(namespace), namespace); err != nil {
		t.Fatal(err)
	}

	g.pass(31)
	for _, project := range []*gardenerv1beta1.Project{absent, back} {
		g.stale(t, project, "True", "Unused", true, false)
		if since := project.Status.StaleSinceTimestamp; !since.Time.Equal(g.clock.Now().Truncate(time.Second)) {
			t.Errorf("project %s is stale since %s, and it is %s", project.Name, since, g.clock.Now())
		}
	}
	g.pass(14)
	for _, project := range []*gardenerv1beta1.Project{absent, back} {
		g.stale(t, project, "True", "DeletionPlanned", true, true)
		status := &project.Status
		if date := status.StaleSinceTimestamp.AddDate(0, 0, 90); !status.StaleAutoDeleteTimestamp.Time.Equal(date) {
			t.Errorf("project %s continues %s, not on %s", project.Name, status.StaleAutoDeleteTimestamp, date)
		}
	}

	// An object of the API server's time is older than an hour by now, so that it is use, but no activity.
	kluster := klusterIn(back.NamespaceName(), "k", "")
	if err := g.client.Create(t.Context(), kluster); err != nil {
		t.Fatal(err)
	}
	g.stale(t, back, "False", "InUse", false, false)
	if last := back.Status.LastActivityTimestamp; last != nil {
		t.Errorf("an object of long ago was activity on %s", last)
	}
	kluster.Spec.SSHPublicKey = "ssh-rsa AAAA"
	if err := g.client.Update(t.Context(), kluster); err != nil {
		t.Fatal(err)
	}
	g.activeNow(t, back)
	g.pass(20)
	if err := remove(t.Context(), g.client, kluster); err != nil {
		t.Fatal(err)
	}
	// Nothing here deletes what a Kluster consists of.
	if err := g.client.Patch(t.Context(), kluster, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	g.activeNow(t, back)
	g.stale(t, back, "False", "RecentlyActive", false, false)

	g.pass(55.5)
	g.stale(t, absent, "True", "DeletionImminent", true, true)
	g.stale(t, back, "True", "Unused", true, false) // once more, after 30 quiet days
	g.pass(0.5)
	g.absent(t, absent)
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, g.client, namespace) })
	g.warned(t, absent, "Unused", "DeletionPlanned", "DeletionImminent", "Delete")
}

// TestStaleNotice checks that a Project gets a notice before its deletion, however long it has been stale when it gets its date, and that
// it does not wait for a time that a clock has set that was ahead.
func TestStaleNotice(t *testing.T) {
	t.Parallel()
	g := newGarden(t, startPlane(t, plane.Options{Dir: t.TempDir(), APIServers: 1}))
	project := g.project(t, "noticed")

	g.pass(62)
	g.stale(t, project, "True", "Unused", true, false)
	g.pass(-22) // it was 22 days ahead
	eventually(t, func(ctx context.Context) error {
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if since, now := project.Status.StaleSinceTimestamp, g.clock.Now().Truncate(time.Second); since == nil || !since.Time.Equal(now) {
			return fmt.Errorf("project %s is stale since %s, want %s", project.Name, since, now)
		}
		return nil
	})

	g.pass(200) // as after a controller that was off: the expiration of 90 days has passed
	g.stale(t, project, "True", "DeletionPlanned", true, true)
	if date, want := project.Status.StaleAutoDeleteTimestamp, g.clock.Now().Add(7*24*time.Hour).Truncate(time.Second); !date.Time.Equal(want) {
		t.Errorf("project %s is deleted on %s, want %s", project.Name, date, want)
	}
	g.pass(6.5)
	g.stale(t, project, "True", "DeletionImminent", true, true)
	g.pass(0.5)
	g.absent(t, project)
}

// activeNow waits until a Project's last activity is now.
func (g *garden) activeNow(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := g.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		if last := project.Status.LastActivityTimestamp; last == nil || !last.Time.Equal(g.clock.Now().Truncate(time.Second)) {
			return fmt.Errorf("the last activity of project %s was on %s, and it is %s", project.Name, last, g.clock.Now())
		}
		return nil
	})
}

// warned waits until there is exactly one warning about a Project for each of the actions, with its planned date.
func (g *garden) warned(t *testing.T, project *gardenerv1beta1.Project, actions ...string) {
	t.Helper()
	date := project.Status.StaleAutoDeleteTimestamp.UTC().Format(time.RFC3339)
	eventually(t, func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := g.client.List(ctx, events, client.MatchingFields{"involvedObject.name": project.Name, "reason": "ProjectStale"}); err != nil {
			return err
		}
		seen := map[string]int{}
		for _, event := range events.Items {
			if event.Type == corev1.EventTypeWarning && strings.Contains(event.Message, date) {
				seen[event.Action]++
			}
		}
		want := map[string]int{}
		for _, action := range actions {
			want[action] = 1
		}
		return diffError(want, seen)
	})
}
