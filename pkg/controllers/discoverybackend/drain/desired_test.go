// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// desired is the state that users last specified for a route: its rules in order, independent of drains.
type desired []desiredRule

type desiredRule struct {
	name string // "tcpproxy", a name or "/path"
	refs []desiredRef
}

type desiredRef struct {
	key    string // as in route, without the weight
	weight string // "" is unset
}

func (w desired) clone() desired {
	copied := slices.Clone(w)
	for i := range copied {
		copied[i].refs = slices.Clone(copied[i].refs)
	}
	return copied
}

// text returns the desired state as route takes it.
func (w desired) text() []string {
	var rules []string
	for _, rule := range w {
		var refs []string
		for _, ref := range rule.refs {
			if ref.weight != "" {
				ref.key += "=" + ref.weight
			}
			refs = append(refs, ref.key)
		}
		rules = append(rules, rule.name+": "+strings.Join(refs, " "))
	}
	return rules
}

func readDesired(rules []string) desired {
	var w desired
	for _, text := range rules {
		name, refs, _ := strings.Cut(text, ": ")
		rule := desiredRule{name: name}
		for _, ref := range strings.Fields(refs) {
			key, weight, _ := strings.Cut(ref, "=")
			rule.refs = append(rule.refs, desiredRef{key, weight})
		}
		w = append(w, rule)
	}
	return w
}

func (r desiredRule) has(key string) bool {
	return slices.ContainsFunc(r.refs, func(ref desiredRef) bool { return ref.key == key })
}

// count returns how many references of the rule have a key.
func (r desiredRule) count(key string) (n int) {
	for _, ref := range r.refs {
		if ref.key == key {
			n++
		}
	}
	return n
}

func isMirror(key string) bool { return strings.HasPrefix(key, "mirror:") }

// find returns the n-th reference with a key in the rule with a name.
func (w desired) find(name, key string, n int) (desiredRef, bool) {
	for _, rule := range w {
		if rule.name != name {
			continue
		}
		for _, ref := range rule.refs {
			if ref.key == key {
				if n--; n < 0 {
					return ref, true
				}
			}
		}
	}
	return desiredRef{}, false
}

// heard returns what becomes of the desired state when users write a manifest: the content of the manifest, but where the live
// route reports so already, the change cannot be observed.
func (d *drawer) heard(before, manifest, live desired) desired {
	result := manifest.clone()
	for i, rule := range manifest {
		seen := map[string]int{}
		for j, ref := range rule.refs {
			n := seen[ref.key]
			seen[ref.key]++
			was, ok := before.find(rule.name, ref.key, n)
			now, there := live.find(rule.name, ref.key, n)
			if ok && there && !isMirror(ref.key) && now.weight == ref.weight {
				result[i].refs[j].weight = was.weight
			}
		}
		for j := range rule.refs {
			// A weight that is news is that of the edited reference.
			now, ok := live.find(rule.name, rule.refs[j].key, ordinal(&rule, j))
			if isMirror(rule.refs[j].key) || ok && now.weight == rule.refs[j].weight || !ok && before.has(rule, rule.refs[j].key) {
				continue
			}
			was, _ := before.find(rule.name, rule.refs[j].key, ordinal(&rule, j))
			d.seen(&result[i], d.same(before, live, rule), was.weight, rule.refs[j].weight)
		}
	}
	return result
}

// has reports whether a rule of the desired state has a reference with a key.
func (w desired) has(rule desiredRule, key string) bool {
	return slices.ContainsFunc(w, func(had desiredRule) bool { return had.name == rule.name && had.has(key) })
}

// same returns what a rule of a manifest repeats. Where each weight has an owner, one that the manifest does not have stays.
func (d *drawer) same(before, live desired, rule desiredRule) desired {
	repeated := desiredRule{name: rule.name}
	for j, ref := range rule.refs {
		now, ok := live.find(rule.name, ref.key, ordinal(&rule, j))
		was, _ := before.find(rule.name, ref.key, ordinal(&rule, j))
		switch {
		case ok && d.granular && ref.weight == "" && !isPositive(was.weight):
			ref.weight = now.weight
		case !ok || now.weight != ref.weight:
			ref.weight = ""
		}
		repeated.refs = append(repeated.refs, ref)
	}
	return desired{repeated}
}

// drawer draws routes of a kind, and changes to them.
type drawer struct {
	*rapid.T
	kind  *Kind
	names int
	// granular routes have no reference twice.
	granular bool
	// kept is set when a weight that maintenance gave to a receiver became one that a user wants.
	kept bool
}

