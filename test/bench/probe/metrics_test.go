// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSamplesOf(t *testing.T) {
	const page = `# HELP requests_total All requests.
# TYPE requests_total counter
requests_total{code="200",verb="GET"} 3
requests_total{code="201",verb="POST"} 1.5e+06
requests_total_created{code="201"} 7
requests 9
started 1.5
`
	type samples map[string]float64
	for metric, want := range map[string]samples{
		"requests_total": {"GET 200": 3, "POST 201": 1.5e6},
		"requests":       {" ": 9},
		"started":        {" ": 1.5},
		"missing":        {},
	} {
		got, err := samplesOf(strings.NewReader(page), metric)
		if err != nil {
			t.Fatal(err)
		}
		found := samples{}
		for _, s := range got {
			found[s.Labels["verb"]+" "+s.Labels["code"]] = s.Value
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: %s", metric, diff)
		}
	}
	if _, err := samplesOf(strings.NewReader("requests_total many\n"), "requests_total"); err == nil {
		t.Error("a value that is no number was taken")
	}
}

func TestSpeed(t *testing.T) {
	took, err := Speed()
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
}

// Figures of different versions can be compared only while the work is the same.
func TestDocument(t *testing.T) {
	text := document()
	if size := len(text); size != 246_001 {
		t.Errorf("%d bytes", size)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil || len(objects) != 2000 {
		t.Errorf("%d objects: %v", len(objects), err)
	}
}
