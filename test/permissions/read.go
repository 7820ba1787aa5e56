// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	kyaml "sigs.k8s.io/yaml"
)

// manifest is what is read of an object.
type manifest struct {
	Kind     string
	Metadata struct {
		Name, Namespace string
		Labels          map[string]string
	}
	Rules           []rbacv1.PolicyRule
	AggregationRule *rbacv1.AggregationRule
	RoleRef         rbacv1.RoleRef
	Subjects        []rbacv1.Subject
}

// Load reads all roles and bindings below the directory artifacts/.
func Load(artifacts string) (*Roles, error) {
	all := &Roles{}
	var bindings []Binding
	err := filepath.WalkDir(artifacts, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		file, err := filepath.Rel(artifacts, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		roles, more, err := read(file, content)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		all.Roles, bindings = append(all.Roles, roles...), append(bindings, more...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, b := range bindings {
		i := slices.IndexFunc(all.Roles, func(r Role) bool {
			return r.Kind == b.Role.Kind && r.Name == b.Role.Name && (r.Kind == "ClusterRole" || r.Namespace == b.Namespace)
		})
		if i >= 0 {
			all.Roles[i].Bindings = append(all.Roles[i].Bindings, b)
		} else {
			all.Foreign = append(all.Foreign, b)
		}
	}
	return all, nil
}

// read returns the roles and bindings of a file.
func read(file string, content []byte) (roles []Role, bindings []Binding, err error) {
	// A comment above the line between two documents would be lost with it: it belongs to the one below.
	for document := range strings.SplitSeq("\n"+string(content), "\n---") {
		var node yaml.Node
		if err := yaml.Unmarshal([]byte(document), &node); err != nil {
			return nil, nil, err
		}
		if len(node.Content) == 0 || node.Content[0].Kind != yaml.MappingNode {
			continue // comments only, or a patch
		}
		var m manifest
		if err := kyaml.Unmarshal([]byte(document), &m); err != nil {
			return nil, nil, err
		}
		name := fmt.Sprintf("%s %s", m.Kind, m.Metadata.Name)
		switch m.Kind {
		case "Role", "ClusterRole":
			role := Role{File: file, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name, Why: above(&node), Labels: m.Metadata.Labels}
			for i, why := range reasons(&node, "rules") {
				role.Rules = append(role.Rules, Rule{m.Rules[i], why})
			}
			if len(role.Rules) != len(m.Rules) {
				return nil, nil, fmt.Errorf("%s: its rules are not read the same way", name)
			}
			if m.AggregationRule != nil {
				role.Collects = selectors(m.AggregationRule)
			}
			roles = append(roles, role)
		case "RoleBinding", "ClusterRoleBinding":
			if len(m.Subjects) == 0 {
				return nil, nil, errors.New(name + " binds no subject")
			}
			bindings = append(bindings, Binding{File: file, Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name,
				Why: above(&node), Role: m.RoleRef, Subjects: m.Subjects})
		}
	}
	return roles, bindings, nil
}

// above returns the comment above the fields of a document, without the license.
func above(document *yaml.Node) string {
	root := document.Content[0]
	text := cmp.Or(root.Content[0].HeadComment, root.HeadComment, document.HeadComment)
	var kept []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(strings.TrimLeft(line, "#")); !strings.HasPrefix(line, "SPDX-") {
			kept = append(kept, line)
		}
	}
	return strings.TrimSpace(strings.Join(kept, " "))
}

// reasons returns, for each item of a list, the comment above it and those at the end of its lines.
func reasons(document *yaml.Node, field string) []string {
	fields := document.Content[0].Content
	for i := 0; i+1 < len(fields); i += 2 {
		if fields[i].Value != field {
			continue
		}
		var why []string
		for _, item := range fields[i+1].Content {
			why = append(why, comments(item))
		}
		return why
	}
	return nil
}

func comments(node *yaml.Node) string {
	var found []string
	for _, text := range []string{node.HeadComment, node.LineComment} {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(strings.TrimLeft(line, "#")); line != "" {
				found = append(found, line)
			}
		}
	}
	for _, child := range node.Content {
		if text := comments(child); text != "" {
			found = append(found, text)
		}
	}
	return strings.Join(found, " ")
}

func selectors(rule *rbacv1.AggregationRule) []string {
	var found []string
	for _, s := range rule.ClusterRoleSelectors {
		for key, value := range s.MatchLabels {
			found = append(found, key+"="+value)
		}
		for _, e := range s.MatchExpressions {
			for _, value := range e.Values {
				found = append(found, e.Key+"="+value)
			}
		}
	}
	slices.Sort(found)
	return found
}
