// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"groundskeeper.io/groundskeeper/test/bench/report"
)

func TestLinear(t *testing.T) {
	all := []cost{
		{what: costHeap, series: crdName, objects: 100, spread: once(1)},
		{what: costHeap, series: ownName, objects: 100, spread: once(1)},
		{what: costResident, series: ownName, objects: 100, spread: once(1)},
		{what: costStored, series: ownName, objects: 100, spread: once(0)}, // nothing to compare with
		{what: costHeap, series: crdName, objects: 1000, spread: once(30)},
		{what: costHeap, series: ownName, objects: 1000, spread: once(16)},
		{what: costResident, series: ownName, objects: 1000, spread: once(99)},
		{what: costStored, series: ownName, objects: 1000, spread: once(5)},
		{what: "a list", series: ownName, objects: 100, spread: spread{1, 2, 4}}, // measured once: nothing grows
	}
	figures := reported(t, func(r *report.Reporter) error {
		c := &costs{reporter: r}
		for _, one := range all {
			if err := c.add(one); err != nil {
				return err
			}
		}
		return c.linear()
	})
	if len(figures) < len(all) {
		t.Fatalf("%d figures for %d costs", len(figures), len(all))
	}
	list := figures[len(all)-1]
	if list.Objects != 100 || list.Value != 2 || *list.Least != 1 || *list.Most != 4 {
		t.Errorf("the list is reported as %+v", list)
	}
	const name = growing + costHeap + " for each object, relative to that with the fewest"
	want := []report.Figure{
		{Benchmark: benchmark, Series: crdName, Name: name, Value: 3, Unit: "1", Objects: 1000},
		{Benchmark: benchmark, Series: ownName, Name: name, Value: 1.6, Unit: "1", Objects: 1000, Goal: new(1.5)},
	}
	if diff := cmp.Diff(want, figures[len(all):]); diff != "" {
		t.Error(diff)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestCostThatCannotBeReported(t *testing.T) {
	c := &costs{reporter: &report.Reporter{Users: broken{}, Programs: broken{}}}
	if c.add(cost{what: costHeap}) == nil {
		t.Error("a figure was lost")
	}
}
