// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

const introduction = `# Metrics

This page is generated from the code by ` + "`go run ./hack/metrics`" + `. [Monitoring](monitoring.md) describes how to scrape them, and which alerts and
dashboards there are.

| binary | where |
|---|---|
| ` + "`groundskeeper-apiserver`" + ` | HTTPS, ` + "`/metrics`" + ` on its one port, for clients that are allowed to ` + "`get`" + ` that path |
| ` + "`groundskeeper-controller-manager`" + ` | HTTP, ` + "`/metrics`" + ` on the port 2718 (` + "`server.health`" + `, ` + "`--health-address`" + `) |
| ` + "`groundskeeper-discoverer`" + ` | HTTP, ` + "`/metrics`" + ` on the port 8080 (` + "`--prometheus-listen-address`" + `), both ` + "`kubernetes`" + ` and ` + "`openstack`" + ` |
| ` + "`groundskeeper-local-volume-node-cleanup`" + ` | HTTP, ` + "`--metrics-path`" + ` on the port 8080 (` + "`--listen-address`" + `) |

With several replicas counters of controllers move on the leader alone, so take their sum. Gauges are the same on every replica, or
are set on the leader alone, so take their maximum. A metric with labels has no sample before something happened.

Labels are bounded: by constants in the code (outcomes, reasons, kinds), or by objects of which there are few (backends, Klusters). Only
the metrics of a discoverer have a sample for each service: their names and labels are Gimbal's. No label has a uid or an address.
`

// render writes the page.
func render(sources []source) (string, error) {
	var page strings.Builder
	page.WriteString(introduction)
	for _, s := range sources {
		fmt.Fprintf(&page, "\n## %s\n\n%s\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n", s.title, origin(s))
		for _, register := range s.register {
			families, err := describe(register)
			if err != nil {
				return "", fmt.Errorf("%s: %w", s.title, err)
			}
			for _, f := range families {
				fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", f.name, f.kind, code(f.labels), f.help)
			}
		}
	}
	page.WriteString("\n## Libraries\n\n| names | what |\n|---|---|\n")
	for _, f := range libraryFamilies() {
		var prefixes []string
		for _, prefix := range f.prefixes {
			prefixes = append(prefixes, prefix+"*")
		}
		fmt.Fprintf(&page, "| %s | %s |\n", code(prefixes), f.what)
	}
	page.WriteString("\nGroundskeeper's alerts and dashboards use these:\n\n| metric | of | meaning |\n|---|---|---|\n")
	for _, m := range libraryMetrics() {
		fmt.Fprintf(&page, "| `%s` | %s | %s |\n", m.name, code(m.binaries), m.what)
	}
	return page.String(), nil
}

// origin returns which program serves the metrics of a section.
func origin(s source) string {
	var line strings.Builder
	line.WriteString("Of " + code(s.binaries))
	if len(s.controllers) > 0 {
		line.WriteString(", by " + code(s.controllers))
	}
	fmt.Fprintf(&line, ": see [%s](%s).", s.page, s.page)
	return line.String()
}

func code(names []string) string {
	quoted := make([]string, 0, len(names))
	for _, name := range names {
		quoted = append(quoted, "`"+name+"`")
	}
	return strings.Join(quoted, ", ")
}
