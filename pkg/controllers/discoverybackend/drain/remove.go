// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// Removal is the removal of the references to the Services of a backend.
type Removal struct {
	// Backend is the name of the backend.
	Backend string
	// Deleted reports whether a Service is one of those.
	Deleted func(types.NamespacedName) bool
	// Time is when the removal takes place. The zero time means that no record of it is kept.
	Time time.Time
}

// Removed is what a removal does to a route.
type Removed struct {
	// Changed is set when the route is to be written.
	Changed bool
	// Kept are the references that have to stay, and why.
	Kept []string
	// Unrecorded is set when the record is too long for the annotations of the route, so that Restore cannot undo the removal.
	Unrecorded bool
}

// Remove removes references from a route, and records them there for Restore. It does so in what users wanted; other
// backends stay drained. The caller writes the route as after Rewrite.
func (k *Kind) Remove(object *unstructured.Unstructured, removal Removal, backends Backends) (result Removed, err error) {
	before := k.parse(object.Object)
	if !slices.ContainsFunc(before.Services(), removal.Deleted) {
		return Removed{}, nil
	}
	work, spec, err := k.wanted(object, backends)
	if err != nil {
		return Removed{}, err
	}
	stripped, elements, kept := k.strip(spec, work.GetNamespace(), removal.Deleted)
	result.Kept = kept
	if len(elements) > 0 {
		work.Object["spec"] = stripped
		if !removal.Time.IsZero() {
			result.Unrecorded = !k.record(work, elements, removal)
		}
	}
	result.Changed, err = k.settle(object, before, work, backends)
	return result, err
}

// wanted returns a copy of a route as users want it, without a record of weights, and its spec.
func (k *Kind) wanted(object *unstructured.Unstructured, backends Backends) (*unstructured.Unstructured, map[string]any, error) {
	work := object.DeepCopy()
	view := k.parse(work.Object)
	if err := view.apply(view.plan(nowhere{backends})); err != nil {
		return nil, nil, err
	}
	annotate(work.Object, gimbalv1.AnnotationSavedWeights, "")
	spec, _ := work.Object["spec"].(map[string]any)
	return work, spec, nil
}

// settle drains a route that has become what users want now for the backends that are drained, and puts it in the place of
// the object when it differs from that, which it reports.
func (k *Kind) settle(object *unstructured.Unstructured, before *View, work *unstructured.Unstructured, backends Backends) (bool, error) {
	after := k.parse(work.Object)
	after.fingerprint()
	p := after.plan(backends)
	if err := after.apply(p); err != nil {
		return false, err
	}
	lists := differ(object.Object["spec"], work.Object["spec"])
	if len(lists) == 0 && before.saved != nil && equalRules(before.saved.Rules, p.record) {
		return false, nil
	}
	if len(lists) == 0 && before.saved == nil && !before.damaged {
		return false, nil
	}
	if err := before.finish(work, p, lists); err != nil {
		return false, fmt.Errorf("%s: %w", k.describe(object), err)
	}
	object.Object = work.Object
	return true, nil
}

// element is one that a removal changes, in its previous state.
type element struct {
	field    string
	index    int
	content  map[string]any
	services sets.Set[types.NamespacedName]
}

// strip returns a spec without the references that the predicate selects, the elements that this changes, and the references that
// have to stay.
func (k *Kind) strip(
	spec map[string]any, namespace string, deleted selection,
) (stripped map[string]any, changed []element, kept []string) {
	stripped = maps.Clone(spec)
	strip := func(field string, index int, content map[string]any) map[string]any {
		services := sets.New[types.NamespacedName]()
		left, why := k.flavor.strip(field, runtime.DeepCopyJSON(content), namespace, func(service types.NamespacedName) bool {
			if !deleted(service) {
				return false
			}
			services.Insert(service)
			return true
		})
		if why != "" {
			kept = append(kept, fmt.Sprintf("spec.%s[%d].%s", field, index, why))
		}
		if !reflect.DeepEqual(left, content) {
			changed = append(changed, element{field, index, content, services})
		}
		return left
	}
	for _, field := range k.flavor.elements() {
		switch value := spec[field].(type) {
		case map[string]any:
			if left := strip(field, 0, value); left != nil {
				stripped[field] = left
			} else {
				delete(stripped, field)
			}
		case []any:
			items := make([]any, 0, len(value))
			for i, item := range value {
				content, ok := item.(map[string]any)
				if !ok {
					items = append(items, item)
				} else if left := strip(field, i, content); left != nil {
					items = append(items, left)
				}
			}
			if len(value) > 0 {
				setList(stripped, field, items)
			}
		}
	}
	if problem := k.flavor.lacks(stripped); problem != "" && len(changed) > 0 {
		return spec, nil, []string{"spec: " + problem}
	}
	return stripped, changed, kept
}

// nowhere is where no backend is drained and no Service fails over.
type nowhere struct{ Backends }

func (nowhere) Share(string, string) int { return whole }

func (nowhere) FailsOver(types.NamespacedName) bool { return false }

// differ returns the fields of two specs that differ.
func differ(a, b any) map[string]bool {
	before, _ := a.(map[string]any)
	after, _ := b.(map[string]any)
	fields := map[string]bool{}
	for _, spec := range []map[string]any{before, after} {
		for field := range spec {
			if !reflect.DeepEqual(before[field], after[field]) {
				fields[field] = true
			}
		}
	}
	return fields
}
