// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/sidebyside"
)

func TestComparisonFlags(t *testing.T) {
	parse := func(args ...string) (sidebyside.Options, error) {
		o, flags := sidebyside.Defaults(), flag.NewFlagSet("bench", flag.ContinueOnError)
		flags.SetOutput(io.Discard)
		comparisonFlags(flags, &o)
		return o, flags.Parse(args)
	}
	got, err := parse("-rounds=1", "-objects=60", "-lists=100", "-watchers=1,5", "-growth=100,200", "-more-workers=", "-parts=lives,memory")
	if err != nil {
		t.Fatal(err)
	}
	want := sidebyside.Defaults()
	want.Rounds, want.Objects, want.Lists, want.Watchers, want.Growth = 1, 60, []int{100}, []int{1, 5}, []int{100, 200}
	want.MoreWorkers, want.Parts = nil, []string{"lives", "memory"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, err = parse(); err != nil || !cmp.Equal(sidebyside.Defaults(), got) {
		t.Errorf("no flags: %+v, %v", got, err)
	}
	for _, wrong := range []string{"-lists=many", "-growth=1,,2", "-watchers=1 2"} {
		if _, err := parse(wrong); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
