// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
)

// edit returns a user's change to the live route, as with kubectl edit: of the weight of a reference, its name, an additional
// reference, or the order of two rules. It returns the desired state afterwards, and the edit; nil if the drawn edit makes no
// difference in the live route and in the desired one.
func (d *drawer) edit(wanted, live desired) (desired, func(*unstructured.Unstructured)) {
	changed := wanted.clone()
	i := rapid.IntRange(0, len(wanted)-1).Draw(d.T, "rule")
	rule := &changed[i]
	switch rapid.SampledFrom([]string{"weight", "weight", "add", "swap", "rename", "rename"}).Draw(d.T, "edit") {
	case "weight":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		key, weight, n := rule.refs[j].key, d.weight(), ordinal(rule, j)
		now, ok := live.find(rule.name, key, n)
		if isMirror(key) || !ok || weight == now.weight || weight == rule.refs[j].weight {
			return wanted, nil
		}
		was := rule.refs[j].weight
		rule.refs[j].weight = weight
		kept := d.seen(rule, live, was, weight)
		return changed, func(object *unstructured.Unstructured) {
			setWeight(d.kind, object, i, key, n, weight)
			kept(object, i)
		}
	case "rename":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		key, n := rule.refs[j].key, ordinal(rule, j)
		to := d.key()
		if isMirror(key) || to == key || d.granular {
			return wanted, nil
		}
		kept := func(*unstructured.Unstructured, int) {}
		if now, _ := live.find(rule.name, key, n); now.weight == rule.refs[j].weight {
			kept = d.seen(rule, live, "", now.weight) // the reference is a new one, with this weight
		}
		rule.refs[j].key = to
		return changed, func(object *unstructured.Unstructured) {
			kept(object, i)
			if item := find(d.kind, object, i, key, n); item != nil {
				delete(item, "namespace")
				maps.Copy(item, serviceItem(to))
			}
		}
	case "add":
		ref := desiredRef{d.key(), d.weight()}
		if rule.has(ref.key) {
			return wanted, nil
		}
		kept := d.seen(rule, live, "", ref.weight)
		rule.refs = append(rule.refs, ref)
		return changed, func(object *unstructured.Unstructured) {
			defer kept(object, i)
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

// seen makes weights that maintenance gave to receivers of a rule part of the desired state when a user sets a weight beside them:
// the user saw them. It returns what does so in a route. Another weight where one was before is nothing new: then all Services that
// have one are missing.
func (d *drawer) seen(rule *desiredRule, live desired, was, weight string) func(*unstructured.Unstructured, int) {
	type given struct {
		key    string
		n      int
		weight string
	}
	var all []given
	if _, ok := d.kind.flavor.(contour); ok && isPositive(weight) && !isPositive(was) {
		for j, ref := range rule.refs {
			now, ok := live.find(rule.name, ref.key, ordinal(rule, j))
			if ok && !isMirror(ref.key) && ref.weight != weight && isPositive(now.weight) && !isPositive(ref.weight) {
				all = append(all, given{ref.key, ordinal(rule, j), now.weight})
			}
		}
	}
	for _, each := range all {
		for j, ref := range rule.refs {
			if ref.key == each.key && ordinal(rule, j) == each.n {
				rule.refs[j].weight = each.weight
				d.kept = true
			}
		}
	}
	return func(object *unstructured.Unstructured, i int) {
		for _, each := range all {
			setWeight(d.kind, object, i, each.key, each.n, each.weight)
		}
	}
}

func isPositive(weight string) bool { return weight != "" && weight != "0" }

// ordinal distinguishes a reference of a rule from others with the same key.
func ordinal(rule *desiredRule, j int) (n int) {
	for _, ref := range rule.refs[:j] {
		if ref.key == rule.refs[j].key {
			n++
		}
	}
	return n
}

// setWeight sets the weight of the n-th reference with a key in a rule.
func setWeight(kind *Kind, object *unstructured.Unstructured, rule int, key string, n int, weight string) {
	item := find(kind, object, rule, key, n)
	if item == nil {
		return
	}
	if value, err := strconv.ParseInt(weight, 10, 64); err == nil {
		item["weight"] = value
	} else {
		delete(item, "weight")
	}
}

// find returns the n-th reference with a key in a rule, nil when there is none.
func find(kind *Kind, object *unstructured.Unstructured, rule int, key string, n int) map[string]any {
	for _, item := range kind.flavor.rules(object.Object["spec"].(map[string]any))[rule].items() {
		bare := maps.Clone(item)
		delete(bare, "weight")
		if refText(bare) != key {
			continue
		}
		if n--; n < 0 {
			return item
		}
	}
	return nil
}
