// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// AllRoles returns the roles of a member, the first one first, each once. An empty one is none.
func (m *ProjectMember) AllRoles() []string {
	roles := make([]string, 0, 1+len(m.Roles))
	for _, role := range append([]string{m.Role}, m.Roles...) {
		if role != "" && !slices.Contains(roles, role) {
			roles = append(roles, role)
		}
	}
	return roles
}

// SetRoles gives a member exactly these roles. Without any it is a viewer.
func (m *ProjectMember) SetRoles(roles []string) {
	if len(roles) == 0 {
		roles = []string{ProjectMemberViewer}
	}
	m.Role, m.Roles = roles[0], nil
	if len(roles) > 1 {
		m.Roles = slices.Clone(roles[1:])
	}
}

// HasRole reports whether a member has a role.
func (m *ProjectMember) HasRole(role string) bool {
	return m.Role == role || slices.Contains(m.Roles, role)
}

// MemberIndex returns the place of a subject in the members, or -1.
func (s *ProjectSpec) MemberIndex(subject rbacv1.Subject) int {
	return slices.IndexFunc(s.Members, func(m ProjectMember) bool { return SameSubject(m.Subject, subject) })
}

// SameSubject reports whether an authorizer treats two subjects as the same: a service account is also the user that its
// token is authenticated as, and the API group follows from the kind.
func SameSubject(a, b rbacv1.Subject) bool { return Identity(a) == Identity(b) }

// Identity returns the one spelling of all subjects that are the same to an authorizer.
func Identity(subject rbacv1.Subject) rbacv1.Subject {
	subject.APIGroup = ""
	if subject.Kind != rbacv1.UserKind {
		return subject
	}
	if account, ok := strings.CutPrefix(subject.Name, serviceAccountUserPrefix); ok {
		if namespace, name, ok := strings.Cut(account, ":"); ok {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
		}
	}
	return subject
}

// Matches reports whether a user is a subject or belongs to it, as RBAC does.
func Matches(subject *rbacv1.Subject, user string, groups []string) bool {
	switch subject.Kind {
	case rbacv1.UserKind:
		return user == subject.Name
	case rbacv1.GroupKind:
		return slices.Contains(groups, subject.Name)
	case rbacv1.ServiceAccountKind:
		account, isAccount := strings.CutPrefix(user, serviceAccountUserPrefix)
		namespace, name, _ := strings.Cut(account, ":")
		return isAccount && namespace != "" && namespace == subject.Namespace && name == subject.Name
	default:
		return false
	}
}

// IsProject reports whether an owner is a Project, of any version.
func IsProject(owner metav1.OwnerReference) bool {
	version, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && version.Group == GroupName && owner.Kind == "Project"
}

// serviceAccountUserPrefix starts the user name of a service account.
const serviceAccountUserPrefix = "system:serviceaccount:"

// GeneratedNamespace returns the namespace that the server gives to a Project that names none: the name with the first
// five hex digits of the uid's sha256, so that a Project of the same name that comes later gets another one.
func GeneratedNamespace(name string, uid types.UID) string {
	sum := sha256.Sum256([]byte(uid))
	return ProjectNamespacePrefix + name + "-" + hex.EncodeToString(sum[:])[:5]
}

// NamespaceName returns the namespace of a Project, "" when it has none yet.
func (p *Project) NamespaceName() string {
	if p.Spec.Namespace == nil {
		return ""
	}
	return *p.Spec.Namespace
}
