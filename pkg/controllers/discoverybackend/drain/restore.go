// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Restored is what Restore does to a route.
type Restored struct {
	// Elements are the parts of the spec that get their references back.
	Elements []string
	// Skipped are those that do not, and why.
	Skipped []string
}

// Restore puts the references to the Services of a backend back that were removed from a route, where the route still is as
// the removal left it. A record is an annotation, which every user can write who can write the route. So in what is still there
// it adds nothing but references to Services for which exists is true. The caller writes the route as after Rewrite when an element is
// restored.
func (k *Kind) Restore(
	object *unstructured.Unstructured, backend string, exists func(types.NamespacedName) bool, backends Backends,
) (result Restored, err error) {
	removals, err := readRemovals(object)
	if err != nil {
		return Restored{}, fmt.Errorf("%s: %w", k.describe(object), err)
	}
	if !slices.ContainsFunc(removals, func(r removal) bool { return r.names(backend) }) {
		return Restored{}, nil
	}
	before := k.parse(object.Object)
	work, live, err := k.wanted(object, backends)
	if err != nil {
		return Restored{}, err
	}
	spec := maps.Clone(live)
	var rest []removal
	for _, r := range removals {
		if !r.names(backend) {
			rest = append(rest, r)
			continue
		}
		isOther := func(from removedFrom) bool { return from.Backend != backend }
		left, back := k.without(&r, work.GetNamespace(), nil), k.without(&r, work.GetNamespace(), isOther)
		problem := r.missing(backend, exists)
		if problem == "" && !put(spec, live, &r, left, back) {
			problem = "it was changed since its references were removed"
		}
		if problem != "" {
			result.Skipped = append(result.Skipped, r.label()+": "+problem)
			rest = append(rest, r)
			continue
		}
		result.Elements = append(result.Elements, r.label())
		if r.Backends = r.others(backend); len(r.Backends) > 0 {
			rest = append(rest, r)
		}
	}
	if len(result.Elements) == 0 {
		return result, nil
	}
	work.Object["spec"] = spec
	if !writeRemovals(work, rest) {
		return Restored{}, fmt.Errorf("%s: the annotations of the route are too long", k.describe(object))
	}
	_, err = k.settle(object, before, work, backends)
	return result, err
}

// put puts an element back into a spec in the place of what was left of it, and reports whether that is still there. live is
// the spec before anything was put back.
func put(spec, live map[string]any, r *removal, left, back map[string]any) bool {
	there, isList := live[r.Field].([]any)
	items, _ := spec[r.Field].([]any)
	items = slices.Clone(items)
	isLeft := func(item any) bool { return same(item, left) }
	switch at := r.Index; {
	case back == nil:
		return false
	case r.Single:
		if left == nil && live[r.Field] != nil || left != nil && !isLeft(live[r.Field]) {
			return false
		}
		spec[r.Field] = back
	case left == nil:
		// A rule of an Ingress that was removed as a whole: another one of its host takes its place.
		if !isList && live[r.Field] != nil || slices.ContainsFunc(there, func(item any) bool { return hostOf(item) == hostOf(back) }) {
			return false
		}
		spec[r.Field] = slices.Insert(items, min(at, len(items)), any(back))
	default:
		if at < 0 || at >= len(items) || !isLeft(items[at]) {
			at = slices.IndexFunc(items, isLeft)
		}
		if at < 0 {
			return false
		}
		items[at] = back
		spec[r.Field] = items
	}
	return true
}

func hostOf(rule any) string {
	content, _ := rule.(map[string]any)
	return text(content["host"], "")
}

// DiscardRemovals drops what was removed from a route before a time from its record, and a record that cannot be read. It reports
// whether the route is to be written.
func (k *Kind) DiscardRemovals(object *unstructured.Unstructured, before time.Time) bool {
	removals, err := readRemovals(object)
	if err != nil {
		annotateRemovals(object, "")
		return true
	}
	var rest []removal
	changed := false
	for _, r := range removals {
		isOld := func(from removedFrom) bool { return from.Time.Time.Before(before) }
		if !slices.ContainsFunc(r.Backends, isOld) {
			rest = append(rest, r)
			continue
		}
		changed = true
		content := k.without(&r, object.GetNamespace(), isOld)
		r.Backends = slices.DeleteFunc(slices.Clone(r.Backends), isOld)
		if content != nil && len(r.Backends) > 0 {
			r.Content = content
			rest = append(rest, r)
		}
	}
	return changed && writeRemovals(object, rest)
}
