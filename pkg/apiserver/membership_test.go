// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"
	basecompatibility "k8s.io/component-base/compatibility"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/membership"
	"groundskeeper.io/groundskeeper/test/support/etcdtest"
)

// openRBAC lets all users through to Projects, as artifacts/membership does, and root to those of others. It fails for ghost.
type openRBAC struct{}

func (openRBAC) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	switch {
	case a.GetUser().GetName() == "ghost" && a.GetSubresource() == membership.Any:
		return authorizer.DecisionNoOpinion, "", errors.New("RBAC is unavailable")
	case a.GetSubresource() == membership.Any && a.GetUser().GetName() != "root":
		return authorizer.DecisionNoOpinion, "", nil
	default:
		return authorizer.DecisionAllow, "", nil
	}
}

func (r openRBAC) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return authorizer.ConditionsAwareDecisionFromParts(r.Authorize(ctx, a))
}

func (openRBAC) EvaluateConditions(context.Context, authorizer.ConditionsAwareDecision, authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return authorizer.DecisionNoOpinion, "", nil
}

// members are the Projects of a server in the mode membership, with its watch cache on a real etcd.
type members struct {
	*membership.Storage
	authorizer authorizer.Authorizer
	cached     bool // whether there is a watch cache
}

func newMembers(t testing.TB, options ...func(*Options)) members {
	t.Helper()
	if err := setGates(); err != nil {
		t.Fatal(err)
	}
	a, err := newAPI()
	if err != nil {
		t.Fatal(err)
	}
	o := NewOptions()
	o.Etcd.StorageConfig.Transport.ServerList = etcdtest.Run(t).Endpoints()
	o.Etcd.SkipHealthEndpoints = true
	for _, option := range options {
		option(o)
	}
	a.membership = membership.NewServer(o.Etcd.EnableWatchCache)
	config := genericapiserver.NewRecommendedConfig(a.codecs)
	config.EffectiveVersion = o.ServerRun.ComponentGlobalsRegistry.EffectiveVersionFor(basecompatibility.DefaultKubeComponent)
	if err := o.applyStorage(a, config, nil); err != nil {
		t.Fatal(err)
	}
	m := members{authorizer: a.membership.Authorize(openRBAC{}), cached: o.Etcd.EnableWatchCache}
	projects, err := a.projects(config.RESTOptionsGetter)
	if err != nil {
		t.Fatal(err)
	}
	m.Storage = projects["projects"].(*membership.Storage)
	t.Cleanup(m.Destroy)
	for deadline := time.Now().Add(time.Minute); ; {
		if err = m.ReadinessCheck(); err == nil {
			return m
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// request returns the context of a request by a user.
func request(t testing.TB, who, verb, name string, groups ...string) context.Context {
	t.Helper()
	ctx := genericapirequest.WithUser(genericapirequest.WithNamespace(t.Context(), ""), &user.DefaultInfo{Name: who, Groups: append(groups, user.AllAuthenticated)})
	return genericapirequest.WithRequestInfo(ctx, &genericapirequest.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1", Resource: "projects", Name: name,
	})
}

func userSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// newMember returns a user with roles.
func newMember(name string, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: userSubject(name)}
	m.SetRoles(roles)
	return m
}

// create creates a Project that olivia owns.
func (m members) create(t testing.TB, name string, with ...gardenerv1beta1.ProjectMember) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"name": name}},
		Spec:       gardenerv1beta1.ProjectSpec{Owner: new(userSubject("olivia")), Members: with},
	}
	created, err := m.Create(request(t, "root", "create", ""), project, nil, &metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return created.(*gardenerv1beta1.Project)
}

// change changes a Project as a user.
func (m members) change(t testing.TB, who, name string, how func(*gardenerv1beta1.Project)) error {
	t.Helper()
	next := rest.DefaultUpdatedObjectInfo(nil, func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		project := old.DeepCopyObject().(*gardenerv1beta1.Project)
		how(project)
		return project, nil
	})
	_, _, err := m.Update(request(t, who, "update", name), name, next, nil, nil, false, &metav1.UpdateOptions{})
	return err
}

