// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"strconv"
	"strings"

	"groundskeeper.io/groundskeeper/test/bench/sidebyside"
)

// comparisonFlags adds the flags of the comparison with CustomResourceDefinitions.
func comparisonFlags(flags *flag.FlagSet, o *sidebyside.Options) {
	flags.IntVar(&o.Rounds, "rounds", o.Rounds, "sidebyside: how often each contender has its turn")
	flags.IntVar(&o.Objects, "objects", o.Objects, "sidebyside: how many objects live in each cycle of a round")
	flags.StringVar(&o.Profiles, "profiles", "", "sidebyside: the directory for CPU profiles of both API servers under each load; its figures are not to be compared with others")
	for _, list := range []struct {
		name, usage string
		numbers     *[]int
	}{
		{"more-workers", "numbers of clients beside -workers", &o.MoreWorkers},
		{"lists", "numbers of objects to list", &o.Lists},
		{"watchers", "numbers of watchers to report of a change", &o.Watchers},
		{"growth", "numbers of objects, each larger than the one before, for which lists, watches and memory are measured", &o.Growth},
	} {
		flags.Func(list.name, fmt.Sprintf("sidebyside: %s, with commas; empty: none (default %s)", list.usage, join(*list.numbers)), func(text string) (err error) {
			*list.numbers, err = numbers(text)
			return err
		})
	}
	flags.Func("parts", "sidebyside: the parts to run, with commas, of "+strings.Join(sidebyside.Parts(), ", ")+"; empty: all", func(text string) error {
		o.Parts = split(text)
		return nil
	})
}

// split takes a text apart at its commas. An empty one has no parts.
func split(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

func numbers(text string) ([]int, error) {
	var all []int
	for _, part := range split(text) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		all = append(all, n)
	}
	return all, nil
}

func join(numbers []int) string {
	texts := make([]string, len(numbers))
	for i, n := range numbers {
		texts[i] = strconv.Itoa(n)
	}
	return strings.Join(texts, ",")
}
