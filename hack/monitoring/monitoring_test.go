// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"sigs.k8s.io/yaml"
)

const docs = "../../docs/"

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestGeneratedFilesAreCurrent(t *testing.T) {
	want, err := generate()
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range want {
		if !bytes.Equal(read(t, path), content) {
			t.Errorf("%s is not current: run hack/monitoring/generate.sh", path)
		}
	}
	kustomization := string(read(t, artifacts+"/dashboards/kustomization.yaml"))
	have, err := filepath.Glob(artifacts + "/dashboards/*.json")
	if err != nil || len(have) != len(boards()) {
		t.Errorf("%d dashboards, %d in the directory: %v", len(boards()), len(have), err)
	}
	for _, path := range have {
		if !strings.Contains(kustomization, "files: ["+filepath.Base(path)+"]") {
			t.Errorf("%s is in no ConfigMap", path)
		}
	}
}

// Grafana's types decode each dashboard strictly.
func TestDashboardsAreValid(t *testing.T) {
	plugins.RegisterDefaultPlugins()
	for _, b := range boards() {
		content, err := b.build()
		if err != nil {
			t.Fatal(err)
		}
		d, err := decodeStrictly(content)
		if err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		if err := d.Validate(); err != nil {
			t.Errorf("%s: %v", b.name, err)
		}
		ids, places := map[uint32]bool{}, map[string]string{}
		for _, p := range d.Panels {
			var id uint32
			if p.Panel != nil {
				id = *p.Panel.Id
			} else {
				id = p.RowPanel.Id
			}
			if ids[id] || id == 0 {
				t.Errorf("%s: two panels have the id %d, or one has none", b.name, id)
			}
			ids[id] = true
			if p.Panel == nil {
				continue
			}
			for x := p.Panel.GridPos.X; x < p.Panel.GridPos.X+p.Panel.GridPos.W; x++ {
				for y := p.Panel.GridPos.Y; y < p.Panel.GridPos.Y+p.Panel.GridPos.H; y++ {
					place := fmt.Sprint(x, "/", y)
					if other, taken := places[place]; taken || x >= 24 {
						t.Errorf("%s: panels %q and %q are at one place, or too far right: %s", b.name, other, *p.Panel.Title, place)
					}
					places[place] = *p.Panel.Title
				}
			}
		}
	}
	if _, err := decodeStrictly([]byte(`{"title": "x", "pannels": []}`)); err == nil {
		t.Error("unknown field: no error")
	}
}

// decodeStrictly decodes a dashboard with Grafana's types; a field that they do not know is an error, because they lose it. The SDK's own
// UnmarshalJSONStrict (v0.0.22) returns an error that is not nil for everything.
func decodeStrictly(content []byte) (*dashboard.Dashboard, error) {
	var d dashboard.Dashboard
	if err := json.Unmarshal(content, &d); err != nil {
		return nil, err
	}
	kept, err := json.Marshal(d)
	if err != nil {
		return nil, err
	}
	var before, after any
	if err := errors.Join(json.Unmarshal(content, &before), json.Unmarshal(kept, &after)); err != nil {
		return nil, err
	}
	if !reflect.DeepEqual(before, after) {
		return &d, fmt.Errorf("Grafana's types do not keep all of it: %s", kept)
	}
	return &d, nil
}

// documented returns all metrics in docs/metrics.md.
func documented(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(read(t, docs+"metrics.md")), -1) {
		names[match[1]] = true
	}
	if len(names) < 80 {
		t.Fatalf("only %d metrics are found in the page", len(names))
	}
	return names
}

