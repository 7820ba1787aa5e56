// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"iter"
	"math"
	"strconv"
)

// objects returns the objects in a list with their positions. Other values have none.
func objects(list any) iter.Seq2[int, map[string]any] {
	return func(yield func(int, map[string]any) bool) {
		items, _ := list.([]any)
		for i, item := range items {
			if object, ok := item.(map[string]any); ok && !yield(i, object) {
				return
			}
		}
	}
}

func text(value any, unset string) string {
	if s, ok := value.(string); ok {
		return s
	}
	return unset
}

// integer reads a whole number as JSON gives it.
func integer(value any) (int64, bool) {
	switch n := value.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), n == math.Trunc(n) && math.Abs(n) < 1<<53
	}
	return 0, false
}

// port reads a port number as text.
func port(value any) (string, bool) {
	number, ok := integer(value)
	if !ok {
		return "", false
	}
	return strconv.FormatInt(number, 10), true
}

// weight reads the weight of a reference; nil is unset.
func weight(item map[string]any) (*int64, bool) {
	value, set := item["weight"]
	if !set || value == nil {
		return nil, true
	}
	number, ok := integer(value)
	return &number, ok
}

func isZero(weight *int64) bool { return weight != nil && *weight == 0 }

func positive(weight *int64) bool { return weight != nil && *weight > 0 }

func equal(a, b *int64) bool {
	return a == b || a != nil && b != nil && *a == *b
}

// sift divides a list into the remaining elements and the objects that take selects.
func sift(list any, take func(map[string]any) bool) (left, taken []any) {
	items, _ := list.([]any)
	for _, item := range items {
		if object, ok := item.(map[string]any); ok && take(object) {
			taken = append(taken, item)
		} else {
			left = append(left, item)
		}
	}
	return left, taken
}

// setList sets a field to a list, or drops the field when the list is empty.
func setList(object map[string]any, field string, items []any) {
	if len(items) == 0 {
		delete(object, field)
		return
	}
	object[field] = items
}
