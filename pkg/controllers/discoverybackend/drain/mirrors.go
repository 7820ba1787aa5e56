// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"encoding/json"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// listPlan is what a list with mirrors should be.
type listPlan struct {
	list *mirrors
	// items are what the list should have: positions in it, and mirrors to put back.
	items   []listItem
	taken   []mirrorRecord
	changed bool
}

// listItem is a position in the current list or, when that is negative, a mirror that had been removed.
type listItem struct {
	at    int
	saved *mirrorRecord
}

// planList decides about the mirrors of one list: what was removed comes back to its position, then what is drained is removed.
func (v *View) planList(p *plan, list *mirrors, saved *ruleRecord, backends Backends) listPlan {
	back := saved.mirrors(list)
	result := listPlan{list: list}
	wanted := make([]listItem, 0, list.length+len(back))
	for at := range list.length {
		wanted = append(wanted, listItem{at: at})
	}
	for i := range back {
		at := max(0, min(back[i].At, len(wanted)))
		wanted = slices.Insert(wanted, at, listItem{at: -1, saved: &back[i]})
	}
	for at, item := range wanted {
		backend, taken := v.mirrorOf(list, item, saved, backends)
		if backend != "" {
			p.outcome(backend)
		}
		switch {
		case backend != "" && backends.Share(backend, v.namespace) == 0:
			taken.Backend, taken.At = backend, at
			result.taken = append(result.taken, taken)
			result.changed = result.changed || item.saved == nil
			if item.saved == nil && saved.has(list, taken.Service) {
				p.Forced++
			}
		default:
			if backend != "" {
				p.receivesCopies(backend)
			}
			result.items = append(result.items, item)
			result.changed = result.changed || item.saved != nil
		}
	}
	return result
}

// mirrorOf returns the backend that an item of a list sends copies to, "" when it is no mirror or of no backend, and what to record
// when it is removed.
func (v *View) mirrorOf(list *mirrors, item listItem, saved *ruleRecord, backends Backends) (string, mirrorRecord) {
	if item.saved != nil {
		recorded := recordedRef(item.saved.Service)
		return backendOf(backends, &recorded, item.saved.Backend), *item.saved
	}
	i := slices.IndexFunc(list.found, func(m mirror) bool { return m.at == item.at })
	if i < 0 {
		return "", mirrorRecord{}
	}
	found := &list.found[i]
	recorded := ""
	if saved != nil {
		for _, m := range saved.Mirrors {
			if m.Service == found.ref.key {
				recorded = m.Backend
			}
		}
	}
	content, err := json.Marshal(found.content)
	if err != nil {
		return "", mirrorRecord{} // it came from JSON
	}
	return backendOf(backends, &found.ref, recorded), mirrorRecord{Service: found.ref.key, place: list.place, Content: content}
}

// mirrors returns the mirrors that were removed from a list, in the order of their positions. A mirror that exists again is
// omitted, because the user's version takes precedence.
func (r *ruleRecord) mirrors(list *mirrors) []mirrorRecord {
	if r == nil {
		return nil
	}
	again := map[string]int{}
	for _, found := range list.found {
		again[found.ref.key]++
	}
	var back []mirrorRecord
	for _, mirror := range r.Mirrors {
		switch {
		case mirror.place != list.place:
		case again[mirror.Service] > 0:
			again[mirror.Service]--
		default:
			back = append(back, mirror)
		}
	}
	slices.SortStableFunc(back, func(a, b mirrorRecord) int { return cmp.Compare(a.At, b.At) })
	return back
}

// has reports whether a mirror to a Service was removed from a list.
func (r *ruleRecord) has(list *mirrors, service string) bool {
	return r != nil && slices.ContainsFunc(r.Mirrors, func(m mirrorRecord) bool { return m.place == list.place && m.Service == service })
}

// apply makes the list what it should be.
func (l *listPlan) apply() error {
	if !l.changed {
		return nil
	}
	live, _ := l.list.holder[l.list.List].([]any)
	items := make([]any, 0, len(l.items))
	for _, item := range l.items {
		if item.saved == nil {
			items = append(items, live[item.at])
			continue
		}
		var content map[string]any
		if err := utiljson.Unmarshal(item.saved.Content, &content); err != nil {
			return err
		}
		items = append(items, content)
	}
	l.list.holder[l.list.List] = items
	return nil
}
