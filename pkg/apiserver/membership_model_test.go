// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/registry/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// model is a random state of Projects and users.
type model struct {
	random   *rand.Rand
	users    []*user.DefaultInfo
	subjects []rbacv1.Subject
}

func newModel(t *testing.T) *model {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var users []*user.DefaultInfo
	for name, groups := range map[string][]string{"anna": nil, "ben": {"staff"}, "cleo": {"staff", "anna"}, "system:serviceaccount:ci:robot": {"system:serviceaccounts"}, "zoe": {"x", "y", "z"}} {
		users = append(users, &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)})
	}
	return &model{random: rand.New(rand.NewPCG(seed, 0)), users: users, subjects: []rbacv1.Subject{
		userSubject("anna"), userSubject("ben"), groupOf("staff").Subject, groupOf("anna").Subject,
		groupOf("y").Subject, {Kind: rbacv1.ServiceAccountKind, Namespace: "ci", Name: "robot"},
	}}
}

// spec returns random members and an owner, or none.
func (m *model) spec() (*rbacv1.Subject, []gardenerv1beta1.ProjectMember) {
	roles := []string{"admin", "uam", "viewer", "serviceaccountmanager", "extension:deploy"}
	var owner *rbacv1.Subject
	if m.random.IntN(3) > 0 {
		owner = new(m.subjects[m.random.IntN(len(m.subjects))])
	}
	var with []gardenerv1beta1.ProjectMember
	for _, i := range m.random.Perm(len(m.subjects))[:m.random.IntN(4)] {
		member := gardenerv1beta1.ProjectMember{Subject: m.subjects[i]}
		member.SetRoles([]string{roles[m.random.IntN(len(roles))]})
		with = append(with, member)
	}
	return owner, with
}

// set gives a Project random members.
func (m *model) set(t testing.TB, on members, name string) {
	t.Helper()
	owner, with := m.spec()
	if err := on.change(t, "root", name, func(p *gardenerv1beta1.Project) { p.Spec.Owner, p.Spec.Members = owner, with }); err != nil {
		t.Fatal(err)
	}
}

// Every way to see Projects has exactly those that get allows, with every selector, and the ways to change them are closed to all
// others.
func TestEveryWayAgreesWithGet(t *testing.T) {
	for name, option := range map[string]func(*Options){
		"watch cache": func(*Options) {}, "etcd": func(o *Options) { o.Etcd.EnableWatchCache = false },
	} {
		t.Run(name, func(t *testing.T) {
			m, model := newMembers(t, option), newModel(t)
			for i := range 8 {
				m.create(t, fmt.Sprint("p", i))
			}
			for range 5 {
				for i := range 8 {
					model.set(t, m, fmt.Sprint("p", i))
				}
				m.caughtUp(t)
				for _, who := range model.users {
					m.compare(t, who)
				}
			}
		})
	}
}

// compare compares every way to reach Projects with the permission to get them.
func (m members) compare(t *testing.T, who *user.DefaultInfo) {
	t.Helper()
	groups := slices.Clone(who.Groups)
	_, all := m.listed(t, "root", nil)
	want := []string{}
	for i := range all.Items {
		project := &all.Items[i]
		readable := membership.Allows(project, who, "get")
		if readable {
			want = append(want, project.Name)
		}
		one := []string{}
		if readable {
			one = append(one, project.Name)
		}
		for field, value := range map[string]string{"metadata.name": project.Name, "spec.namespace": project.NamespaceName()} {
			options := &internalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector(field, value)}
			if got, _ := m.listed(t, who.Name, options, groups...); !slices.Equal(got, one) {
				t.Errorf("%s lists %s=%s: got %q, want %q", who.Name, field, value, got, one)
			}
			options.SendInitialEvents, options.AllowWatchBookmarks, options.ResourceVersionMatch = new(true), true, metav1.ResourceVersionMatchNotOlderThan
			if m.cached {
				if got := m.state(t, who, options); !slices.Equal(got, one) {
					t.Errorf("%s watches %s=%s: got %q, want %q", who.Name, field, value, got, one)
				}
			}
		}
		for _, verb := range []string{"get", "update", "patch", "delete"} {
			m.attempt(t, who, verb, project)
		}
	}
	for what, options := range map[string]*internalversion.ListOptions{
		"the latest": nil, "any": {ResourceVersion: "0"}, "exact": {ResourceVersion: all.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact},
		"not older": {ResourceVersion: all.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
		"not equal": {FieldSelector: fields.OneTermNotEqualSelector("metadata.name", "other")},
	} {
		if got, _ := m.listed(t, who.Name, options, groups...); !slices.Equal(got, want) {
			t.Errorf("%s lists %s: got %q, want %q", who.Name, what, got, want)
		}
	}
	paged := []string{}
	for options := (&internalversion.ListOptions{Limit: 1}); ; {
		names, page := m.listed(t, who.Name, options, groups...)
		if paged = append(paged, names...); page.Continue == "" {
			break
		}
		if start := startOf(t, page.Continue); len(names) == 0 || start != names[len(names)-1] {
			t.Errorf("%s: the token after %q begins at %q", who.Name, names, start)
		}
		options.Continue = page.Continue
	}
	if !slices.Equal(paged, want) {
		t.Errorf("%s lists in pages: got %q, want %q", who.Name, paged, want)
	}
	if _, err := m.DeleteCollection(request(t, who.Name, "deletecollection", "", groups...), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, nil); !apierrors.IsForbidden(err) {
		t.Errorf("%s deletes all: %v", who.Name, err)
	}
	if m.cached {
		for what, options := range map[string]*internalversion.ListOptions{
			"with initial events": {SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan},
			"of any version":      {SendInitialEvents: new(true), AllowWatchBookmarks: true, ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan, ResourceVersion: "0"},
		} {
			if got := m.state(t, who, options); !slices.Equal(got, want) {
				t.Errorf("%s watches %s: got %q, want %q", who.Name, what, got, want)
			}
		}
	}
}

