// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"slices"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// Found is an object that a search found.
type Found struct {
	Key   string `json:"key"`
	Kind  string `json:"kind"`
	Label string `json:"label"`
	State string `json:"state,omitempty"`
	// Level is that of its most important finding, "" without findings.
	Level report.Level `json:"level,omitempty"`
}

// search finds objects by parts of their namespace and name, and how many there are. title limits it to a kind, "" is all.
func (s *store) search(title, text string, limit int) (all []Found, total int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := strings.Fields(strings.ToLower(text))
	for _, k := range s.options.Kinds {
		if title != "" && title != k.Title {
			continue
		}
		for name, e := range s.kinds[k.Title].objects {
			label := strings.TrimPrefix(name.String(), "/")
			if slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(label, word) && word != k.Name }) {
				continue
			}
			f := Found{Key: keyOf(k, name), Kind: k.Title, Label: label, State: e.state}
			if e.row != nil {
				f.Level = report.Worst(e.row.Findings)
			}
			all = append(all, f)
		}
	}
	total = len(all)
	slices.SortFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(len(a.Label), len(b.Label)), cmp.Compare(a.Label, b.Label), cmp.Compare(a.Kind, b.Kind))
	})
	return all[:min(limit, total)], total
}