// TestMetricsExist checks that the metrics of alerts and dashboards exist in the reference page, which another test compares with
// real processes.
func TestMetricsExist(t *testing.T) {
	known := documented(t)
	check := func(where, expr string) {
		t.Helper()
		names := metricsOf(expr)
		if len(names) == 0 && !strings.Contains(expr, "up{") && !strings.Contains(expr, "ALERTS{") {
			t.Errorf("%s: no metric in %s", where, expr)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s: no metric is called %s", where, name)
			}
		}
	}
	rules, err := alerts(read(t, ruleText))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		check(r.Alert, r.Expr)
	}
	for _, a := range annotations {
		check("annotation "+a.name, a.expr)
	}
	for _, b := range boards() {
		titles := map[string]bool{}
		for _, row := range b.rows {
			for _, p := range row.panels {
				if title := row.title + "/" + p.title; titles[title] {
					t.Errorf("%s: %s is listed twice", b.name, title)
				} else {
					titles[title] = true
				}
				if p.description == "" {
					t.Errorf("%s: panel %s has no description", b.name, p.title)
				}
				for _, q := range p.queries {
					check(b.name+": "+p.title, q.expr)
				}
			}
		}
	}
}

func TestMetricsOf(t *testing.T) {
	for expr, want := range map[string][]string{
		`a_total`: {"a_total"},
		`sum by (b, le) (rate(a_bucket{c="d_total"}[5m])) > 0 and on (instance) (b_c == 1) unless max(d) or vector(0)`: {"a", "b_c", "d"},
		`count(up{job="x"} == 1) / on () group_left sum(rate(a_count[$__rate_interval]))`:                              {"a"},
		`label_replace(increase(a{b='}'}[1h]), "x", "$1", "", "") - time()`:                                            {"a"},
	} {
		if got := metricsOf(expr); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", expr, got, want)
		}
	}
}

func TestFiltered(t *testing.T) {
	for expr, want := range map[string]string{
		`a_total`: `a_total{cluster=~"$cluster"}`,
		`sum by (b, le) (rate(a_bucket{c="d_total"}[5m])) > 0 or vector(0)`: `sum by (b, le) (rate(a_bucket{cluster=~"$cluster",c="d_total"}[5m])) > 0 or vector(0)`,
		`a / on (b) up`: `a{cluster=~"$cluster"} / on (b) up{cluster=~"$cluster"}`,
		`max by (backend) (groundskeeper_maintenance_routes_drained)`:                     `max by (backend) (groundskeeper_maintenance_routes_drained{cluster=~"$cluster",backend=~"$backend"})`,
		`rate(gimbal_discoverer_api_latency_milliseconds_bucket[5m])`:                     `rate(gimbal_discoverer_api_latency_milliseconds_bucket{cluster=~"$cluster",backendname=~"$backend"}[5m])`,
		`sum by (backendname) (gimbal_discoverer_upstream_services_total{namespace="x"})`: `sum by (backendname) (gimbal_discoverer_upstream_services_total{cluster=~"$cluster",backendname=~"$backend",namespace=~"$namespace",namespace="x"})`,
	} {
		if got := filtered(expr); got != want {
			t.Errorf("filtered(%s) = %s, want %s", expr, got, want)
		}
	}
}

// TestVariablesSelectByLabelsThatExist checks that a variable selects the metrics that have its label, and by that label.
func TestVariablesSelectByLabelsThatExist(t *testing.T) {
	for _, match := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| \\w+ \\|([^|]*)\\|").FindAllStringSubmatch(string(read(t, docs+"metrics.md")), -1) {
		metric, labels := match[1], match[2]
		for name, candidates := range map[string][]string{"backend": {"backend", "backendname"}, "namespace": {"namespace"}} {
			want := ""
			for _, label := range candidates {
				if strings.Contains(labels, "`"+label+"`") {
					want = label
				}
			}
			for _, v := range variables {
				if got := v.filters(metric); v.name == name && got != want && (got != "" || strings.HasPrefix(metric, "gimbal_") || name == "backend") {
					t.Errorf("%s: the variable %s selects by %q, want %q", metric, name, got, want)
				}
			}
		}
	}
}

