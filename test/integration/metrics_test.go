// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// documentedMetric is a line of docs/metrics.md.
type documentedMetric struct {
	// kind is empty for a metric of a library.
	kind             string
	labels, binaries []string
}

var (
	ownLine     = regexp.MustCompile("^\\| `([a-z_]+)` \\| (counter|gauge|histogram) \\| (.*?) \\| (.*) \\|$")
	libraryLine = regexp.MustCompile("^\\| `([a-z_]+)` \\| (`.*`) \\| .* \\|$")
	familyLine  = regexp.MustCompile("^\\| (`[a-z_]+_\\*`.*?) \\| ")
	quoted      = regexp.MustCompile("`([^`]+)`")
	ownName     = regexp.MustCompile(`^(groundskeeper|gimbal|local_volume_node_cleanup)_`)
)

// documentedMetrics reads docs/metrics.md: Groundskeeper's metrics, those of libraries that Groundskeeper uses, and the beginnings
// of all names of libraries.
func documentedMetrics(t *testing.T) (own, libraries map[string]documentedMetric, prefixes []string) {
	t.Helper()
	content, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	own, libraries = map[string]documentedMetric{}, map[string]documentedMetric{}
	var binaries []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSuffix(line, "\n")
		if of, ok := strings.CutPrefix(line, "Of `"); ok {
			binaries = names("`" + strings.SplitN(of, ": see", 2)[0])
			continue
		}
		if match := ownLine.FindStringSubmatch(line); match != nil {
			own[match[1]] = documentedMetric{match[2], names(match[3]), binaries}
		} else if match := libraryLine.FindStringSubmatch(line); match != nil {
			libraries[match[1]] = documentedMetric{binaries: names(match[2])}
		} else if match := familyLine.FindStringSubmatch(line); match != nil {
			for _, name := range names(match[1]) {
				prefixes = append(prefixes, strings.TrimSuffix(name, "*"))
			}
		}
	}
	if len(own) < 60 || len(libraries) < 15 || len(prefixes) < 10 {
		t.Fatalf("docs/metrics.md reads otherwise: %d metrics, %d of libraries, %d families", len(own), len(libraries), len(prefixes))
	}
	return own, libraries, prefixes
}

// names returns the names between backquotes.
func names(text string) []string {
	var all []string
	for _, match := range quoted.FindAllStringSubmatch(text, -1) {
		all = append(all, match[1])
	}
	return all
}

// exposed is a metric as a process shows it.
type exposed struct {
	kind   string
	labels []string
}

var (
	typeLine   = regexp.MustCompile(`^# TYPE (\S+) (\S+)$`)
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? \S+$`)
	labelName  = regexp.MustCompile(`([a-zA-Z_]\w*)="(?:[^"\\]|\\.)*"`)
)

// parseMetrics reads a page in Prometheus' text format.
func parseMetrics(page string) map[string]exposed {
	metrics := map[string]exposed{}
	name := ""
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if match := typeLine.FindStringSubmatch(line); match != nil {
			name = match[1]
			metrics[name] = exposed{kind: match[2]}
		} else if match := sampleLine.FindStringSubmatch(line); match != nil && strings.HasPrefix(match[1], name) {
			var labels []string
			for _, label := range labelName.FindAllStringSubmatch(match[2], -1) {
				if label[1] != "le" {
					labels = append(labels, label[1])
				}
			}
			slices.Sort(labels)
			metrics[name] = exposed{metrics[name].kind, labels}
		}
	}
	return metrics
}

// later are metrics without labels that have a sample only after something happened.
var later = []string{"groundskeeper_project_next_auto_deletion_timestamp_seconds"}

// testMetricsAreDocumented checks that each metric of a process is in docs/metrics.md with its type and labels, and that each
// metric that the page describes as always present is present.
func testMetricsAreDocumented(t *testing.T, m *measured) {
	own, libraries, prefixes := documentedMetrics(t)
	for binary, config := range m.pages() {
		var shown map[string]exposed
		eventually(t, func(ctx context.Context) error {
			page, err := scrape(ctx, config)
			if err != nil {
				return err
			}
			shown = parseMetrics(page)
			var missing []string
			for name, d := range libraries {
				if _, ok := shown[name]; !ok && slices.Contains(d.binaries, binary) {
					missing = append(missing, name)
				}
			}
			for name, d := range own {
				alwaysThere := len(d.labels) == 0 && !slices.Contains(later, name)
				if _, ok := shown[name]; !ok && alwaysThere && slices.Contains(d.binaries, binary) {
					missing = append(missing, name)
				}
			}
			if len(missing) > 0 {
				return fmt.Errorf("%s does not show what docs/metrics.md specifies: %q", binary, missing)
			}
			return nil
		})
		if binary == kubeAPIServer {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(shown)) {
			d, known := own[name]
			switch s := shown[name]; {
			case !ownName.MatchString(name):
				if !slices.ContainsFunc(prefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) {
					t.Errorf("%s: %s is of no family in docs/metrics.md", binary, name)
				}
			case !known || !slices.Contains(d.binaries, binary):
				t.Errorf("%s: %s is not in docs/metrics.md", binary, name)
			case d.kind != s.kind || !slices.Equal(d.labels, s.labels):
				t.Errorf("%s: %s is a %s with labels %q, docs/metrics.md reports %s, %q", binary, name, s.kind, s.labels, d.kind, d.labels)
			}
		}
	}
}

// testGarbageIsCollected checks that each process runs with the garbage collection settings that its documentation states
// (docs/apiserver.md, sizing.md and development.md), with which its memory was measured.
func testGarbageIsCollected(t *testing.T, m *measured) {
	pages := m.pages()
	for binary, percent := range map[string]int{apiserver: 150, manager: 25, discoverer: 25} {
		page, err := scrape(t.Context(), pages[binary])
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("\ngo_gc_gogc_percent %d\n", percent); !strings.Contains(page, want) {
			t.Errorf("%s does not show %q", binary, want)
		}
	}
}

// The controller manager exposes objects of all kinds that server.objectMetrics lists.
func testObjects(t *testing.T, m *measured) {
	eventually(t, func(ctx context.Context) error {
		page, err := scrape(ctx, m.pages()[manager])
		if err != nil {
			return err
		}
		for _, want := range []string{
			`kind="Project",name="shop",namespace=""`,
			`kind="Kluster",name="web",namespace="` + m.namespace + `"`,
			`kind="DiscoveryBackend",name="us",namespace="` + discoveryNamespace + `"`,
			`kind="Translation",name="`,
		} {
			if !strings.Contains(page, "\ngroundskeeper_object_ready{"+want) {
				return fmt.Errorf("there is no groundskeeper_object_ready of %s", want)
			}
		}
		return nil
	})
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	m := newMeasured(t)
	t.Run("documented", func(t *testing.T) { testMetricsAreDocumented(t, m) })
	t.Run("garbage", func(t *testing.T) { testGarbageIsCollected(t, m) })
	t.Run("objects", func(t *testing.T) { testObjects(t, m) })
	t.Run("Prometheus", func(t *testing.T) { testPrometheus(t, m) })
}
