// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// tag marks the dashboards of Groundskeeper, for the links between them.
const tag = "groundskeeper"

// board is a dashboard.
type board struct {
	// name is the name of its file, and, with a prefix, its uid.
	name, title, description string
	rows                     []row
}

// row is a heading with panels.
type row struct {
	title  string
	panels []panel
}

// panel is one picture: a graph, or a single value.
type panel struct {
	title, description, unit string
	queries                  []query
	// value shows the last value instead of a graph. It is red if it is at least bad, unless bad is 0.
	value bool
	bad   float64
	// negative allows negative values in a graph.
	negative bool
	// stacked stacks the lines of a graph.
	stacked bool
}

// query is an expression for Prometheus, and the legend of its lines.
type query struct{ expr, legend string }

// graph returns a panel with one query.
func graph(title, unit, expr, legend, description string) panel {
	return panel{title: title, unit: unit, description: description, queries: []query{{expr, legend}}}
}

// stack returns a graph of numbers whose lines are stacked.
func stack(title, expr, legend, description string) panel {
	p := graph(title, "short", expr, legend, description)
	p.stacked = true
	return p
}

// value returns a panel with a single value, which is red if it is at least bad.
func value(title, unit, expr string, bad float64, description string) panel {
	return panel{title: title, unit: unit, description: description, queries: []query{{expr, ""}}, value: true, bad: bad}
}

// signed allows negative values in a graph.
func (p panel) signed() panel {
	p.negative = true
	return p
}

// also adds a query to a panel.
func (p panel) also(expr, legend string) panel {
	p.queries = append(p.queries[:len(p.queries):len(p.queries)], query{expr, legend})
	return p
}

// build returns the dashboard in the format of Grafana.
func (b board) build() ([]byte, error) {
	builder := dashboard.NewDashboardBuilder(b.title).
		Uid("groundskeeper-"+b.name).Description(b.description).Tags([]string{tag}).
		Readonly().Timezone("browser").Time("now-6h", "now").Refresh("1m").Tooltip(dashboard.DashboardCursorSyncCrosshair).
		WithVariable(dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")).
		Link(dashboard.NewDashboardLinkBuilder("Groundskeeper").Type(dashboard.DashboardLinkTypeDashboards).Tags([]string{tag}).AsDropdown(true).KeepTime(true))
	for _, v := range variables {
		if v.used(b) {
			builder.WithVariable(v.builder())
		}
	}
	for _, a := range annotations {
		builder.Annotation(dashboard.NewAnnotationQueryBuilder().Name(a.name).Datasource(source()).Enable(true).IconColor(a.color).Expr(filtered(a.expr)))
	}
	id := uint32(0)
	for _, r := range b.rows {
		id++
		builder.WithRow(dashboard.NewRowBuilder(r.title).Id(id))
		for _, p := range r.panels {
			id++
			builder.WithPanel(p.builder(id))
		}
	}
	built, err := builder.Build()
	if err != nil {
		return nil, fmt.Errorf("dashboard %s: %w", b.name, err)
	}
	content, err := json.MarshalIndent(built, "", "  ")
	return append(content, '\n'), err
}

// event is something that is marked in all graphs.
type event struct{ name, color, expr string }

// annotations are marked in the graphs of all dashboards: what else explains a step in a line.
var annotations = []event{
	{"Restarts", "red", `changes(process_start_time_seconds{` + ofAny + `}[$__interval]) > 0`},
	{"Changes of the leader", "blue", `changes(leader_election_master_status{` + ofManager + `}[$__interval]) > 0`},
}

// source returns the selected data source.
func source() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

func (p panel) builder(id uint32) cog.Builder[dashboard.Panel] {
	var targets []cog.Builder[variants.Dataquery]
	for i, q := range p.queries {
		target := prometheus.NewDataqueryBuilder().Expr(filtered(q.expr)).RefId(string(rune('A' + i))).Datasource(source())
		if p.value {
			target.Instant()
		} else {
			target.Range()
		}
		if q.legend != "" {
			target.LegendFormat(q.legend)
		}
		targets = append(targets, target)
	}
	if p.value {
		return stat.NewPanelBuilder().Id(id).Title(p.title).Description(p.description).Datasource(source()).Unit(p.unit).
			Height(4).Span(4).Targets(targets).Thresholds(p.thresholds()).
			ColorMode(common.BigValueColorModeValue).GraphMode(common.BigValueGraphModeNone).
			ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"}))
	}
	mode, fill := common.StackingModeNone, 5.0
	if p.stacked {
		mode, fill = common.StackingModeNormal, 30.0
	}
	least := 0.0
	if p.negative {
		least = -1
	}
	return timeseries.NewPanelBuilder().Id(id).Title(p.title).Description(p.description).Datasource(source()).Unit(p.unit).
		Height(8).Span(8).Min(least).Targets(targets).FillOpacity(fill).ShowPoints(common.VisibilityModeNever).
		Stacking(common.NewStackingConfigBuilder().Mode(mode)).
		Legend(common.NewVizLegendOptionsBuilder().ShowLegend(true).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)).
		Tooltip(common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti))
}

// thresholds colors a value: green, or red if it is at least bad.
func (p panel) thresholds() cog.Builder[dashboard.ThresholdsConfig] {
	steps := []dashboard.Threshold{{Color: "green"}}
	switch {
	case p.bad > 0:
		steps = append(steps, dashboard.Threshold{Value: new(p.bad), Color: "red"})
	case p.bad < 0: // less than that is bad
		steps = []dashboard.Threshold{{Color: "red"}, {Value: new(-p.bad), Color: "green"}}
	}
	return dashboard.NewThresholdsConfigBuilder().Mode(dashboard.ThresholdsModeAbsolute).Steps(steps)
}