// Each alert has a summary and a description, a section in docs/monitoring.md, and tests in which it fires and in which it does not.
func TestAlerts(t *testing.T) {
	rules, err := alerts(read(t, ruleText))
	if err != nil {
		t.Fatal(err)
	}
	page := string(read(t, docs+"monitoring.md"))
	tested := tests(t)
	seen := map[string]bool{}
	for _, r := range rules {
		if seen[r.Alert] {
			t.Errorf("%s is listed twice", r.Alert)
		}
		seen[r.Alert] = true
		if severity := r.Labels["severity"]; len(r.Labels) != 1 || severity != "critical" && severity != "warning" {
			t.Errorf("%s: labels %v", r.Alert, r.Labels)
		}
		if keys := slices.Sorted(maps.Keys(r.Annotations)); !slices.Equal(keys, []string{"description", "runbook_url", "summary"}) {
			t.Errorf("%s: annotations %q", r.Alert, keys)
		}
		if want := "docs/monitoring.md#" + strings.ToLower(r.Alert); r.Annotations["runbook_url"] != want {
			t.Errorf("%s: runbook %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		if !strings.Contains(page, "\n### "+r.Alert+"\n") {
			t.Errorf("%s has no section in docs/monitoring.md", r.Alert)
		}
		if !tested.fires[r.Alert] {
			t.Errorf("%s: it fires in no test", r.Alert)
		}
		if !tested.silent(r.Alert) {
			t.Errorf("%s: it is silent in no test", r.Alert)
		}
	}
	for _, match := range regexp.MustCompile(`(?m)^### (Groundskeeper\w+)$`).FindAllStringSubmatch(page, -1) {
		if !seen[match[1]] {
			t.Errorf("docs/monitoring.md has a section of %s, which is no alert", match[1])
		}
	}
}

// tested are the alerts that fire in tests, and the expressions of those that must be silent.
type tested struct {
	fires    map[string]bool
	silences []*regexp.Regexp
}

func (s tested) silent(alert string) bool {
	return slices.ContainsFunc(s.silences, func(name *regexp.Regexp) bool { return name.MatchString(alert) })
}

func tests(t *testing.T) tested {
	t.Helper()
	var file struct {
		Tests []struct {
			Expressions []struct {
				Expr    string `json:"expr"`
				Samples []struct {
					Labels string `json:"labels"`
				} `json:"exp_samples"`
			} `json:"promql_expr_test"`
		} `json:"tests"`
	}
	if err := yaml.Unmarshal(read(t, "alerts_test.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	all := tested{fires: map[string]bool{}}
	name := regexp.MustCompile(`alertname=~?"([^"]+)"`)
	for _, test := range file.Tests {
		for _, e := range test.Expressions {
			if len(e.Samples) == 0 {
				all.silences = append(all.silences, regexp.MustCompile("^"+name.FindStringSubmatch(e.Expr)[1]+"$"))
			}
			for _, s := range e.Samples {
				all.fires[name.FindStringSubmatch(s.Labels)[1]] = true
			}
		}
	}
	return all
}

// The operator's types decode its objects strictly.
func TestObjectsOfTheOperatorAreValid(t *testing.T) {
	strict := func(name string, object any) {
		t.Helper()
		if err := yaml.UnmarshalStrict(read(t, artifacts+"/prometheus-operator/"+name+".yaml"), object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var rules monitoringv1.PrometheusRule
	strict("rules", &rules)
	plain, err := alerts(read(t, ruleText))
	if err != nil {
		t.Fatal(err)
	}
	var wrapped []string
	for _, group := range rules.Spec.Groups {
		for _, r := range group.Rules {
			wrapped = append(wrapped, r.Alert+r.Expr.String())
		}
	}
	for i, r := range plain {
		if len(wrapped) != len(plain) || wrapped[i] != r.Alert+r.Expr {
			t.Errorf("the object has another rule than %s", r.Alert)
		}
	}
	var server monitoringv1.ServiceMonitor
	strict("apiserver", &server)
	jobs := []string{*server.Spec.Endpoints[0].RelabelConfigs[0].Replacement}
	for _, name := range []string{"controller-manager", "discoverer", "local-volume-node-cleanup"} {
		var pods monitoringv1.PodMonitor
		strict(name, &pods)
		jobs = append(jobs, *pods.Spec.PodMetricsEndpoints[0].RelabelConfigs[0].Replacement)
	}
	for _, job := range jobs {
		if !strings.Contains(string(read(t, artifacts+"/prometheus/scrape.yaml")), "- job_name: "+job+"\n") {
			t.Errorf("the configuration of a plain Prometheus has no job %s", job)
		}
	}
}
