// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

func subject(kind, name string) rbacv1.Subject {
	if namespace, account, ok := strings.Cut(name, "/"); ok {
		return rbacv1.Subject{Kind: kind, Namespace: namespace, Name: account}
	}
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: kind, Name: name}
}

func member(kind, name string, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: subject(kind, name)}
	m.SetRoles(roles)
	return m
}

func newProject(name string, members ...gardenerv1beta1.ProjectMember) *gardenerv1beta1.Project {
	return &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       gardenerv1beta1.ProjectSpec{Owner: new(subject("User", "olivia")), Members: members},
	}
}

// as returns a user in groups.
func as(name string, groups ...string) *user.DefaultInfo {
	return &user.DefaultInfo{Name: name, Groups: append(groups, user.AllAuthenticated)}
}

// on returns a request for a Project.
func on(who user.Info, verb, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{User: who, Verb: verb, APIGroup: "core.gardener.cloud", APIVersion: "v1beta1", Resource: "projects", Name: name, ResourceRequest: true}
}

func TestAllows(t *testing.T) {
	project := newProject("dev",
		member("User", "anna", "admin"), member("User", "ugo", "uam"), member("User", "vera", "viewer"), member("User", "sam", "serviceaccountmanager"),
		member("User", "xena", "extension:deploy"), member("User", "mia", "viewer", "uam"), member("Group", "auditors", "viewer"),
		member("ServiceAccount", "ci/robot", "admin"), member("User", "system:serviceaccount:ci:token", "viewer"))
	for _, test := range []struct {
		name  string
		who   user.Info
		verbs string
	}{
		{"owner", as("olivia"), "get patch update delete manage-members"},
		{"admin", as("anna"), "get patch update delete"},
		{"user access manager", as("ugo"), "get patch update manage-members"},
		{"viewer", as("vera"), "get"},
		{"manager of service accounts", as("sam"), ""},
		{"extension role", as("xena"), ""},
		{"two roles", as("mia"), "get patch update manage-members"},
		{"group", as("zoe", "auditors"), "get"},
		{"user with the name of a group", as("auditors"), ""},
		{"group with the name of a user", as("zoe", "anna"), ""},
		{"service account", as("system:serviceaccount:ci:robot"), "get patch update delete"},
		{"service account of another namespace", as("system:serviceaccount:cd:robot"), ""},
		{"user with the name of a service account", as("robot"), ""},
		{"service account as a user", as("system:serviceaccount:ci:token"), "get"},
		{"another user", as("zoe"), ""},
		{"nobody", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, verb := range []string{"get", "patch", "update", "delete", "manage-members", "list", "watch", "deletecollection", "create", "manage-finalizers", "*", ""} {
				want := strings.Contains(" "+test.verbs+" ", " "+verb+" ") && verb != ""
				for _, state := range states(project) {
					if got := Allows(state, test.who, verb); got != want {
						t.Errorf("%q in phase %q, deleted at %v: got %v, want %v", verb, state.Status.Phase, state.DeletionTimestamp, got, want)
					}
				}
			}
		})
	}
}

// states returns a Project in each phase, and while it is being deleted.
func states(project *gardenerv1beta1.Project) []*gardenerv1beta1.Project {
	all := []*gardenerv1beta1.Project{project}
	for _, phase := range []gardenerv1beta1.ProjectPhase{
		gardenerv1beta1.ProjectPending, gardenerv1beta1.ProjectReady, gardenerv1beta1.ProjectFailed, gardenerv1beta1.ProjectTerminating,
	} {
		state := project.DeepCopy()
		state.Status.Phase = phase
		deleted := state.DeepCopy()
		deleted.DeletionTimestamp = new(metav1.Now())
		all = append(all, state, deleted)
	}
	return all
}

// TestReadersAreThoseWhoMayGet checks that a list has exactly the Projects that get allows: the field of the watch cache and the
// decision agree.
func TestReadersAreThoseWhoMayGet(t *testing.T) {
	projects := []*gardenerv1beta1.Project{
		{ObjectMeta: metav1.ObjectMeta{Name: "without"}},
		newProject("owned"),
		newProject("roles", member("User", "anna", "admin"), member("User", "ugo", "uam"), member("User", "vera", "viewer"),
			member("User", "sam", "serviceaccountmanager"), member("User", "xena", "extension:viewer"), member("User", "mia", "extension:a", "viewer")),
		newProject("kinds", member("Group", "auditors"), member("ServiceAccount", "ci/robot"), member("User", "auditors", "extension:a")),
		newProject("odd", member("User", "anna\nvera"), member("User", "uvera", "viewer"), member("Group", "")),
	}
	for _, who := range []user.Info{
		as("olivia"), as("anna"), as("ugo"), as("vera"), as("sam"), as("xena"), as("mia"), as("zoe", "auditors"), as("auditors"), as("zoe"),
		as("system:serviceaccount:ci:robot"), as("robot"), as("uvera"), as("anna\nvera"), as(""), as("zoe", ""),
	} {
		selector := readableBy(who, nil)
		for _, project := range projects {
			if got, want := selector.Matches(fieldsOf(project)), Allows(project, who, "get"); got != want {
				t.Errorf("%q in %q: %s selected %v, may get %v", who.GetName(), who.GetGroups(), project.Name, got, want)
			}
		}
	}
}

// fieldsOf returns the fields of a Project in the watch cache.
func fieldsOf(project *gardenerv1beta1.Project) fields.Set {
	return Indexed(registry.Kind[*gardenerv1beta1.Project]{}).SelectableFields(project)
}

