// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// past are the ways to list an earlier state.
func past(version string) map[string]*internalversion.ListOptions {
	return map[string]*internalversion.ListOptions{
		"exact":           {ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		"exact, a page":   {ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact, Limit: 500},
		"version, a page": {ResourceVersion: version, Limit: 500},
	}
}

// lost is the outcome of a watch whose event lacks what was there before. An etcd registers a watch before it notes that the client wants
// the previous values, so that the first events of one from an earlier revision may lack them when the machine is busy. The watch ends with
// an error then, and clients begin another one.
const lost = "lost"

// outcomes returns the first outcomes of a watch, of another one after one that lost something.
func outcomes(t *testing.T, n int, begin func() (watch.Interface, error)) []string {
	t.Helper()
	for {
		w, err := begin()
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for len(found) < n && !slices.Contains(found, lost) {
			found = append(found, outcome(t, w))
		}
		w.Stop()
		if !slices.Contains(found, lost) {
			return found
		}
	}
}

// outcome returns an event of a watch in one line: its type and name, or "410" where the version has expired.
func outcome(t *testing.T, w watch.Interface) string {
	t.Helper()
	for event := range w.ResultChan() {
		switch {
		case event.Type == watch.Bookmark:
			continue
		case event.Type == watch.Error && apierrors.IsResourceExpired(apierrors.FromObject(event.Object)):
			return "410"
		case event.Type == watch.Error && strings.Contains(apierrors.FromObject(event.Object).Error(), "PrevKv=nil"):
			return lost
		}
		object := event.Object
		if shared, ok := object.(runtime.CacheableObject); ok {
			object = shared.GetObject()
		}
		project, ok := object.(*gardenerv1beta1.Project)
		if !ok {
			t.Fatalf("got %+v", event)
		}
		return string(event.Type) + " " + project.Name
	}
	return "end"
}

// What the members of an earlier state were allowed to read is not what a user is allowed to read.
func TestHistoryIsOfPresentMembers(t *testing.T) {
	for name, option := range map[string]func(*Options){
		"watch cache": func(*Options) {}, "etcd": func(o *Options) { o.Etcd.EnableWatchCache = false },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, option)
			start := m.create(t, "first", newMember("vera", "viewer"), newMember("max", "viewer"), groupOf("staff", "viewer"))
			m.create(t, "second", newMember("vera", "viewer"), newMember("max", "viewer"), groupOf("staff", "viewer"))
			version := m.caughtUp(t)
			_, page := m.listed(t, "vera", &internalversion.ListOptions{Limit: 1})
			if err := m.change(t, "root", "second", func(p *gardenerv1beta1.Project) {
				p.Spec.Members = []gardenerv1beta1.ProjectMember{newMember("max", "viewer")}
			}); err != nil {
				t.Fatal(err)
			}
			ways := past(version)
			ways["continue"] = &internalversion.ListOptions{Limit: 1, Continue: page.Continue}
			for user, test := range map[string]struct {
				who    string
				groups []string
				want   string
			}{
				"a removed member":                       {"vera", nil, "410"},
				"who joins a group after it was removed": {"sue", []string{"staff"}, "410"},
				"a member":                               {"max", nil, "second"},
				"who may get all projects":               {"root", nil, "second"},
				"who has never been a member":            {"zoe", []string{"other"}, "none"},
			} {
				for way, options := range ways {
					if got := m.last(t, options, test.who, test.groups...); got != test.want {
						t.Errorf("%s lists %s: got %q, want %q", user, way, got, test.want)
					}
				}
				want := map[string]string{"410": "410", "second": "ADDED second", "none": "end"}[test.want]
				got := outcomes(t, 1, func() (watch.Interface, error) {
					w, err := m.Watch(request(t, test.who, "watch", "", test.groups...), &internalversion.ListOptions{ResourceVersion: start.ResourceVersion})
					if err == nil && want == "end" {
						w.Stop()
					}
					return w, err
				})
				if got[0] != want {
					t.Errorf("%s watches from the version before: got %q, want %q", user, got[0], want)
				}
			}
		})
	}
}

// last returns the last name in a list of a user, "none", or "410" where the version has expired.
func (m members) last(t *testing.T, options *internalversion.ListOptions, who string, groups ...string) string {
	t.Helper()
	found, err := m.List(request(t, who, "list", "", groups...), options)
	switch {
	case apierrors.IsResourceExpired(err):
		return "410"
	case err != nil:
		t.Fatal(err)
	case len(found.(*gardenerv1beta1.ProjectList).Items) == 0:
		return "none"
	}
	items := found.(*gardenerv1beta1.ProjectList).Items
	return items[len(items)-1].Name
}

// A get of any version is one of the watch cache, which may not have the removal of a member yet.
func TestStoredMembersDecideAboutCached(t *testing.T) {
	m := newMembers(t)
	project := m.create(t, "dev")
	for range 20 {
		for _, with := range [][]gardenerv1beta1.ProjectMember{{newMember("vera", "viewer")}, nil} {
			if err := m.change(t, "root", "dev", func(p *gardenerv1beta1.Project) { p.Spec.Members = with }); err != nil {
				t.Fatal(err)
			}
			if with != nil {
				m.caughtUp(t)
			}
		}
		for _, version := range []string{"0", project.ResourceVersion} {
			if _, err := m.Get(request(t, "vera", "get", "dev"), "dev", &metav1.GetOptions{ResourceVersion: version}); !apierrors.IsForbidden(err) {
				t.Fatalf("a removed member gets version %q: %v", version, err)
			}
		}
	}
}
