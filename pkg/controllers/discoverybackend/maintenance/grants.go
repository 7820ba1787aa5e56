// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// grant is what is kept of a ReferenceGrant: from where to what it permits references. A name that is empty permits all of a kind.
type grant struct {
	from []origin
	to   []destination
}

type origin struct {
	schema.GroupKind
	namespace string
}

type destination struct {
	schema.GroupKind
	name string
}

// grantOf reads a ReferenceGrant.
func grantOf(content map[string]any) any {
	spec, _ := content["spec"].(map[string]any)
	kept := &grant{}
	for _, item := range objectsIn(spec["from"]) {
		kept.from = append(kept.from, origin{groupKind(item), textIn(item, "namespace")})
	}
	for _, item := range objectsIn(spec["to"]) {
		kept.to = append(kept.to, destination{groupKind(item), textIn(item, "name")})
	}
	return kept
}

func objectsIn(list any) []map[string]any {
	items, _ := list.([]any)
	var found []map[string]any
	for _, item := range items {
		if object, ok := item.(map[string]any); ok {
			found = append(found, object)
		}
	}
	return found
}

func textIn(item map[string]any, field string) string {
	text, _ := item[field].(string)
	return text
}

func groupKind(item map[string]any) schema.GroupKind {
	return schema.GroupKind{Group: textIn(item, "group"), Kind: textIn(item, "kind")}
}

// permits reports whether a grant, which is in the namespace of the object, permits a reference.
func (g *grant) permits(from origin, to destination) bool {
	return slices.Contains(g.from, from) && slices.ContainsFunc(g.to, func(d destination) bool {
		return d.GroupKind == to.GroupKind && (d.name == "" || d.name == to.name)
	})
}
