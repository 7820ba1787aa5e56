// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	storagemetrics "k8s.io/apiserver/pkg/storage/metrics"
	"k8s.io/component-base/metrics/legacyregistry"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// groupOf returns a group with a role.
func groupOf(name string, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: name}}
	m.SetRoles(roles)
	return m
}

// caughtUp waits until the watch cache has what is stored.
func (m members) caughtUp(t testing.TB) string {
	t.Helper()
	_, list := m.listed(t, "root", nil)
	return list.ResourceVersion
}

// fetched are how many Projects lists have taken from the index of readers.
func fetched(t *testing.T) float64 {
	t.Helper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() != "apiserver_storage_list_fetched_objects_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "index" && label.GetValue() == "f:groundskeeper.io/readers" {
					sum += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return sum
}

// A list takes from the watch cache what it returns, and no more.
func TestListsUseTheIndex(t *testing.T) {
	storagemetrics.Register()
	m := newMembers(t)
	for i := range 20 {
		var with []gardenerv1beta1.ProjectMember
		if i%10 == 0 {
			with = append(with, newMember("vera", "viewer"), groupOf("staff", "viewer"))
		}
		m.create(t, fmt.Sprintf("p%02d", i), with...)
	}
	for name, options := range map[string]*internalversion.ListOptions{
		"the latest":          nil,
		"any":                 {ResourceVersion: "0"},
		"a page":              {Limit: 500},
		"not older than":      {ResourceVersion: m.caughtUp(t), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		"not older, a page":   {ResourceVersion: m.caughtUp(t), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, Limit: 500},
		"any, a page ignored": {ResourceVersion: "0", Limit: 1},
	} {
		before := fetched(t)
		names, list := m.listed(t, "vera", options, "staff", "other")
		if !slices.Equal(names, []string{"p00", "p10"}) || list.Continue != "" || list.RemainingItemCount != nil {
			t.Errorf("%s: got %q, %+v", name, names, list.ListMeta)
		}
		if got := fetched(t) - before; got != 4 { // two by the name and two by a group
			t.Errorf("%s: took %v from the index", name, got)
		}
	}
	// More groups than lookups are worth.
	var many []string
	for i := range 100 {
		many = append(many, fmt.Sprint("group-", i))
	}
	before := fetched(t)
	if names, _ := m.listed(t, "sue", nil, append(many, "staff")...); !slices.Equal(names, []string{"p00", "p10"}) || fetched(t) != before {
		t.Errorf("a user in 100 groups: got %q, %v from the index", names, fetched(t)-before)
	}
}

// A list is the state of one resource version although it is made of several lookups: at every moment vera is allowed to get one of
// two Projects, as herself or by a group.
func TestIndexedListsAreConsistent(t *testing.T) {
	m := newMembers(t)
	m.create(t, "a", newMember("vera", "viewer"))
	m.create(t, "b")
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		for i := 0; ctx.Err() == nil; i++ {
			name, with := "b", []gardenerv1beta1.ProjectMember{groupOf("staff", "viewer")}
			if i%4 >= 2 {
				name, with = "a", []gardenerv1beta1.ProjectMember{newMember("vera", "viewer")}
			}
			if i%2 == 1 { // the other one is left when this one has been entered
				with = nil
				name = map[string]string{"a": "b", "b": "a"}[name]
			}
			if err := m.change(t, "root", name, func(p *gardenerv1beta1.Project) { p.Spec.Members = with }); err != nil && ctx.Err() == nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	var groups []string // so many that there are writes between the lookups of her name and of the group
	for i := range 50 {
		groups = append(groups, fmt.Sprint("other-", i))
	}
	for range 300 {
		for _, version := range []string{"", "0"} {
			if names, list := m.listed(t, "vera", &internalversion.ListOptions{ResourceVersion: version}, append(groups, "staff")...); len(names) == 0 {
				t.Fatalf("at %s vera sees nothing", list.ResourceVersion)
			}
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

// A watch that begins with the state continues with all changes since, whatever the client requested to begin with.
func TestWatchContinuesAfterItsState(t *testing.T) {
	m := newMembers(t)
	m.create(t, "mine", newMember("vera", "viewer"))
	m.create(t, "theirs")
	version := m.caughtUp(t)
	watches := map[string]watch.Interface{}
	for name, options := range map[string]*internalversion.ListOptions{
		"nothing": {}, "any": {ResourceVersion: "0"}, "initial events": {SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		"not older": {SendInitialEvents: new(true), ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
	} {
		w, err := m.Watch(request(t, "vera", "watch", ""), options)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Stop()
		watches[name] = w
	}
	for _, change := range []struct {
		name string
		with []gardenerv1beta1.ProjectMember
	}{{"theirs", []gardenerv1beta1.ProjectMember{newMember("vera", "viewer")}}, {"mine", nil}} {
		if err := m.change(t, "root", change.name, func(p *gardenerv1beta1.Project) { p.Spec.Members = change.with }); err != nil {
			t.Fatal(err)
		}
	}
	for name, w := range watches {
		for _, want := range []string{"ADDED mine 1", "ADDED theirs 1", "DELETED mine 1"} {
			if got := seen(t, w); got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
		w.Stop()
		w.Stop() // as often as one likes
		for range w.ResultChan() {
			t.Errorf("%s: an event after the end", name)
		}
	}
}