// listed returns the names in a list of a user.
func (m members) listed(t testing.TB, who string, options *internalversion.ListOptions, groups ...string) ([]string, *gardenerv1beta1.ProjectList) {
	t.Helper()
	found, err := m.List(request(t, who, "list", "", groups...), options)
	if err != nil {
		t.Fatal(err)
	}
	list := found.(*gardenerv1beta1.ProjectList)
	names := []string{}
	for i := range list.Items {
		names = append(names, list.Items[i].Name)
	}
	return names, list
}

func TestMembersSeeTheirProjects(t *testing.T) {
	for name, option := range map[string]func(*Options){
		"watch cache": func(*Options) {}, "etcd": func(o *Options) { o.Etcd.EnableWatchCache = false },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMembers(t, option)
			for i := range 9 {
				var with []gardenerv1beta1.ProjectMember
				if i%3 == 0 {
					with = append(with, newMember("vera", "viewer"))
				}
				with = append(with, newMember("sam", "serviceaccountmanager", "extension:deploy"))
				m.create(t, fmt.Sprintf("p%d", i), with...)
			}
			list := func(who string, options *internalversion.ListOptions, want ...string) *gardenerv1beta1.ProjectList {
				t.Helper()
				names, list := m.listed(t, who, options)
				if !slices.Equal(names, want) {
					t.Errorf("%s, %+v: got %q, want %q", who, options, names, want)
				}
				return list
			}
			all := []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8"}
			whole := list("root", nil, all...)
			list("olivia", nil, all...)
			mine := list("vera", nil, "p0", "p3", "p6")
			list("vera", &internalversion.ListOptions{ResourceVersion: "0"}, "p0", "p3", "p6")
			list("zoe", nil)
			list("sam", nil) // what get does not allow is in no list
			if mine.ResourceVersion != whole.ResourceVersion {
				t.Errorf("resource versions %s and %s of the same state", mine.ResourceVersion, whole.ResourceVersion)
			}
			for i := range mine.Items {
				if len(mine.Items[i].Spec.Members) != 2 {
					t.Errorf("not the whole object: %+v", mine.Items[i])
				}
			}

			// A selector narrows the list, and reveals nothing of others.
			list("vera", &internalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"name": "p3"})}, "p3")
			list("vera", &internalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"name": "p4"})})
			for name, want := range map[string][]string{"p3": {"p3"}, "p4": nil, "missing": nil} {
				options := &internalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name)}
				list("vera", options, want...)
				if name != "missing" {
					list("root", options, name)
				}
			}
			namespace := whole.Items[4].NamespaceName()
			list("vera", &internalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.namespace", namespace)})
			list("root", &internalversion.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.namespace", namespace)}, "p4")

			// Chunks: neither a number nor a token reveals that there are others.
			page := list("vera", &internalversion.ListOptions{Limit: 2}, "p0", "p3")
			if page.Continue == "" || page.RemainingItemCount != nil {
				t.Errorf("first page: continue %q, remaining %v", page.Continue, page.RemainingItemCount)
			}
			page = list("vera", &internalversion.ListOptions{Limit: 2, Continue: page.Continue}, "p6")
			if page.Continue != "" || page.RemainingItemCount != nil {
				t.Errorf("last page: continue %q, remaining %v", page.Continue, page.RemainingItemCount)
			}
			page = list("vera", &internalversion.ListOptions{Limit: 3}, "p0", "p3", "p6")
			if page.Continue != "" {
				t.Error("a token reveals projects of others")
			}
			if page = list("zoe", &internalversion.ListOptions{Limit: 1}); page.Continue != "" || page.RemainingItemCount != nil {
				t.Error("a page without items reveals projects of others")
			}
		})
	}
}

