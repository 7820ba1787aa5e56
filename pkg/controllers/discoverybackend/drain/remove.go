// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// Remove takes references to Services that are gone out of a route. It does so in what users wanted; other backends
// stay drained. kept says which references have to stay, and why. The caller writes the route as after Rewrite.
func (k *Kind) Remove(
	object *unstructured.Unstructured, gone func(types.NamespacedName) bool, backends Backends,
) (changed bool, kept []string, err error) {
	before := k.parse(object.Object)
	if !slices.ContainsFunc(before.Services(), gone) {
		return false, nil, nil
	}
	work := object.DeepCopy()
	wanted := k.parse(work.Object)
	if err := wanted.apply(wanted.plan(nowhere{backends})); err != nil {
		return false, nil, err
	}
	annotate(work.Object, "")
	if spec, ok := work.Object["spec"].(map[string]any); ok {
		kept = k.flavor.remove(spec, work.GetNamespace(), gone)
	}
	after := k.parse(work.Object)
	after.fingerprint()
	p := after.plan(backends)
	if err := after.apply(p); err != nil {
		return false, kept, err
	}
	lists := differ(object.Object["spec"], work.Object["spec"])
	if len(lists) == 0 && before.saved != nil && equalRules(before.saved.Rules, p.record) {
		return false, kept, nil
	}
	if len(lists) == 0 && before.saved == nil && !before.damaged {
		return false, kept, nil
	}
	if err := before.finish(work, p, lists); err != nil {
		return false, kept, fmt.Errorf("%s %s/%s: %w", k.Kind, object.GetNamespace(), object.GetName(), err)
	}
	object.Object = work.Object
	return true, kept, nil
}

// nowhere is where no backend is drained.
type nowhere struct{ Backends }

func (nowhere) Drained(string, string) bool { return false }

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
