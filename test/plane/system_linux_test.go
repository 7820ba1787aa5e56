// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"os/exec"
	"testing"
)

func TestParseStat(t *testing.T) {
	const (
		rest    = " 1 4711 4711 0 -1 4194560 1105 0 0 0 1 2 0 0 20 0 1 0 987654 1268 1"
		threads = " 1 4711 4711 0 -1 4194560 1105 0 0 0 1 2 0 0 20 0 10 0 987654 1268 1"
	)
	for name, test := range map[string]struct {
		stat, ticks string
		running     bool
		fails       bool
	}{
		"running":         {stat: "4711 (etcd) S" + rest, ticks: "987654", running: true},
		"spaces in name":  {stat: "4711 (my etcd) R" + rest, ticks: "987654", running: true},
		"hostile name":    {stat: "4711 (a) Z 1 (b) S" + rest, ticks: "987654", running: true},
		"waits for reap":  {stat: "4711 (etcd) Z" + rest, ticks: "987654"},
		"threads end yet": {stat: "4711 (etcd) Z" + threads, ticks: "987654", running: true},
		"dead":            {stat: "4711 (etcd) X" + rest, ticks: "987654"},
		"too few fields":  {stat: "4711 (etcd) S 1 2", fails: true},
		"nothing at all":  {stat: "", fails: true},
		"no name in it":   {stat: "4711", fails: true},
		"ends with name":  {stat: "4711 (etcd)", fails: true},
		"a shorter start": {stat: "1 (init) S 0 1 1 0 -1 4194560 1105 0 0 0 1 2 0 0 20 0 9 0 5 1268 1", ticks: "5", running: true},
	} {
		t.Run(name, func(t *testing.T) {
			ticks, running, err := parseStat([]byte(test.stat))
			if (err != nil) != test.fails {
				t.Fatalf("error %v", err)
			}
			if ticks != test.ticks || running != test.running {
				t.Errorf("%q, %v, want %q, %v", ticks, running, test.ticks, test.running)
			}
		})
	}
}

// TestProcessDiesWithItsParent checks that a killed test leaves no process behind.
func TestProcessDiesWithItsParent(t *testing.T) {
	if attributes(false).Pdeathsig == 0 {
		t.Fatal("the life of a child is not tied to its parent's")
	}
	p := cast(t, "parent")
	cmd := exec.Command(p.binary, p.args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait() //nolint:errcheck // it is killed
	child := await(t, func() (record, bool) {
		s, err := loadState(p.args[1])
		if err != nil {
			return record{}, false
		}
		return s.process(p.name)
	})
	if !child.alive() {
		t.Fatal("the child does not run")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	await(t, func() (record, bool) { return child, !child.alive() })
}
