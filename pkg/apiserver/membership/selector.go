// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// readersField is a field of the watch cache with the subjects that may get a Project. No client can select by it: the names of the
// fields that clients can select by are listed at the type (AddFieldLabelConversionFunc).
const readersField = "groundskeeper.io/readers"

// end follows each subject in the field. No user can have it in a name: it cannot be in a header, by which names arrive.
const end = "\x00"

// Indexed adds the subjects that may get a Project to what the watch cache knows of it. An event has them before and after the
// change, so that a watch reports a Project as ADDED to new members and as DELETED to those who were removed.
func Indexed(kind registry.Kind[*gardenerv1beta1.Project]) registry.Kind[*gardenerv1beta1.Project] {
	selectable := kind.SelectableFields
	kind.SelectableFields = func(project *gardenerv1beta1.Project) fields.Set {
		set := fields.Set{}
		if selectable != nil {
			set = selectable(project)
		}
		set[readersField] = readers(project)
		return set
	}
	return kind
}

// readers are the subjects that may get a Project, each with its end.
func readers(project *gardenerv1beta1.Project) string {
	var all strings.Builder
	add := func(subject *rbacv1.Subject) {
		if one := token(subject); one != "" && !strings.Contains(one, end) {
			all.WriteString(one + end)
		}
	}
	if project.Spec.Owner != nil {
		add(project.Spec.Owner)
	}
	for i := range project.Spec.Members {
		member := &project.Spec.Members[i]
		for _, role := range grants["get"] {
			if member.HasRole(role) {
				add(&member.Subject)
				break
			}
		}
	}
	return all.String()
}

// A token is one spelling of all subjects that a user is: a service account is the user of its token.
func token(subject *rbacv1.Subject) string {
	switch subject.Kind {
	case rbacv1.UserKind:
		return userToken(subject.Name)
	case rbacv1.GroupKind:
		return groupToken(subject.Name)
	case rbacv1.ServiceAccountKind:
		if subject.Namespace != "" {
			return userToken(serviceaccount.MakeUsername(subject.Namespace, subject.Name))
		}
	}
	return ""
}

func userToken(name string) string  { return "u" + name }
func groupToken(name string) string { return "g" + name }

// tokens are the spellings of a user and of the user's groups.
func tokens(who user.Info) map[string]bool {
	all := map[string]bool{userToken(who.GetName()): true}
	for _, group := range who.GetGroups() {
		all[groupToken(group)] = true
	}
	return all
}

// readable selects, of what another selector selects, the Projects that a user may get.
type readable struct {
	fields.Selector
	tokens map[string]bool
}

// readableBy narrows a selector, nil for everything, to what a user may get.
func readableBy(who user.Info, selector fields.Selector) fields.Selector {
	if selector == nil {
		selector = fields.Everything()
	}
	return readable{Selector: selector, tokens: tokens(who)}
}

// Matches implements fields.Selector.
func (r readable) Matches(set fields.Fields) bool {
	rest := set.Get(readersField)
	for rest != "" {
		one, more, _ := strings.Cut(rest, end)
		if r.tokens[one] {
			return r.Selector.Matches(set)
		}
		rest = more
	}
	return false
}

// Empty implements fields.Selector: it never selects everything.
func (readable) Empty() bool { return false }

// Transform implements fields.Selector.
func (r readable) Transform(transform fields.TransformFunc) (fields.Selector, error) {
	selector, err := r.Selector.Transform(transform)
	if err != nil {
		return nil, err
	}
	return readable{Selector: selector, tokens: r.tokens}, nil
}

// DeepCopySelector implements fields.Selector. The tokens are never changed.
func (r readable) DeepCopySelector() fields.Selector {
	return readable{Selector: r.Selector.DeepCopySelector(), tokens: r.tokens}
}
