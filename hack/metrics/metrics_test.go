// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

const root = "../../"

func TestPageIsCurrent(t *testing.T) {
	want, err := render(sources())
	if err != nil {
		t.Fatal(err)
	}
	have, err := os.ReadFile(root + page)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Errorf("%s does not correspond to the code: run go run ./hack/metrics", page)
	}
}

// TestEveryPackageWithMetricsIsASource checks that each package with metrics is in the list of sources, and that the pages in that
// list exist.
func TestEveryPackageWithMetricsIsASource(t *testing.T) {
	makes := regexp.MustCompile(`prometheus\.(New(Counter|Gauge|Histogram|Summary|Desc|Untyped)|MustNewConst)|telemetry\.With\(`)
	found := map[string]bool{}
	for _, dir := range []string{"pkg", "cmd"} {
		err := filepath.WalkDir(root+dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			if makes.Match(content) {
				found[strings.TrimPrefix(filepath.Dir(path), root+"pkg/")] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	delete(found, "telemetry") // it makes those of the others
	known := map[string]bool{}
	for _, s := range sources() {
		for _, name := range s.packages {
			known[name] = true
		}
		if _, err := os.Stat(root + "docs/" + s.page); err != nil {
			t.Error(err)
		}
	}
	if have, want := slices.Sorted(maps.Keys(known)), slices.Sorted(maps.Keys(found)); !slices.Equal(have, want) {
		t.Errorf("sources are\n%s\nmetrics are made in\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// Names and labels that are not as usual, because others use them: those of Gimbal's discoverer.
var fixed = regexp.MustCompile(`^gimbal_`)

func TestNamesAndHelp(t *testing.T) {
	seen := map[string]bool{}
	labels := map[string]bool{}
	for _, s := range sources() {
		for _, register := range s.register {
			families, err := describe(register)
			if err != nil {
				t.Fatal(s.title, err)
			}
			for _, f := range families {
				if seen[f.name] {
					t.Errorf("%s is there twice", f.name)
				}
				seen[f.name] = true
				if fixed.MatchString(f.name) {
					continue
				}
				for _, label := range f.labels {
					labels[label] = true
				}
				if problem := wrong(f); problem != "" {
					t.Errorf("%s: %s", f.name, problem)
				}
			}
		}
	}
	// A new label is one to think about: how many values can it have? Metrics of single objects, which have a name and a namespace,
	// are opt in and limited in number.
	want := []string{"backend", "cluster", "code", "condition", "deletion", "kind", "marked", "method", "name", "namespace", "operation", "outcome", "phase", "purpose",
		"reason", "server", "service", "stage", "state", "target", "webhook", "what", "why"}
	if have := slices.Sorted(maps.Keys(labels)); !slices.Equal(have, want) {
		t.Errorf("labels are %q, want %q", have, want)
	}
}

// wrong returns what is wrong with a metric, "" when nothing is.
func wrong(f family) string {
	total := strings.HasSuffix(f.name, "_total")
	switch {
	case !regexp.MustCompile(`^(groundskeeper|local_volume_node_cleanup)_[a-z]+(_[a-z]+)*$`).MatchString(f.name):
		return "the name has no prefix of Groundskeeper"
	case total != (f.kind == "counter"):
		return "counters, and they alone, end in _total"
	case f.kind == "histogram" && !strings.HasSuffix(f.name, "_seconds"):
		return "a histogram has a unit"
	case strings.Contains(f.name, "timestamp") && !strings.HasSuffix(f.name, "_timestamp_seconds"):
		return "a time is in seconds"
	case len(f.help) < 15 || !strings.HasSuffix(f.help, ".") || strings.ContainsAny(f.help, "|\n"):
		return "the help is no sentence: " + f.help
	}
	return ""
}

func TestDescribeListsMetricsWithoutSamples(t *testing.T) {
	if wrong(family{name: "groundskeeper_x_total", kind: "gauge", help: "A sentence that is long."}) == "" {
		t.Error("a gauge may end in _total")
	}
	families, err := describe(sources()[0].register[0])
	if err != nil || len(families) != 2 || families[0].kind != "counter" || families[1].kind != "gauge" {
		t.Errorf("%+v, %v", families, err)
	}
}

// A metric that cannot be described results in an error with its text.
func TestDescribeRejectsUnknownForms(t *testing.T) {
	quoted := prometheus.NewGauge(prometheus.GaugeOpts{Name: `a"b`, Help: "A name with a quote."})
	if _, err := describe(func(r prometheus.Registerer) error { return r.Register(quoted) }); err == nil || !strings.Contains(err.Error(), "A name with a quote.") {
		t.Errorf("got %v", err)
	}
	for text, want := range map[string]string{
		`Desc{fqName: "a", help: "It \"quotes\".", constLabels: {}, variableLabels: {x,y}}`: "a x y",
		`Desc{fqName: "a", help: "", constLabels: {b="c"}, variableLabels: {}}`:             "a",
	} {
		d, err := descriptionOf(text)
		if have := strings.Join(append([]string{d.name}, d.labels...), " "); err != nil || have != want {
			t.Errorf("%s: got %q, %v", text, have, err)
		}
	}
}
