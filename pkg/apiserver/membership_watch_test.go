// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// seen waits for the next event of a watch, and returns it without what bookmarks report.
func seen(t *testing.T, w watch.Interface) string {
	t.Helper()
	for {
		select {
		case event, open := <-w.ResultChan():
			if !open {
				t.Fatal("the watch has ended")
			}
			if event.Type == watch.Bookmark {
				continue
			}
			object := event.Object
			if shared, ok := object.(runtime.CacheableObject); ok { // by several watches
				object = shared.GetObject()
			}
			project, ok := object.(*gardenerv1beta1.Project)
			if !ok {
				t.Fatalf("got %+v", event)
			}
			return fmt.Sprint(event.Type, " ", project.Name, " ", len(project.Spec.Members))
		case <-t.Context().Done():
			t.Fatal("no event")
		}
	}
}

// TestWatchFollowsMembers checks that a watch reports a Project as added to new members and as deleted to removed ones, with the
// fields that they are allowed to see.
func TestWatchFollowsMembers(t *testing.T) {
	for name, option := range map[string]func(*Options){
		"watch cache": func(*Options) {}, "etcd": func(o *Options) { o.Etcd.EnableWatchCache = false },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, option)
			m.create(t, "theirs")
			m.create(t, "mine", newMember("vera", "viewer"))
			_, list := m.listed(t, "vera", nil)
			from := &internalversion.ListOptions{ResourceVersion: list.ResourceVersion}
			open := func(who string, groups ...string) watch.Interface {
				t.Helper()
				w, err := m.Watch(request(t, who, "watch", "", groups...), from)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(w.Stop)
				return w
			}
			vera, zoe, staff, root := open("vera"), open("zoe"), open("sue", "staff"), open("root")
			set := func(name string, with ...gardenerv1beta1.ProjectMember) {
				t.Helper()
				if err := m.change(t, "root", name, func(p *gardenerv1beta1.Project) { p.Spec.Members = with }); err != nil {
					t.Fatal(err)
				}
			}
			group := gardenerv1beta1.ProjectMember{Subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "staff"}, Role: "viewer"}
			set("theirs", newMember("vera", "uam"))
			set("theirs", newMember("vera", "uam"), group)
			set("theirs", newMember("zoe", "serviceaccountmanager"), group, newMember("anna", "admin"))
			set("mine")
			set("theirs")
			m.create(t, "last", newMember("vera"), newMember("zoe"), group)
			for what, test := range map[string]struct {
				watch watch.Interface
				want  []string
			}{
				"vera": {vera, []string{"ADDED theirs 1", "MODIFIED theirs 2", "DELETED theirs 2", "DELETED mine 1", "ADDED last 3"}},
				"zoe":  {zoe, []string{"ADDED last 3"}},
				"sue":  {staff, []string{"ADDED theirs 2", "MODIFIED theirs 3", "DELETED theirs 3", "ADDED last 3"}},
				"root": {root, []string{"MODIFIED theirs 1", "MODIFIED theirs 2", "MODIFIED theirs 3", "MODIFIED mine 0", "MODIFIED theirs 0", "ADDED last 3"}},
			} {
				for _, want := range test.want {
					if got := seen(t, test.watch); got != want {
						t.Errorf("%s: got %q, want %q", what, got, want)
					}
				}
			}
		})
	}
}

// TestInitialEventsAreOfMembers checks that a watch that begins with the state has the Projects of the user, and a bookmark at their end.
func TestInitialEventsAreOfMembers(t *testing.T) {
	m := newMembers(t)
	for i := range 4 {
		var with []gardenerv1beta1.ProjectMember
		if i%2 == 0 {
			with = append(with, newMember("vera", "viewer"))
		}
		m.create(t, fmt.Sprintf("p%d", i), with...)
	}
	w, err := m.Watch(request(t, "vera", "watch", ""), &internalversion.ListOptions{
		SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	var names []string
	for event := range w.ResultChan() {
		project := event.Object.(*gardenerv1beta1.Project)
		if event.Type == watch.Bookmark {
			if project.Annotations[metav1.InitialEventsAnnotationKey] != "true" {
				continue
			}
			break
		}
		names = append(names, project.Name)
	}
	if slices.Sort(names); strings.Join(names, " ") != "p0 p2" {
		t.Errorf("got %q", names)
	}
}
