// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package sidebyside

import (
	"groundskeeper.io/groundskeeper/test/bench/report"
)

// growing begins the names of all figures of the growth: what follows is the same for each number of objects.
const growing = "scaling: "

// Names of what is there.
const (
	costHeap     = "heap after a garbage collection"
	costResident = "resident memory"
	costStored   = "bytes in etcd"
)

// goalLinear is how much more an object may cost among the most than among the fewest.
const goalLinear = 1.5

// cost is what all objects of a number cost together.
type cost struct {
	what, series, unit string
	objects            int
	spread
}

// each returns the cost of one of the objects.
func (c cost) each() float64 { return c.median / float64(c.objects) }

// costs reports and remembers costs.
type costs struct {
	reporter *report.Reporter
	all      []cost
}

func (c *costs) add(one cost) error {
	c.all = append(c.all, one)
	f := report.Figure{Benchmark: benchmark, Series: one.series, Name: growing + one.what, Value: one.median, Unit: one.unit, Objects: one.objects}
	if one.most > one.least {
		f.Least, f.Most = &one.least, &one.most
	}
	return c.reporter.Add(f)
}

// linear reports of each cost what an object takes among the most as a part of what it takes among the fewest. Resident
// memory has steps, which some objects more may take or not: it has no such figure.
func (c *costs) linear() error {
	first := map[[2]string]cost{}
	last := map[[2]string]cost{}
	var keys [][2]string
	for _, one := range c.all {
		key := [2]string{one.what, one.series}
		if _, known := first[key]; !known {
			first[key] = one
			keys = append(keys, key)
		}
		last[key] = one
	}
	for _, key := range keys {
		fewest, most := first[key], last[key]
		if fewest.objects == most.objects || fewest.median <= 0 || fewest.what == costResident {
			continue
		}
		f := report.Figure{
			Benchmark: benchmark, Series: most.series, Name: growing + most.what + " for each object, relative to that with the fewest",
			Value: most.each() / fewest.each(), Unit: "1", Objects: most.objects,
		}
		if most.series != crdName {
			f.Goal = new(goalLinear)
		}
		if err := c.reporter.Add(f); err != nil {
			return err
		}
	}
	return nil
}
