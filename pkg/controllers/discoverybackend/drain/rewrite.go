// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain/ownership"
)

// Rewrite makes a route what it should be, with its record, and reports what that was. When the decision is to write, the caller
// updates the route with its resourceVersion and the field manager Manager, then hands fields back. After an error the route is not
// to be written.
func (k *Kind) Rewrite(object *unstructured.Unstructured, backends Backends) (Decision, error) {
	v := k.parse(object.Object)
	if v.saved == nil {
		v.fingerprint()
	}
	p := v.plan(backends)
	if !p.Write {
		return p.Decision, nil
	}
	if err := v.finish(object, p, p.changed); err != nil {
		return p.Decision, fmt.Errorf("%s: %w", k.describe(object), err)
	}
	return p.Decision, v.apply(p)
}

// apply writes the plan into the rules of the route.
func (v *View) apply(p *plan) error {
	for i := range v.rules {
		rule := &v.rules[i]
		items := maps.Collect(rule.source.items())
		for _, x := range p.rules[i].slots {
			switch {
			case equal(x.weight, x.set):
			case x.set != nil:
				items[x.at]["weight"] = *x.set
			default:
				delete(items[x.at], "weight")
			}
		}
		for j := range p.rules[i].lists {
			if err := p.rules[i].lists[j].apply(); err != nil {
				return fmt.Errorf("%s %s: put a mirror back: %w", v.kind.Kind, rule.label(), err)
			}
		}
	}
	return nil
}

// finish writes the record: what was wanted, and who owned the lists that this write changes. It reads managedFields,
// and knows the earlier record.
func (v *View) finish(object *unstructured.Unstructured, p *plan, changed map[string]bool) error {
	next := &record{UID: v.uid, Rules: p.record}
	var earlier []ownership.Owner
	if v.saved != nil {
		earlier = v.saved.Owners
	}
	var err error
	if next.Owners, err = ownership.Taken(object.Object, Manager, slices.Sorted(maps.Keys(changed)), earlier); err != nil {
		return err
	}
	if len(next.Rules) == 0 && len(next.Owners) == 0 {
		annotate(object.Object, gimbalv1.AnnotationSavedWeights, "")
		return nil
	}
	text, err := next.write()
	if err != nil {
		return err
	}
	annotate(object.Object, gimbalv1.AnnotationSavedWeights, text)
	return nil
}

// HandBack gives the fields that Groundskeeper's last write took back to their owners, and drops the record when nothing is saved
// any more. Values do not change. When it changed something, the caller updates the route as after Rewrite.
func HandBack(object *unstructured.Unstructured) (changed bool, err error) {
	saved, _ := readRecord(object.GetAnnotations()[gimbalv1.AnnotationSavedWeights])
	var owners []ownership.Owner
	done := saved != nil && silent(saved.Rules)
	if saved != nil {
		owners = saved.Owners
	}
	changed, err = ownership.HandBack(object.Object, Manager, owners, done)
	if err != nil {
		return false, fmt.Errorf("%s %s/%s: hand fields back: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	if done {
		annotate(object.Object, gimbalv1.AnnotationSavedWeights, "")
	}
	return changed || done, nil
}

// annotate sets an annotation of a route, or deletes it when the value is empty.
func annotate(object map[string]any, key, value string) {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		metadata = map[string]any{}
		object["metadata"] = metadata
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	if value == "" {
		delete(annotations, key)
	} else {
		if annotations == nil {
			annotations = map[string]any{}
		}
		annotations[key] = value
	}
	if len(annotations) == 0 {
		delete(metadata, "annotations")
		return
	}
	metadata["annotations"] = annotations
}
