// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// part is one of the things that are measured.
type part struct {
	name string
	run  func(*comparison, context.Context) error
}

// partGrowth has a dedicated plane: what it measures must not stand on what others left.
const partGrowth = "growth"

// parts returns all except growth, in the order in which they run on one plane.
func parts() []part {
	return []part{
		{"memory", (*comparison).memory}, {"lives", (*comparison).lives}, {"etcd", (*comparison).etcd},
		{"lists", (*comparison).listings}, {"watchers", (*comparison).fanOut}, {"informers", (*comparison).informers},
	}
}

// Parts returns the names that Options.Parts may have.
func Parts() []string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return append(names, partGrowth)
}

// check rejects options before anything is started.
func (o Options) check() error {
	for _, name := range o.Parts {
		if !slices.Contains(Parts(), name) {
			return fmt.Errorf("there is no part %q, only %s", name, strings.Join(Parts(), ", "))
		}
	}
	if o.Rounds < 1 || o.Objects < 1 || o.Workers < 1 {
		return fmt.Errorf("%d rounds with %d objects and %d workers: each needs to be at least 1", o.Rounds, o.Objects, o.Workers)
	}
	for _, numbers := range [][]int{o.MoreWorkers, o.Lists, o.Watchers, o.Growth} {
		if slices.ContainsFunc(numbers, func(n int) bool { return n < 1 }) {
			return fmt.Errorf("%v: each number needs to be at least 1", numbers)
		}
	}
	for i := 1; i < len(o.Growth); i++ {
		if o.Growth[i] <= o.Growth[i-1] {
			return fmt.Errorf("%v: the numbers of objects do not grow", o.Growth)
		}
	}
	return nil
}

// wants reports whether a part is to be run. No names are all.
func (o Options) wants(name string) bool { return len(o.Parts) == 0 || slices.Contains(o.Parts, name) }

// chosen returns the parts that run on one plane.
func (o Options) chosen() []part {
	return slices.DeleteFunc(parts(), func(p part) bool { return !o.wants(p.name) })
}
