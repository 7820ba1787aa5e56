// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// Page returns the permissions that roles grant as tables in Markdown: first the roles of processes, then those of users.
func Page(all *Roles) string {
	var page strings.Builder
	page.WriteString(introduction)
	page.WriteString("\n## Processes of Groundskeeper\n")
	for _, role := range all.Roles {
		if role.IsOwn() {
			page.WriteString("\n" + role.section())
		}
	}
	page.WriteString("\n" + foreign(all.Foreign) + "\n## Users and other software\n" + forUsers)
	for _, role := range all.Roles {
		if !role.IsOwn() {
			page.WriteString("\n" + role.section())
		}
	}
	return page.String()
}

const introduction = `# Permissions

The permissions of each process of Groundskeeper, with their reasons. This page is generated from the roles in
` + "`artifacts/`" + ` and the comments in them (` + "`go run ./hack/permissions`" + `); a test fails when they differ.

No role of a process has a wildcard. A run of the integration tests compares these rules with the audit logs of all its clusters: a
request that no rule allows fails the run, and so does a permission that no request used. So every rule is required by a test.

The roles in a directory are installed by ` + "`kubectl apply -k`" + ` of the directory, or of an installation that includes it.
`

const forUsers = `
The controller manager binds the roles of a Project to its members (see [Projects](projects.md)); an administrator of the cluster
binds the others. An aggregated role has the rules of all ClusterRoles with one of its labels, including those of other software.
`

// section returns a role as a heading, a sentence and a table.
func (r Role) section() string {
	var text strings.Builder
	fmt.Fprintf(&text, "### %s `%s`\n\n", r.Kind, r.Name)
	if r.Why != "" {
		text.WriteString(r.Why + "\n\n")
	}
	fmt.Fprintf(&text, "In `%s`.", path.Join("artifacts", r.File))
	if len(r.Bindings) > 0 {
		fmt.Fprintf(&text, " Granted to %s.", r.holders())
	}
	if r.Namespace != "" {
		fmt.Fprintf(&text, " In namespace `%s` only.", r.Namespace)
	}
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) {
		if strings.HasPrefix(key, "rbac.") || strings.HasSuffix(key, "/role") {
			fmt.Fprintf(&text, " Aggregated by `%s=%s`.", key, r.Labels[key])
		}
	}
	if len(r.Collects) > 0 {
		fmt.Fprintf(&text, " Aggregates %s.", quoted(r.Collects))
	}
	text.WriteString("\n")
	if len(r.Rules) == 0 {
		return text.String()
	}
	text.WriteString("\n| verbs | resources | reason |\n|---|---|---|\n")
	for _, rule := range r.Rules {
		fmt.Fprintf(&text, "| %s | %s | %s |\n", strings.ReplaceAll(strings.Join(rule.Verbs, ", "), "*", `\*`), objects(rule.PolicyRule), rule.Why)
	}
	return text.String()
}

func (r Role) holders() string {
	var names []string
	for _, b := range r.Bindings {
		names = append(names, b.holders()...)
	}
	return strings.Join(names, " and ")
}

func (b Binding) holders() []string {
	var names []string
	for _, s := range b.Subjects {
		if s.Namespace != "" {
			names = append(names, fmt.Sprintf("%s `%s/%s`", s.Kind, s.Namespace, s.Name))
		} else {
			names = append(names, fmt.Sprintf("%s `%s`", s.Kind, s.Name))
		}
	}
	return names
}

// objects describes the objects of a rule.
func objects(rule rbacv1.PolicyRule) string {
	text := quoted(append(slices.Clone(rule.Resources), rule.NonResourceURLs...))
	if groups := slices.DeleteFunc(slices.Clone(rule.APIGroups), func(group string) bool { return group == "" }); len(groups) > 0 {
		if len(groups) < len(rule.APIGroups) {
			groups = append([]string{"core"}, groups...)
		}
		text += " of " + quoted(groups)
	}
	if len(rule.ResourceNames) > 0 {
		text += " named " + quoted(rule.ResourceNames)
	}
	return text
}

func quoted(list []string) string { return "`" + strings.Join(list, "`, `") + "`" }

// foreign lists the roles of Kubernetes that the processes of Groundskeeper have.
func foreign(bindings []Binding) string {
	var text strings.Builder
	text.WriteString("### Roles of Kubernetes\n\n| role | scope | subjects | reason |\n|---|---|---|---|\n")
	for _, b := range bindings {
		where := "cluster"
		if b.Namespace != "" {
			where = "namespace `" + b.Namespace + "`"
		}
		fmt.Fprintf(&text, "| %s `%s` | %s | %s | %s |\n", b.Role.Kind, b.Role.Name, where, strings.Join(b.holders(), ", "), b.Why)
	}
	return text.String()
}
