// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestReporter(t *testing.T) {
	var users, programs bytes.Buffer
	r := &Reporter{Users: &users, Programs: &programs}
	for _, f := range []Figure{
		{Benchmark: "projects", Name: "time until all are Ready", Value: 20, Unit: "s", Objects: 1000, Goal: new(25.0)},
		{Benchmark: "projects", Process: "manager", Name: "memory", Value: 120, Unit: "MiB", Goal: new(100.0)},
	} {
		if err := r.Add(f); err != nil {
			t.Fatal(err)
		}
	}
	if r.Missed() != 1 || strings.Count(users.String(), "MISSED") != 1 {
		t.Errorf("missed %d, text:\n%s", r.Missed(), users.String())
	}
	decoder := json.NewDecoder(&programs)
	var first, second Figure
	if err := decoder.Decode(&first); err != nil {
		t.Fatal(err)
	}
	if err := decoder.Decode(&second); err != nil {
		t.Fatal(err)
	}
	if !first.Met() || second.Met() || second.Process != "manager" {
		t.Errorf("read back %+v and %+v", first, second)
	}
}
