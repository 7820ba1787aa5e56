// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// variable selects series by a label. Its query values returns a list, of which a user selects some or all. All includes
// series without the label: where Prometheus has one cluster, none has a label for it.
type variable struct {
	name, label, values string
	// filters returns the label of a metric that the variable selects by, or "".
	filters func(metric string) string
}

// variables are those of all dashboards. A dashboard has the ones that one of its expressions uses.
var variables = []variable{
	{"cluster", "Cluster", `label_values(up{` + ofAny + `}, cluster)`, func(string) string { return "cluster" }},
	{"backend", "Backend", `label_values(groundskeeper_discovery_backend_condition{cluster=~"$cluster"}, backend)`, backendLabel},
	{"namespace", "Namespace of Services", `label_values(gimbal_discoverer_upstream_services_total{cluster=~"$cluster", backendname=~"$backend"}, namespace)`, namespaceLabel},
}

var (
	ofBackend  = regexp.MustCompile(`^groundskeeper_(discovery_backend_condition|maintenance_(automatic|share_percent|routes_(drained|matching|pending|without_endpoints)))$`)
	ofServices = regexp.MustCompile(`^gimbal_(discoverer_(upstream|replicated|invalid)_(services|endpoints)_total|(service|endpoints)_(error_total|event_timestamp))$`)
)

func backendLabel(metric string) string {
	switch {
	case ofBackend.MatchString(metric):
		return "backend"
	case strings.HasPrefix(metric, "gimbal_"):
		return "backendname" // as Gimbal called it
	}
	return ""
}

func namespaceLabel(metric string) string {
	if ofServices.MatchString(metric) {
		return "namespace"
	}
	return ""
}

// filtered adds the variables to the selectors of all metrics of an expression.
func filtered(expr string) string {
	places := metricPlaces(expr)
	slices.Reverse(places) // from the end, so that the earlier places remain right
	for _, p := range places {
		var selectors []string
		metric := suffixes.ReplaceAllString(expr[p.start:p.end], "")
		for _, v := range variables {
			if label := v.filters(metric); label != "" {
				selectors = append(selectors, label+`=~"$`+v.name+`"`)
			}
		}
		added, rest := strings.Join(selectors, ","), expr[p.end:]
		if after, has := strings.CutPrefix(rest, "{"); has {
			expr = expr[:p.end] + "{" + added + "," + after
		} else {
			expr = expr[:p.end] + "{" + added + "}" + rest
		}
	}
	return expr
}

// used reports whether an expression of the dashboard has the variable.
func (v variable) used(b board) bool {
	return slices.ContainsFunc(b.rows, func(r row) bool {
		return slices.ContainsFunc(r.panels, func(p panel) bool {
			return slices.ContainsFunc(p.queries, func(q query) bool { return strings.Contains(filtered(q.expr), `"$`+v.name+`"`) })
		})
	})
}

func (v variable) builder() cog.Builder[dashboard.VariableModel] {
	all := dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	}
	return dashboard.NewQueryVariableBuilder(v.name).Label(v.label).Query(dashboard.StringOrMap{String: new(v.values)}).Definition(v.values).
		Datasource(source()).Refresh(dashboard.VariableRefreshOnTimeRangeChanged).Sort(dashboard.VariableSortAlphabeticalAsc).
		Multi(true).IncludeAll(true).AllValue(".*").Current(all)
}
