// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheck(t *testing.T) {
	if err := Defaults().check(); err != nil {
		t.Errorf("the defaults are rejected: %v", err)
	}
	for name, change := range map[string]func(*Options){
		"an unknown part":      func(o *Options) { o.Parts = []string{"lives", "lifes"} },
		"an empty part":        func(o *Options) { o.Parts = []string{""} },
		"no rounds":            func(o *Options) { o.Rounds = 0 },
		"no objects":           func(o *Options) { o.Objects = 0 },
		"no workers":           func(o *Options) { o.Workers = 0 },
		"no worker at last":    func(o *Options) { o.MoreWorkers = []int{1, 0} },
		"a list of nothing":    func(o *Options) { o.Lists = []int{0} },
		"negative watchers":    func(o *Options) { o.Watchers = []int{-1} },
		"growth that shrinks":  func(o *Options) { o.Growth = []int{10, 5} },
		"growth without any":   func(o *Options) { o.Growth = []int{0, 5} },
		"growth that is still": func(o *Options) { o.Growth = []int{5, 5} },
	} {
		o := Defaults()
		change(&o)
		if o.check() == nil {
			t.Errorf("%s is taken: %+v", name, o)
		}
	}
}

func TestChosen(t *testing.T) {
	names := func(o Options) (all []string) {
		for _, p := range o.chosen() {
			all = append(all, p.name)
		}
		return all
	}
	if diff := cmp.Diff(Parts(), append(names(Options{}), partGrowth)); diff != "" {
		t.Errorf("no choice: %s", diff)
	}
	some := Options{Parts: []string{"lives", partGrowth, "memory"}}
	if got := names(some); !slices.Equal(got, []string{"memory", "lives"}) || !some.wants(partGrowth) || some.wants("lists") {
		t.Errorf("%v makes %v", some.Parts, got)
	}
	if alone := (Options{Parts: []string{partGrowth}}); len(names(alone)) > 0 {
		t.Errorf("growth alone makes %v", names(alone))
	}
}