func (d *drawer) weight() string {
	return rapid.SampledFrom([]string{"", "", "0", "1", "5", "100"}).Draw(d.T, "weight")
}

func (d *drawer) key() string {
	keys := []string{"us-web", "us-api", "us-web:81", "eu-web", "eu-api", "web", "api"}
	if _, ok := d.kind.flavor.(gateway); ok {
		keys = append(keys, "far/us-web", "far/web")
	}
	return rapid.SampledFrom(keys).Draw(d.T, "key")
}

func (d *drawer) rule() desiredRule {
	d.names++
	rule := desiredRule{name: fmt.Sprintf("rule-%d", d.names)}
	if rapid.Bool().Draw(d.T, "no name") {
		rule.name = "/" + rule.name
	}
	if _, ok := d.kind.flavor.(contour); ok {
		rule.name = strings.TrimPrefix(rule.name, "/")
	}
	for range rapid.IntRange(1, 4).Draw(d.T, "refs") {
		ref := desiredRef{d.key(), d.weight()}
		if !d.granular || !rule.has(ref.key) {
			rule.refs = append(rule.refs, ref)
		}
	}
	if mirrors := map[string]bool{"HTTPProxy": true, "HTTPRoute": true, "GRPCRoute": true}; mirrors[d.kind.Kind] {
		for range rapid.IntRange(0, 2).Draw(d.T, "mirrors") {
			mirror := desiredRef{key: "mirror:" + rapid.SampledFrom([]string{"us-web", "eu-web", "web"}).Draw(d.T, "mirror")}
			at := len(rule.refs)
			if d.kind.Kind == "HTTPProxy" {
				at = rapid.IntRange(0, len(rule.refs)).Draw(d.T, "at")
			}
			if !rule.has(mirror.key) {
				rule.refs = slices.Insert(rule.refs, at, mirror)
			}
		}
	}
	return rule
}

func (d *drawer) desired() desired {
	var w desired
	for range rapid.IntRange(1, 4).Draw(d.T, "rules") {
		w = append(w, d.rule())
	}
	if _, ok := d.kind.flavor.(contour); ok && rapid.Bool().Draw(d.T, "tcpproxy") {
		rule := d.rule()
		rule.name = "tcpproxy"
		rule.refs = slices.DeleteFunc(rule.refs, func(ref desiredRef) bool { return isMirror(ref.key) })
		w = append(w, rule)
	}
	return w
}

// change changes the desired state in one way; settle reports that it can only be distinguished from others when it is alone.
func (d *drawer) change(w desired) (changed desired, settle bool) {
	changed = w.clone()
	i := rapid.IntRange(0, len(w)-1).Draw(d.T, "rule")
	rule := &changed[i]
	routes := len(w)
	if w[len(w)-1].name == "tcpproxy" {
		routes--
	}
	switch rapid.SampledFrom([]string{"weight", "weight", "weight", "equal", "add", "remove", "rename", "rule", "drop", "swap", "none"}).Draw(d.T, "change") {
	case "weight":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		if !isMirror(rule.refs[j].key) {
			rule.refs[j].weight = d.weight()
		}
	case "equal":
		// All get the weight that a drain gives to the others of an even distribution.
		for j := range rule.refs {
			if !isMirror(rule.refs[j].key) {
				rule.refs[j].weight = "1"
			}
		}
	case "rename":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		// Of several references to a Service, a manifest does not state which one was renamed.
		if to := d.key(); !isMirror(rule.refs[j].key) && rule.count(rule.refs[j].key) == 1 && !rule.has(to) {
			rule.refs[j].key = to
		}
		return changed, true
	case "add":
		if ref := (desiredRef{d.key(), d.weight()}); !rule.has(ref.key) {
			rule.refs = append(rule.refs, ref)
		}
		return changed, true
	case "remove":
		j := rapid.IntRange(0, len(rule.refs)-1).Draw(d.T, "ref")
		if key := rule.refs[j].key; rule.count(key) == 1 && !isMirror(key) && len(rule.refs) > 1 {
			rule.refs = slices.Delete(rule.refs, j, j+1)
		}
		return changed, true
	case "rule":
		changed = slices.Insert(changed, rapid.IntRange(0, routes).Draw(d.T, "at"), d.rule())
	case "drop":
		if routes > 1 && i < routes {
			changed = slices.Delete(changed, i, i+1)
		}
	case "swap":
		j := rapid.IntRange(0, max(routes-1, 0)).Draw(d.T, "with")
		if i < routes {
			changed[i], changed[j] = changed[j], changed[i]
		}
	}
	return changed, false
}