// The index has a Project under exactly the tokens by which the selector finds it, each once.
func TestIndexHasReaders(t *testing.T) {
	project := newProject("dev", member("User", "olivia", "admin"), member("Group", "staff"), member("Group", "staff", "uam"),
		member("User", "sam", "serviceaccountmanager"), member("ServiceAccount", "ci/robot"), member("User", "system:serviceaccount:ci:robot"))
	got := Indexed(registry.Kind[*gardenerv1beta1.Project]{}).Indexes[readersIndex](project)
	if want := []string{"user:olivia", "group:staff", "user:system:serviceaccount:ci:robot"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	set := fieldsOf(project)
	if len(set) != len(got) {
		t.Errorf("fields %q", set)
	}
	for _, one := range got {
		if !set.Has(one) {
			t.Errorf("%q is in the index and no field", one)
		}
	}
}

// A name is one subject, whatever is in it, and never a field of the kind.
func TestReadersCannotBeInjected(t *testing.T) {
	for _, name := range []string{"mallory\x00group:" + user.AllAuthenticated, "mallory\ngroup:" + user.AllAuthenticated, "group:" + user.AllAuthenticated, ":"} {
		field := fieldsOf(newProject("dev", member("User", name), member("Group", "user:zoe")))
		if readableBy(as("zoe"), nil).Matches(field) {
			t.Errorf("%q made everybody a member", name)
		}
		if !readableBy(as("olivia"), nil).Matches(field) || !readableBy(as(name), nil).Matches(field) {
			t.Errorf("%q: a member is missing", name)
		}
	}
	kind := registry.Kind[*gardenerv1beta1.Project]{SelectableFields: func(*gardenerv1beta1.Project) fields.Set { return fields.Set{"spec.namespace": "garden-dev"} }}
	if set := Indexed(kind).SelectableFields(newProject("dev", member("User", "spec.namespace"))); set["spec.namespace"] != "garden-dev" {
		t.Errorf("a member replaced a field: %q", set)
	}
}

// TestReadable narrows what another selector selects, and never widens it.
func TestReadable(t *testing.T) {
	inner := fields.OneTermEqualSelector("spec.namespace", "garden-dev")
	selector := readableBy(as("olivia"), inner)
	if selector.Empty() || readableBy(as("olivia"), nil).Empty() {
		t.Error("it counts as a selector of everything")
	}
	if value, ok := selector.RequiresExactMatch("spec.namespace"); !ok || value != "garden-dev" {
		t.Error("the index cannot be used")
	}
	if _, ok := selector.RequiresExactMatch(readersIndex); ok {
		t.Error("the index is used for all tokens together")
	}
	selector.by = userToken("olivia")
	transformed, err := selector.Transform(func(field, value string) (string, string, error) { return field, value, nil })
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]fields.Selector{"itself": selector, "copied": selector.DeepCopySelector(), "transformed": transformed} {
		if value, ok := s.RequiresExactMatch(readersIndex); !ok || value != "user:olivia" {
			t.Errorf("%s: looks up %q", name, value)
		}
		for _, test := range []struct {
			set  fields.Set
			want bool
		}{
			{fields.Set{"spec.namespace": "garden-dev", "user:olivia": ""}, true},
			{fields.Set{"spec.namespace": "garden-other", "user:olivia": ""}, false},
			{fields.Set{"spec.namespace": "garden-dev", "user:anna": ""}, false},
			{fields.Set{"spec.namespace": "garden-dev"}, false},
		} {
			if got := s.Matches(test.set); got != test.want {
				t.Errorf("%s: %q: got %v", name, test.set, got)
			}
		}
	}
}

func TestIsRestricted(t *testing.T) {
	change := func(how func(*authorizer.AttributesRecord)) authorizer.AttributesRecord {
		request := on(as("zoe"), "get", "dev")
		how(&request)
		return request
	}
	for name, test := range map[string]struct {
		request authorizer.AttributesRecord
		want    bool
	}{
		"get":               {on(as("zoe"), "get", "dev"), true},
		"list":              {on(as("zoe"), "list", ""), true},
		"watch":             {on(as("zoe"), "watch", "dev"), true},
		"delete":            {on(as("zoe"), "delete", "dev"), true},
		"deletecollection":  {on(as("zoe"), "deletecollection", ""), true},
		"manage-members":    {on(as("zoe"), "manage-members", "dev"), true},
		"create":            {on(as("zoe"), "create", ""), false},
		"manage-finalizers": {on(as("zoe"), "manage-finalizers", "dev"), false},
		"status":            {change(func(a *authorizer.AttributesRecord) { a.Subresource = "status" }), false},
		"another group":     {change(func(a *authorizer.AttributesRecord) { a.APIGroup = "other" }), false},
		"another resource":  {change(func(a *authorizer.AttributesRecord) { a.Resource = "shoots" }), false},
		"no resource":       {change(func(a *authorizer.AttributesRecord) { a.ResourceRequest = false }), false},
	} {
		if got := IsRestricted(test.request); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func BenchmarkDecide(b *testing.B) {
	members := make([]gardenerv1beta1.ProjectMember, 0, 20)
	for i := range 20 {
		members = append(members, member("Group", "group-"+string(rune('a'+i)), "viewer"))
	}
	project, request := newProject("dev", members...), on(as("zoe", "group-t"), "get", "dev")
	b.ReportAllocs()
	for b.Loop() {
		if Decide(request, project) != authorizer.DecisionAllow {
			b.Fatal("denied")
		}
	}
}
