// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

const (
	manageMembers   = `"manage-members"`
	modifyWhitelist = `"modify-spec-tolerations-whitelist"`
)

// firm is a Project and the users around it, each named after its permissions: anna is an admin of the Project, uma may manage its
// members, tom change its whitelist, olivia owns it.
type firm struct {
	project                *gardenerv1beta1.Project
	anna, uma, tom, olivia string
}

func newFirm(t *testing.T) firm {
	t.Helper()
	f := firm{anna: name(t, "anna"), uma: name(t, "uma"), tom: name(t, "tom"), olivia: name(t, "olivia")}
	robot := member("ServiceAccount", "ci/robot", "viewer")
	f.project = newProject(t, "firm", member("User", f.olivia, "owner"), member("User", f.anna, "admin", "viewer"), member("User", f.uma, "uam"), robot)
	ready(t, f.project)
	granted(t, f.project.Name, []string{"get", "patch", "update", "modify-spec-tolerations-whitelist"}, f.tom)
	for _, user := range []string{f.anna, f.uma, f.olivia} {
		c := as(t, user)
		eventually(t, func(ctx context.Context) error { return toPatch(f.project)(ctx, c) })
	}
	get(t, f.project)
	return f
}

// attempt changes the Project. It is sent as a dry run, which is reviewed the same way and changes nothing for the others.
type attempt func(ctx context.Context, c client.Client, typed versioned.Interface, project *gardenerv1beta1.Project) error

func patching(kind types.PatchType, body string, options ...client.PatchOption) attempt {
	return func(ctx context.Context, c client.Client, _ versioned.Interface, project *gardenerv1beta1.Project) error {
		return c.Patch(ctx, project, client.RawPatch(kind, []byte(body)), append(options, client.DryRunAll)...)
	}
}

func merging(body string) attempt { return patching(types.MergePatchType, body) }

func updating(how func(*gardenerv1beta1.Project)) attempt {
	return func(ctx context.Context, c client.Client, _ versioned.Interface, project *gardenerv1beta1.Project) error {
		how(project)
		project.ResourceVersion = ""
		return c.Update(ctx, project, client.DryRunAll)
	}
}

