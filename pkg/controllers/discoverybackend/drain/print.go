// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"encoding/hex"
	"encoding/json"
	"hash/fnv"
	"maps"
	"slices"
)

// fingerprint gives each rule its print, a hash of everything that a drain does not change, and its frame, which is a
// hash of the same without the references.
func (v *View) fingerprint() {
	for i := range v.rules {
		v.rules[i].print, v.rules[i].frame = v.rules[i].fingerprint()
	}
}

func (r *rule) fingerprint() (whole, frame string) {
	content := maps.Clone(r.source.content)
	if r.list == fieldDefaultBackend {
		content = nil // the rule is a field of the spec
	}
	skip := map[string]map[int]bool{}
	for _, list := range r.lists {
		if list.Ref == "" {
			skip[list.List] = positions(list.found)
		}
	}
	for field, positions := range skip {
		if field != r.source.references {
			prune(content, field, positions)
		}
	}
	var refs []any
	for at, item := range r.source.items() {
		if skip[r.source.references][at] {
			continue
		}
		bare := maps.Clone(item)
		delete(bare, "weight")
		for _, list := range r.lists {
			if list.Ref != "" && r.refAt(list.place) == at {
				prune(bare, list.List, positions(list.found))
			}
		}
		refs = append(refs, bare)
	}
	if content != nil {
		delete(content, r.source.references)
		frame = hash(r.list, content)
		content[r.source.references] = refs
	}
	return hash(r.list, content), frame
}

// refAt returns the position of the reference that a list of filters belongs to.
func (r *rule) refAt(at place) int {
	i := slices.IndexFunc(r.refs, func(ref ref) bool { return ref.key == at.Ref && ref.ordinal == at.Ordinal })
	if i < 0 {
		return -1
	}
	return r.refs[i].at
}

func positions(found []mirror) map[int]bool {
	at := map[int]bool{}
	for _, mirror := range found {
		at[mirror.at] = true
	}
	return at
}

// prune takes positions out of a list of an object.
func prune(object map[string]any, field string, skip map[int]bool) {
	items, ok := object[field].([]any)
	if !ok {
		return
	}
	var left []any
	for i, item := range items {
		if !skip[i] {
			left = append(left, item)
		}
	}
	setList(object, field, left)
}

// keys returns what the rule refers to, sorted.
func (r *rule) keys() []string {
	keys := make([]string, 0, len(r.refs))
	for _, ref := range r.refs {
		keys = append(keys, ref.key)
	}
	slices.Sort(keys)
	return keys
}

// hash returns the hash of the content of a rule, "" for content that is not JSON.
func hash(list string, content map[string]any) string {
	text, err := json.Marshal([]any{list, content})
	if err != nil {
		return ""
	}
	h := fnv.New64a()
	h.Write(text)
	return hex.EncodeToString(h.Sum(nil))
}
