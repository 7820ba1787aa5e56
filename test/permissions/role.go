// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package permissions

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"groundskeeper.io/groundskeeper/test/audit"
)

// Role is a Role or ClusterRole of artifacts/.
type Role struct {
	// File is where it is, below artifacts/.
	File            string
	Kind, Namespace string
	Name            string
	// Why is the comment above it.
	Why   string
	Rules []Rule
	// Collects are the labels of the ClusterRoles whose rules it has beside its own.
	Collects []string
	// Labels are those by which others collect its rules.
	Labels map[string]string
	// Bindings are those in artifacts/ that refer to it.
	Bindings []Binding
}

// Rule is a rule of a role, and the comment that reports why it is there.
type Rule struct {
	rbacv1.PolicyRule
	Why string
}

// Binding lists the subjects of a role.
type Binding struct {
	File, Kind, Namespace, Name string
	Why                         string
	Role                        rbacv1.RoleRef
	Subjects                    []rbacv1.Subject
}

// Roles are the permissions in artifacts/.
type Roles struct {
	Roles []Role
	// Foreign are the bindings to roles of Kubernetes itself.
	Foreign []Binding
}

// IsOwn reports whether a role is for Groundskeeper's processes: one that is bound to one of their accounts, or one of
// discoverers, which the controller manager binds. The others are for users and for other software. One that is only collected from
// other roles has the rules that an installation adds.
func (r Role) IsOwn() bool {
	if len(r.Collects) > 0 {
		return false
	}
	if len(r.Bindings) == 0 {
		return strings.HasPrefix(r.Name, "groundskeeper-discoverer-")
	}
	return slices.ContainsFunc(r.Bindings, func(b Binding) bool {
		return slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool { return s.Namespace == "groundskeeper-system" || s.Namespace == "gimbal" })
	})
}

// isFor reports whether a user may have the role: by a binding in artifacts/, or by those that the controller manager makes for the
// discoverers of backends.
func (r Role) isFor(user string) bool {
	if len(r.Bindings) == 0 {
		return audit.IsGroundskeepers(user) && strings.HasSuffix(user, "-discoverer")
	}
	return slices.ContainsFunc(r.Bindings, func(b Binding) bool { return slices.Contains(b.Users(), user) })
}

// Users returns the names of the users that a binding is for.
func (b Binding) Users() []string {
	var users []string
	for _, s := range b.Subjects {
		if s.Kind == rbacv1.ServiceAccountKind {
			users = append(users, "system:serviceaccount:"+s.Namespace+":"+s.Name)
		} else {
			users = append(users, s.Name)
		}
	}
	return users
}

// reason returns how the authorizer names the binding.
func (b Binding) reason() string {
	if b.Kind == "RoleBinding" {
		return b.Name + "/" + b.Namespace
	}
	return b.Name
}