func TestMembersChangeWhatTheirRolesAllow(t *testing.T) {
	m := newMembers(t)
	m.create(t, "dev", newMember("vera", "viewer"), newMember("anna", "admin"), newMember("ugo", "uam"))
	edit := func(p *gardenerv1beta1.Project) { p.Spec.Description = new("x" + p.ResourceVersion) }
	for who, want := range map[string]struct{ get, update, remove bool }{
		"olivia": {true, true, true}, "anna": {true, true, true}, "ugo": {true, true, false}, "vera": {true, false, false}, "zoe": {}, "root": {true, true, true},
	} {
		check := func(what string, err error, allowed bool) {
			t.Helper()
			if allowed && err != nil || !allowed && !apierrors.IsForbidden(err) {
				t.Errorf("%s, %s: %v", who, what, err)
			}
		}
		_, err := m.Get(request(t, who, "get", "dev"), "dev", &metav1.GetOptions{})
		check("get", err, want.get)
		check("update", m.change(t, who, "dev", edit), want.update)
		_, _, err = m.Delete(request(t, who, "delete", "dev"), "dev", nil, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		check("delete", err, want.remove)
		_, err = m.DeleteCollection(request(t, who, "deletecollection", ""), rest.ValidateAllObjectFunc, &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, nil)
		check("deletecollection", err, who == "root")
	}
}

// TestApplyCreates checks that a server-side apply of a Project that does not exist creates it for whom the server allows that, and changes no
// Project of others.
func TestApplyCreates(t *testing.T) {
	m := newMembers(t)
	m.create(t, "dev")
	apply := func(name string, validate rest.ValidateObjectFunc) error {
		next := rest.DefaultUpdatedObjectInfo(nil, func(context.Context, runtime.Object, runtime.Object) (runtime.Object, error) {
			return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: gardenerv1beta1.ProjectSpec{Owner: new(userSubject("zoe"))}}, nil
		})
		_, _, err := m.Update(request(t, "zoe", "patch", name), name, next, validate, nil, true, &metav1.UpdateOptions{})
		return err
	}
	denied := apierrors.NewForbidden(gardenerv1beta1.Resource("projects"), "new", errors.New("may not create"))
	if err := apply("new", func(context.Context, runtime.Object) error { return denied }); !apierrors.IsForbidden(err) {
		t.Errorf("error without the verb create = %v, want forbidden", err)
	}
	if err := apply("new", rest.ValidateAllObjectFunc); err != nil {
		t.Errorf("error with the verb create = %v, want none", err)
	}
	if err := apply("dev", rest.ValidateAllObjectFunc); !apierrors.IsForbidden(err) {
		t.Errorf("error of a Project of others = %v, want forbidden", err)
	}
}

// When RBAC is unavailable, a list fails: from one with fewer items a client would conclude that the others have been deleted.
func TestUnknownIsNoShorterList(t *testing.T) {
	m := newMembers(t)
	m.create(t, "dev")
	if found, err := m.List(request(t, "ghost", "list", ""), nil); err == nil {
		t.Errorf("got %v", found)
	}
	if _, err := m.Watch(request(t, "ghost", "watch", ""), nil); err == nil {
		t.Error("watch: no error")
	}
	if _, err := m.List(t.Context(), nil); err == nil {
		t.Error("a list without a user")
	}
}

// The authorizer decides with the watch cache.
func TestAuthorizerReadsTheWatchCache(t *testing.T) {
	m := newMembers(t)
	m.create(t, "dev", newMember("vera", "viewer"))
	decide := func(who, verb string) authorizer.Decision {
		t.Helper()
		decision, _, err := m.authorizer.Authorize(t.Context(), authorizer.AttributesRecord{
			User: &user.DefaultInfo{Name: who}, Verb: verb, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1", Resource: "projects", Name: "dev", ResourceRequest: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		return decision
	}
	// Before the cache has the Project, a user who may create Projects is allowed to get it, and the storage decides.
	known := func() bool {
		return decide("vera", "get") == authorizer.DecisionAllow && decide("zoe", "get") != authorizer.DecisionAllow
	}
	for deadline := time.Now().Add(10 * time.Second); !known(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a member is not allowed to get")
		}
	}
	if decide("vera", "update") == authorizer.DecisionAllow || decide("root", "update") != authorizer.DecisionAllow {
		t.Error("wrong decisions")
	}
	if err := m.change(t, "root", "dev", func(p *gardenerv1beta1.Project) { p.Spec.Members = nil }); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); decide("vera", "get") == authorizer.DecisionAllow; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("a removed member is allowed to get")
		}
	}
}
