// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// readersIndex is the index of the watch cache by the subjects that may get a Project.
const readersIndex = "groundskeeper.io/readers"

// Indexed adds the subjects that may get a Project to what the watch cache knows of it: each is a field of the Project, and a value
// of the index. An event has the fields before and after the change, so that a watch reports a Project as ADDED to new members and as
// DELETED to those who were removed. No client can select by these fields: the names of the fields that clients can select by are
// listed at the type (AddFieldLabelConversionFunc).
func Indexed(kind registry.Kind[*gardenerv1beta1.Project]) registry.Kind[*gardenerv1beta1.Project] {
	selectable := kind.SelectableFields
	kind.SelectableFields = func(project *gardenerv1beta1.Project) fields.Set {
		set := fields.Set{}
		if selectable != nil {
			set = selectable(project)
		}
		for _, reader := range readers(project) {
			set[reader] = ""
		}
		return set
	}
	kind.Indexes = map[string]func(*gardenerv1beta1.Project) []string{readersIndex: readers}
	return kind
}

// readers returns the tokens of the subjects that may get a Project, each once.
func readers(project *gardenerv1beta1.Project) []string {
	all := make([]string, 0, 1+len(project.Spec.Members))
	known := make(sets.Set[string], cap(all))
	add := func(subject *rbacv1.Subject) {
		if one := token(subject); one != "" && !known.Has(one) {
			known.Insert(one)
			all = append(all, one)
		}
	}
	if project.Spec.Owner != nil {
		add(project.Spec.Owner)
	}
	for i := range project.Spec.Members {
		member := &project.Spec.Members[i]
		if slices.ContainsFunc(grants["get"], member.HasRole) {
			add(&member.Subject)
		}
	}
	return all
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

// The colon keeps tokens apart from the fields of the kind.
func userToken(name string) string  { return "user:" + name }
func groupToken(name string) string { return "group:" + name }

// tokens returns the spellings of a user and of the user's groups, each once.
func tokens(who user.Info) []string {
	all := []string{userToken(who.GetName())}
	known := sets.New[string]()
	for _, group := range who.GetGroups() {
		if !known.Has(group) {
			known.Insert(group)
			all = append(all, groupToken(group))
		}
	}
	return all
}

// readable selects, of what another selector selects, the Projects that a user may get.
type readable struct {
	fields.Selector
	// tokens are those of the user.
	tokens []string
	// by is one of them to look up in the index; "" to compare all Projects.
	by string
}

// readableBy narrows a selector, nil for everything, to what a user may get.
func readableBy(who user.Info, selector fields.Selector) readable {
	if selector == nil {
		selector = fields.Everything()
	}
	return readable{Selector: selector, tokens: tokens(who)}
}

// Matches implements fields.Selector. It depends on the groups of the user, and not on the number of members.
func (r readable) Matches(set fields.Fields) bool {
	for _, token := range r.tokens {
		if set.Has(token) {
			return r.Selector.Matches(set)
		}
	}
	return false
}

// Empty implements fields.Selector: it never selects everything.
func (readable) Empty() bool { return false }

// RequiresExactMatch implements fields.Selector. With the index only some of the Projects are found that it selects.
func (r readable) RequiresExactMatch(field string) (string, bool) {
	if field == readersIndex {
		return r.by, r.by != ""
	}
	return r.Selector.RequiresExactMatch(field)
}

// Transform implements fields.Selector.
func (r readable) Transform(transform fields.TransformFunc) (fields.Selector, error) {
	selector, err := r.Selector.Transform(transform)
	if err != nil {
		return nil, err
	}
	r.Selector = selector
	return r, nil
}

// DeepCopySelector implements fields.Selector. The tokens are never changed.
func (r readable) DeepCopySelector() fields.Selector {
	r.Selector = r.Selector.DeepCopySelector()
	return r
}
