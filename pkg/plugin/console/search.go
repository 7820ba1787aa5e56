// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// Found is an object that a search found.
type Found struct {
	Key       string `json:"key"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Title is its name in words, if the name is a generated one.
	Title     string    `json:"title,omitempty"`
	State     string    `json:"state,omitempty"`
	CreatedAt time.Time `json:"createdAt"`
	// Level is that of its most important finding, "" without findings.
	Level report.Level `json:"level,omitempty"`
}

func (f *Found) label() string { return report.Name(f.Namespace, f.Name) }

// search selects objects of a kind ("" is all) and a namespace by words, and a window of them in an order.
type search struct {
	kind, namespace, text string
	// order is a column of the list. Without one, the shortest names are first.
	order       string
	descending  bool
	from, limit int
}

func searchOf(query url.Values) search {
	number := func(name string, least, most, otherwise int) int {
		n, err := strconv.Atoi(query.Get(name))
		if err != nil || n < least || n > most {
			return otherwise
		}
		return n
	}
	order, descending := strings.CutPrefix(query.Get("sort"), "-")
	return search{
		kind: query.Get("kind"), namespace: query.Get("namespace"), text: query.Get("q"), order: order, descending: descending,
		from: number("from", 0, 1<<30, 0), limit: number("limit", 1, maxFound, maxFound),
	}
}

// compare orders two objects.
func (q *search) compare(a, b Found) int {
	byLabel := cmp.Or(cmp.Compare(a.label(), b.label()), cmp.Compare(a.Kind, b.Kind))
	var order int
	switch q.order {
	case "kind":
		order = cmp.Compare(a.Kind, b.Kind)
	case "namespace":
		order = cmp.Compare(a.Namespace, b.Namespace)
	case "name":
		order = cmp.Compare(cmp.Or(a.Title, a.Name), cmp.Or(b.Title, b.Name))
	case "state":
		order = cmp.Compare(a.State, b.State)
	case "findings":
		order = cmp.Compare(b.Level.Rank(), a.Level.Rank()) // the most important ones first
	case "age":
		order = b.CreatedAt.Compare(a.CreatedAt) // the youngest ones first
	default:
		order = cmp.Compare(len(a.label()), len(b.label()))
	}
	if q.descending {
		order = -order
	}
	return cmp.Or(order, byLabel)
}

// search finds objects by parts of their namespace and name, and how many there are.
func (s *store) search(q search) (all []Found, total int) {
	words := strings.Fields(strings.ToLower(q.text))
	for _, k := range s.options.Kinds {
		if q.kind == "" || q.kind == k.Title {
			all = s.match(all, k, q.namespace, words)
		}
	}
	total = len(all)
	slices.SortFunc(all, q.compare)
	return all[min(q.from, total):min(q.from+q.limit, total)], total
}

// match appends the objects of a kind that have all words.
func (s *store) match(all []Found, k Kind, namespace string, words []string) []Found {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, e := range s.kinds[k.Title].objects {
		if namespace != "" && name.Namespace != namespace {
			continue
		}
		f := Found{Kind: k.Title, Namespace: name.Namespace, Name: name.Name, Title: e.title, State: e.state, CreatedAt: e.created}
		if label := f.label(); slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(label, word) && word != k.Name }) {
			continue
		}
		if f.Key = keyOf(k, name); e.row != nil {
			f.Level = report.Worst(e.row.Findings)
		}
		all = append(all, f)
	}
	return all
}
