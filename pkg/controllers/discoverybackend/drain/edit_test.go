// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// edit is what a user changes in a route as it stands there, as with kubectl edit: the weight of a reference, one
// reference more, or the places of two rules. It returns the wish afterwards, and the edit; nil when it draws none that
// makes a difference in the live route and in the wish.
func (d *drawer) edit(wanted, live wish) (wish, func(*unstructured.Unstructured)) {
	changed := wanted.clone()
	i := rapid.IntRange(0, len(wanted)-1).Draw(d.T, "rule")
	rule := &changed[i]
	switch rapid.SampledFrom([]string{"weight", "weight", "add", "swap"}).Draw(d.T, "edit") {
	case "weight":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		key, weight, n := rule.refs[j].key, d.weight(), 0
		for _, ref := range rule.refs[:j] {
			if ref.key == key {
				n++
			}
		}
		now, ok := live.find(rule.name, key, n)
		if isMirror(key) || !ok || weight == now.weight || weight == rule.refs[j].weight {
			return wanted, nil
		}
		rule.refs[j].weight = weight
		return changed, func(object *unstructured.Unstructured) { setWeight(d.kind, object, i, key, n, weight) }
	case "add":
		ref := wishRef{d.key(), d.weight()}
		if rule.has(ref.key) {
			return wanted, nil
		}
		rule.refs = append(rule.refs, ref)
		return changed, func(object *unstructured.Unstructured) {
			source := d.kind.flavor.rules(object.Object["spec"].(map[string]any))[i]
			items, _ := source.content[source.references].([]any)
			item := serviceItem(ref.key)
			if ref.weight != "" {
				item = serviceItem(ref.key + "=" + ref.weight)
			}
			source.content[source.references] = append(items, item)
		}
	default:
		j := rapid.IntRange(0, len(wanted)-1).Draw(d.T, "with")
		if i == j || changed[i].name == "tcpproxy" || changed[j].name == "tcpproxy" || d.granular {
			return wanted, nil
		}
		changed[i], changed[j] = changed[j], changed[i]
		return changed, func(object *unstructured.Unstructured) {
			spec := object.Object["spec"].(map[string]any)
			rules := slices.Clone(spec[d.kind.flavor.rules(spec)[i].list].([]any))
			rules[i], rules[j] = rules[j], rules[i]
			spec[d.kind.flavor.rules(spec)[i].list] = rules
		}
	}
}

// setWeight sets the weight of the n-th reference with a key in a rule.
func setWeight(kind *Kind, object *unstructured.Unstructured, rule int, key string, n int, weight string) {
	for _, item := range kind.flavor.rules(object.Object["spec"].(map[string]any))[rule].items() {
		bare := with(item, "weight", nil)
		delete(bare, "weight")
		if refText(bare) != key {
			continue
		}
		if n--; n >= 0 {
			continue
		}
		if value, err := strconv.ParseInt(weight, 10, 64); err == nil {
			item["weight"] = value
		} else {
			delete(item, "weight")
		}
		return
	}
}