func updatingInProtobuf(how func(*gardenerv1beta1.Project)) attempt {
	return func(ctx context.Context, _ client.Client, typed versioned.Interface, project *gardenerv1beta1.Project) error {
		how(project)
		project.ResourceVersion = ""
		_, err := typed.GardenerV1beta1().Projects().Update(ctx, project, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
}

func (f firm) attempts() map[string]struct {
	attempt attempt
	needs   []string // the required verbs; none if the permission to change the Project suffices
} {
	joins := func(m gardenerv1beta1.ProjectMember) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) { p.Spec.Members = append(p.Spec.Members, m) }
	}
	promoted := func(role string, roles ...string) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) {
			i := p.Spec.MemberIndex(rbacv1.Subject{Kind: "User", Name: f.anna})
			p.Spec.Members[i].Role, p.Spec.Members[i].Roles = role, roles
		}
	}
	whitelisted := func(p *gardenerv1beta1.Project) {
		p.Spec.Tolerations = &gardenerv1beta1.ProjectTolerations{Whitelist: []gardenerv1beta1.Toleration{{Key: "seed"}}}
	}
	owned := func(user string) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) { p.Spec.Owner = &rbacv1.Subject{Kind: "User", Name: user} }
	}
	after := func(changes ...func(*gardenerv1beta1.Project)) func(*gardenerv1beta1.Project) {
		return func(p *gardenerv1beta1.Project) {
			for _, change := range changes {
				change(p)
			}
		}
	}
	bob := member("User", "bob", "viewer")
	apply := func(spec string) attempt {
		return patching(types.ApplyPatchType, fmt.Sprintf(`{"apiVersion":"core.gardener.cloud/v1beta1","kind":"Project","metadata":{"name":%q},"spec":%s}`,
			f.project.Name, spec), client.ForceOwnership, client.FieldOwner("gitops"))
	}
	return map[string]struct {
		attempt attempt
		needs   []string
	}{
		"what is not guarded": {merging(`{"metadata":{"labels":{"a":"b"}},"spec":{"purpose":"test"}}`), nil},
		"the members in another order": {updating(func(p *gardenerv1beta1.Project) {
			p.Spec.Members[0], p.Spec.Members[1] = p.Spec.Members[1], p.Spec.Members[0]
		}), nil},
		"the roles spelled another way":            {updating(promoted("", "viewer", "admin")), nil},
		"the roles spelled another way, protobuf":  {updatingInProtobuf(promoted("", "viewer", "admin", "viewer")), nil},
		"a service account that views":             {updating(joins(member("ServiceAccount", "ci/other", "viewer"))), nil},
		"an update":                                {updating(joins(bob)), []string{manageMembers}},
		"an update in protobuf":                    {updatingInProtobuf(joins(bob)), []string{manageMembers}},
		"a group":                                  {updating(joins(member("Group", "everybody", "viewer"))), []string{manageMembers}},
		"a further role":                           {updating(promoted("admin", "viewer", "uam")), []string{manageMembers}},
		"a further role in role":                   {updating(promoted("uam", "viewer", "admin")), []string{manageMembers}},
		"a further role in protobuf":               {updatingInProtobuf(promoted("", "viewer", "admin", "uam")), []string{manageMembers}},
		"a role less":                              {updating(promoted("viewer")), []string{manageMembers}},
		"a merge patch":                            {merging(`{"spec":{"members":[{"kind":"User","name":"bob"}]}}`), []string{manageMembers}},
		"a merge patch that removes all":           {merging(`{"spec":{"members":null}}`), []string{manageMembers}},
		"a JSON patch":                             {patching(types.JSONPatchType, `[{"op":"add","path":"/spec/members/-","value":{"kind":"User","name":"bob"}}]`), []string{manageMembers}},
		"a JSON patch of one role":                 {patching(types.JSONPatchType, `[{"op":"replace","path":"/spec/members/3/role","value":"uam"}]`), []string{manageMembers}},
		"a JSON patch that removes one":            {patching(types.JSONPatchType, `[{"op":"remove","path":"/spec/members/2"}]`), []string{manageMembers}},
		"server-side apply":                        {apply(`{"members":[{"kind":"User","name":"bob","roles":["admin"]}]}`), []string{manageMembers}},
		"server-side apply of no members":          {apply(`{"members":[]}`), []string{manageMembers}},
		"a service account that administrates":     {updating(joins(member("ServiceAccount", "ci/other", "viewer", "admin"))), []string{manageMembers}},
		"a service account by its user name":       {updating(joins(member("User", "system:serviceaccount:ci:other", "uam"))), []string{manageMembers}},
		"the owner":                                {updating(owned(f.anna)), []string{manageMembers}},
		"the owner, by server-side apply":          {apply(fmt.Sprintf(`{"owner":{"kind":"User","name":%q}}`, f.anna)), []string{manageMembers}},
		"the owner, by a JSON patch":               {patching(types.JSONPatchType, fmt.Sprintf(`[{"op":"replace","path":"/spec/owner/name","value":%q}]`, f.anna)), []string{manageMembers}},
		"the owner who becomes a member thereby":   {updating(owned("bob")), []string{manageMembers}},
		"the owner and the members":                {updating(after(owned("bob"), joins(bob))), []string{manageMembers, "spec.owner"}},
		"the whitelist":                            {updating(whitelisted), []string{modifyWhitelist}},
		"the whitelist, by a merge patch":          {merging(`{"spec":{"tolerations":{"whitelist":[{"key":"seed"}]}}}`), []string{modifyWhitelist}},
		"the whitelist, by server-side apply":      {apply(`{"tolerations":{"whitelist":[{"key":"seed"}]}}`), []string{modifyWhitelist}},
		"the whitelist and the members":            {updating(after(whitelisted, joins(bob))), []string{manageMembers, modifyWhitelist}},
		"the whitelist and the owner":              {updating(after(whitelisted, owned("bob"))), []string{manageMembers, modifyWhitelist}},
		"the whitelist and the members, protobuf":  {updatingInProtobuf(after(whitelisted, joins(bob))), []string{manageMembers, modifyWhitelist}},
		"the whitelist and a service account only": {updating(after(whitelisted, joins(member("ServiceAccount", "ci/other", "viewer")))), []string{modifyWhitelist}},
	}
}

// TestGuardedFieldsOfAProject checks that guarded fields of a Project can be changed only with the verb for them, by every kind of
// request.
func TestGuardedFieldsOfAProject(t *testing.T) {
	t.Parallel()
	f := newFirm(t)
	for _, who := range []struct {
		name string
		has  []string
	}{
		{f.anna, nil}, {f.uma, []string{manageMembers}}, {f.olivia, []string{manageMembers}}, {f.tom, []string{modifyWhitelist}},
		{"admin", []string{manageMembers, modifyWhitelist}},
	} {
		c, typed := as(t, who.name), protobufAs(t, who.name)
		if who.name == "admin" {
			c, typed = admin(t), protobufAs(t, "boss", "system:masters")
		}
		for what, test := range f.attempts() {
			t.Run(who.name[:3]+" changes "+what, func(t *testing.T) {
				lacks := []string{}
				for _, verb := range test.needs {
					if strings.HasPrefix(verb, `"`) && !slices.Contains(who.has, verb) {
						lacks = append(lacks, verb)
					}
				}
				err := test.attempt(t.Context(), c, typed, f.project.DeepCopy())
				if len(lacks) == 0 {
					accepted(t, err)
					return
				}
				if slices.Contains(lacks, manageMembers) && slices.Contains(test.needs, "spec.owner") && who.name != f.olivia {
					lacks = append(lacks, "spec.owner and spec.members")
				}
				rejected(t, err, lacks...)
			})
		}
	}
}
