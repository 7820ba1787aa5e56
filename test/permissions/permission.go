// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"fmt"
	"slices"
	"strings"
)

// Right is the smallest part of a rule: one verb on one resource of one group, of all objects or of one.
type Right struct {
	// Role is its role, as in "ClusterRole groundskeeper-apiserver", and Rule the index of its rule there.
	Role string
	Rule int
	// Verb and the rest are what it allows. Resource has the subresource in it; Name and Namespace are empty for all of them.
	Verb, Group, Resource, Name, Namespace string
	// URL is the path of a permission that is none to resources.
	URL string
}

// String returns what it allows.
func (r Right) String() string {
	if r.URL != "" {
		return r.Verb + " " + r.URL
	}
	text := r.Verb + " " + r.Resource
	if r.Group != "" {
		text += "." + r.Group
	}
	if r.Name != "" {
		text += " " + r.Name
	}
	return text
}

// ID returns the kind and name of a role, by which permissions and reasons name it.
func (r Role) ID() string { return r.Kind + " " + r.Name }

// Permissions returns all permissions of a role. A wildcard is an error: it allows what was not considered.
func (r Role) Permissions() ([]Right, error) {
	var all []Right
	for i, rule := range r.Rules {
		for _, list := range [][]string{rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs} {
			if slices.ContainsFunc(list, func(entry string) bool { return strings.Contains(entry, "*") }) {
				return nil, fmt.Errorf("%s: %s, rule %d: it has a wildcard", r.File, r.ID(), i)
			}
		}
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, verb := range rule.Verbs {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						all = append(all, Right{Role: r.ID(), Rule: i, Verb: verb, Group: group, Resource: resource, Name: name, Namespace: r.Namespace})
					}
				}
			}
			for _, url := range rule.NonResourceURLs {
				all = append(all, Right{Role: r.ID(), Rule: i, Verb: verb, URL: url})
			}
		}
	}
	return all, nil
}

// Allows reports whether the right suffices for a request. It is RBAC's rule for permissions without wildcards.
func (r Right) Allows(q Request) bool {
	if r.Verb != q.Verb || r.URL != q.URL {
		return false
	}
	return r.URL != "" || r.Group == q.Group && r.Resource == q.Resource && (r.Name == "" || r.Name == q.Name) &&
		(r.Namespace == "" || r.Namespace == q.Namespace)
}
