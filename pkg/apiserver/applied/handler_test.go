// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package applied

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// TestHandler checks that members are passed to the library in the form in which they are stored, and everything else unchanged.
func TestHandler(t *testing.T) {
	const head = "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\n"
	projects := request.RequestInfo{Verb: "patch", APIGroup: "core.gardener.cloud", Resource: "projects"}
	const stored = head + "spec:\n  members:\n  - apiGroup: rbac.authorization.k8s.io\n    kind: User\n    name: anna\n    role: viewer\n"
	for name, test := range map[string]struct {
		info       request.RequestInfo
		media      string
		body, want string
	}{
		"roles":           {projects, "", head + "spec: {members: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: anna, roles: [viewer]}]}\n", stored},
		"no roles":        {projects, "", head + "spec: {members: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: anna}]}\n", stored},
		"no group":        {projects, "", head + "spec: {members: [{kind: User, name: anna, role: viewer}]}\n", stored},
		"twice":           {projects, "", head + "spec: {members: [{kind: User, name: anna, role: viewer, roles: [viewer, viewer]}]}\n", stored},
		"JSON":            {projects, "application/apply-patch+yaml; charset=utf-8", `{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project","spec":{"members":[{"kind":"User","name":"anna","roles":["viewer"]}]}}`, stored},
		"several roles":   {projects, "", head + "spec: {members: [{kind: ServiceAccount, name: a, namespace: b, roles: [admin, uam]}]}\n", head + "spec:\n  members:\n  - kind: ServiceAccount\n    name: a\n    namespace: b\n    role: admin\n    roles:\n    - uam\n"},
		"the owner":       {projects, "", head + "spec: {owner: {kind: Group, name: team}}\n", head + "spec:\n  owner:\n    apiGroup: rbac.authorization.k8s.io\n    kind: Group\n    name: team\n"},
		"stored already":  {projects, "", "# a comment\n" + stored, "# a comment\n" + stored},
		"no members":      {projects, "", head + "spec: {description: a} # b\n", head + "spec: {description: a} # b\n"},
		"set twice":       {projects, "", head + "spec: {members: [{kind: User, kind: User, name: anna}]}\n", head + "spec: {members: [{kind: User, kind: User, name: anna}]}\n"},
		"no list":         {projects, "", head + "spec: {members: 5}\n", head + "spec: {members: 5}\n"},
		"no role":         {projects, "", head + "spec: {members: [{kind: X, role: 5}, 6]}\n", head + "spec: {members: [{kind: X, role: 5}, 6]}\n"},
		"no document":     {projects, "", "{", "{"},
		"another patch":   {projects, "application/merge-patch+json", `{"spec":{"members":[{"kind":"User","name":"a"}]}}`, `{"spec":{"members":[{"kind":"User","name":"a"}]}}`},
		"the status":      {request.RequestInfo{Verb: "patch", APIGroup: "core.gardener.cloud", Resource: "projects", Subresource: "status"}, "", "spec: {members: [{kind: User}]}", "spec: {members: [{kind: User}]}"},
		"another kind":    {request.RequestInfo{Verb: "patch", APIGroup: "kubernikus.sap.cc", Resource: "klusters"}, "", "spec: {members: [{kind: User}]}", "spec: {members: [{kind: User}]}"},
		"more than limit": {projects, "", head + "spec: {members: [{kind: User}]} # " + strings.Repeat("x", 1000), head + "spec: {members: [{kind: User}]} # " + strings.Repeat("x", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			handler := Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil || r.ContentLength > 0 && r.ContentLength != int64(len(body)) {
					t.Errorf("length %d, read %d, %v", r.ContentLength, len(body), err)
				}
				got = string(body)
			}), 1000, kinds(t), func(context.Context, *request.RequestInfo) (runtime.Object, error) {
				return nil, errors.New("there is none")
			})
			r := httptest.NewRequestWithContext(request.WithRequestInfo(t.Context(), &test.info), http.MethodPatch, "/", strings.NewReader(test.body))
			if test.media == "" {
				test.media = "application/apply-patch+yaml"
			}
			r.Header.Set("Content-Type", test.media)
			handler.ServeHTTP(httptest.NewRecorder(), r)
			if got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// The member or the role that the server added for the owner is added to a manifest that lists members without it, so that
// managers who apply the same manifest agree; but not when the manifest hands the Project over.
func TestHandlerAddsTheOwner(t *testing.T) {
	owner := rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "olga"}
	get := func(_ context.Context, r *request.RequestInfo) (runtime.Object, error) {
		if r.Name != "stored" {
			return nil, apierrors.NewNotFound(gardenerv1beta1.Resource("projects"), r.Name)
		}
		return &gardenerv1beta1.Project{Spec: gardenerv1beta1.ProjectSpec{Owner: &owner, Members: []gardenerv1beta1.ProjectMember{
			{Subject: rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "anna"}, Role: "viewer"},
			{Subject: owner, Role: "admin", Roles: []string{"owner"}},
		}}}, nil
	}
	for name, test := range map[string]struct{ project, members, owner, want string }{
		"no owner":             {"stored", "[{kind: User, name: anna}]", "", "anna viewer; olga admin owner"},
		"owner is no member":   {"stored", "[{kind: User, name: anna}]", "olga", "anna viewer; olga admin owner"},
		"owner lacks the role": {"stored", "[{kind: User, name: olga, role: admin}]", "olga", "olga admin owner"},
		"no owner, no role":    {"stored", "[{kind: User, name: olga, roles: [uam]}]", "", "olga uam owner"},
		"all there":            {"stored", "[{kind: User, name: olga, roles: [admin, owner]}]", "olga", "olga admin owner"},
		"handed over":          {"stored", "[{kind: User, name: anna}]", "anna", "anna viewer"},
		"no member is listed":  {"stored", "[]", "", "olga admin owner"},
		"not stored":           {"new", "[{kind: User, name: anna}]", "", "anna viewer"},
	} {
		t.Run(name, func(t *testing.T) {
			manifest := "apiVersion: core.gardener.cloud/v1beta1\nkind: Project\nspec:\n  members: " + test.members + "\n"
			if test.owner != "" {
				manifest += "  owner: {kind: User, name: " + test.owner + "}\n"
			}
			project := &gardenerv1beta1.Project{}
			handler := Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err == nil {
					err = yaml.UnmarshalStrict(body, project)
				}
				if err != nil {
					t.Error(err)
				}
			}), 0, kinds(t), get)
			info := &request.RequestInfo{Verb: "patch", APIGroup: "core.gardener.cloud", Resource: "projects", Name: test.project}
			r := httptest.NewRequestWithContext(request.WithRequestInfo(t.Context(), info), http.MethodPatch, "/", strings.NewReader(manifest))
			r.Header.Set("Content-Type", "application/apply-patch+yaml")
			handler.ServeHTTP(httptest.NewRecorder(), r)
			var got []string
			for _, m := range project.Spec.Members {
				got = append(got, m.Name+" "+strings.Join(m.AllRoles(), " "))
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("members %v, want %s", got, test.want)
			}
		})
	}
}