// startOf returns the name that a continue token has in clear text: the next page begins after it.
func startOf(t *testing.T, token string) string {
	t.Helper()
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		t.Fatal(err)
	}
	var content struct{ Start string }
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return strings.Trim(content.Start, "/\x00")
}

// attempt makes a request for a Project to the storage, as a dry run: a server whose authorizer allowed everything would still reject it.
func (m members) attempt(t *testing.T, who *user.DefaultInfo, verb string, project *gardenerv1beta1.Project) {
	t.Helper()
	ctx := request(t, who.Name, verb, project.Name, who.Groups...)
	var err error
	switch verb {
	case "get":
		_, err = m.Get(ctx, project.Name, &metav1.GetOptions{})
	case "delete":
		_, _, err = m.Delete(ctx, project.Name, nil, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
	default: // a server-side apply is a patch, of an object that it may have to create
		same := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
			return old.DeepCopyObject(), nil
		})
		_, _, err = m.Update(ctx, project.Name, same, rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, verb == "patch", &metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	if allowed := membership.Allows(project, who, verb); allowed && err != nil || !allowed && !apierrors.IsForbidden(err) {
		t.Errorf("%s may %s %s: %v; want %v", who.Name, verb, project.Name, err, allowed)
	}
}

// state returns the names of the Projects that a watch begins with, in their order.
func (m members) state(t *testing.T, who *user.DefaultInfo, options *internalversion.ListOptions) []string {
	t.Helper()
	w, err := m.Watch(request(t, who.Name, "watch", "", who.Groups...), options)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	names := []string{}
	for event := range w.ResultChan() {
		project, ok := event.Object.(*gardenerv1beta1.Project)
		if !ok {
			t.Fatalf("got %+v", event)
		}
		if event.Type == watch.Bookmark {
			if project.Annotations[metav1.InitialEventsAnnotationKey] == "true" {
				slices.Sort(names)
				return names
			}
			continue
		}
		names = append(names, project.Name)
	}
	t.Fatal("the watch has ended before its state")
	return nil
}

// Two replicas: the authorizer of one decides with any earlier state, its storage with what is stored. Together they allow nothing that
// neither state allows, and nothing that is no longer allowed to those who change something.
func TestReplicaBehind(t *testing.T) {
	database := etcdtest.Run(t)
	shared := func(o *Options) { o.Etcd.StorageConfig.Transport.ServerList = database.Endpoints() }
	ahead, behind := newMembers(t, shared), newMembers(t, shared)
	states, model := []*gardenerv1beta1.Project{ahead.create(t, "dev")}, newModel(t)
	read := func() *gardenerv1beta1.Project {
		t.Helper()
		stored, err := ahead.Get(request(t, "root", "get", "dev"), "dev", &metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return stored.(*gardenerv1beta1.Project)
	}
	allowed := 0
	for range 25 {
		model.set(t, ahead, "dev")
		states = append(states, read())
		stored := states[len(states)-1]
		old := states[model.random.IntN(len(states))]
		a := membership.NewAuthorizer(openRBAC{}, func(context.Context, string) (*gardenerv1beta1.Project, error) { return old, nil })
		for _, who := range model.users {
			for _, verb := range []string{"get", "update", "delete"} {
				decision, _, err := a.Authorize(t.Context(), authorizer.AttributesRecord{
					User: who, Verb: verb, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1", Resource: "projects", Name: "dev", ResourceRequest: true,
				})
				if err != nil {
					t.Fatal(err)
				}
				behind.attempt(t, who, verb, stored) // the storage decides with what is stored, whatever its cache has
				if decision == authorizer.DecisionAllow && !membership.Allows(old, who, verb) {
					t.Errorf("%s may %s by a state that does not allow it", who.Name, verb)
				}
				if decision == authorizer.DecisionAllow && membership.Allows(stored, who, verb) {
					allowed++
				}
			}
			// A list of a replica that is behind is that of one state, which its version names.
			got, list := behind.listed(t, who.Name, &internalversion.ListOptions{ResourceVersion: "0"}, who.Groups...)
			if len(got) > 0 && !membership.Allows(&list.Items[0], who, "get") {
				t.Errorf("%s lists what no state allows: %+v", who.Name, list.Items[0].Spec)
			}
		}
	}
	if allowed == 0 {
		t.Error("nothing was allowed")
	}
}
