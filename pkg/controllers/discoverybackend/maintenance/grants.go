// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
)

func grantsResource() schema.GroupResource {
	return schema.GroupResource{Group: "gateway.networking.k8s.io", Resource: "referencegrants"}
}

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

// grantsFor returns the ReferenceGrants in all other namespaces to which a route refers. It returns an error if not all are known.
func (c *cluster) grantsFor(ctx context.Context, namespace string, names ...[]types.NamespacedName) (map[string][]*grant, error) {
	var grants map[string][]*grant
	for _, name := range slices.Concat(names...) {
		if _, known := grants[name.Namespace]; known || name.Namespace == namespace {
			continue
		}
		found, err := c.reader.Find(ctx, grantsResource(), resourcewatch.Query{Namespace: name.Namespace})
		if err != nil {
			return nil, err
		}
		if grants == nil {
			grants = map[string][]*grant{}
		}
		grants[name.Namespace] = nil
		for _, object := range found {
			if kept, ok := object.Value.(*grant); ok {
				grants[name.Namespace] = append(grants[name.Namespace], kept)
			}
		}
	}
	return grants, nil
}

// Permits implements drain.Judge.
func (m *membership) Permits(kind schema.GroupKind, namespace string, to schema.GroupKind, object types.NamespacedName) bool {
	return slices.ContainsFunc(m.grants[object.Namespace], func(g *grant) bool {
		return g.permits(origin{kind, namespace}, destination{to, object.Name})
	})
}

var _ drain.Judge = &membership{}

// addRoutesInto requests a check of all routes that refer to a Service or a ServiceImport in a namespace, where a ReferenceGrant changed.
func (w *watches) addRoutesInto(ctx context.Context, namespace string) {
	for resource, index := range map[schema.GroupResource]string{servicesResource(): byService, importsResource(): byImport} {
		found, err := w.cluster.reader.Find(ctx, resource, resourcewatch.Query{Namespace: namespace})
		if err != nil {
			continue // each object that is still to come requests a check of its routes
		}
		for _, object := range found {
			w.addRoutes(ctx, index, object.Namespace+"/"+object.Name, gatherPeriodOf)
		}
	}
}
