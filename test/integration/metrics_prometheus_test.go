// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
)

// prometheus is a Prometheus that scrapes a plane, with Groundskeeper's rules.
type prometheus struct{ address string }

// startPrometheus starts the binary that PROMETHEUS names. Without one the test is skipped: hack/monitoring/test.sh has one.
func startPrometheus(t *testing.T, m *measured) *prometheus {
	t.Helper()
	binary := os.Getenv("PROMETHEUS")
	if binary == "" {
		t.Skip("PROMETHEUS names no binary: see hack/monitoring/test.sh")
	}
	rules, err := filepath.Abs("../../artifacts/monitoring/alerts/groundskeeper.rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{
		"global":     map[string]any{"scrape_interval": "1s", "evaluation_interval": "1s"},
		"rule_files": []string{rules},
	}
	var jobs []map[string]any
	for binary, page := range m.pages() {
		jobs = append(jobs, scrapeJob(t, binary, page))
	}
	config["scrape_configs"] = jobs
	content, err := json.Marshal(config) // which is YAML, too
	if err != nil {
		t.Fatal(err)
	}
	p := &prometheus{address: "127.0.0.1:" + freePort(t)}
	ctx, cancel := context.WithCancel(t.Context())
	process := exec.CommandContext(ctx, binary, "--config.file="+fileOf(t, content), "--storage.tsdb.path="+t.TempDir(), "--web.listen-address="+p.address)
	text := &output{}
	process.Stderr = text
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = process.Wait()
	})
	eventually(t, func(ctx context.Context) error {
		if err := p.get(ctx, "/-/ready", nil, nil); err != nil {
			return errors.Join(err, errors.New(text.last()))
		}
		return nil
	})
	return p
}

// scrapeJob returns the job of a process, named as in artifacts/monitoring.
func scrapeJob(t *testing.T, name string, page *rest.Config) map[string]any {
	t.Helper()
	scheme, address, _ := strings.Cut(page.Host, "://")
	job := map[string]any{"job_name": name, "scheme": scheme, "honor_labels": name == discoverer || name == manager, "static_configs": []any{map[string]any{"targets": []string{address}}}}
	if scheme == "https" {
		tls := page.TLSClientConfig
		job["tls_config"] = map[string]any{"ca_file": fileOf(t, tls.CAData), "cert_file": fileOf(t, tls.CertData), "key_file": fileOf(t, tls.KeyData)}
	}
	return job
}

// get queries the API of Prometheus. Its data is decoded into out, if there is one.
func (p *prometheus) get(ctx context.Context, path string, parameters url.Values, out any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.address+path+"?"+parameters.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, body)
	}
	if err != nil || out == nil {
		return err
	}
	return json.Unmarshal(body, &struct {
		Data any `json:"data"`
	}{out})
}

// grafana replaces what Grafana does in an expression, where a user selects all.
var grafana = strings.NewReplacer("$__rate_interval", "10s", "$cluster", ".*", "$backend", ".*", "$namespace", ".*")

// samples queries a question, and returns how many lines the response has.
func (p *prometheus) samples(ctx context.Context, expr string) (int, error) {
	var data struct {
		Result []any `json:"result"`
	}
	err := p.get(ctx, "/api/v1/query", url.Values{"query": {grafana.Replace(expr)}}, &data)
	return len(data.Result), err
}

// panelQueries returns the questions of the panels of a dashboard, by "<file>: <row>: <panel>".
func panelQueries(t *testing.T) map[string][]string {
	t.Helper()
	paths, err := filepath.Glob("../../artifacts/monitoring/dashboards/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatal("no dashboards", err)
	}
	queries := map[string][]string{}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var dashboard struct {
			Panels []struct {
				Type, Title string
				Targets     []struct{ Expr string }
			}
		}
		if err := json.Unmarshal(content, &dashboard); err != nil {
			t.Fatal(err)
		}
		row := ""
		for _, panel := range dashboard.Panels {
			if panel.Type == "row" {
				row = panel.Title
			}
			for _, target := range panel.Targets {
				where := strings.TrimSuffix(filepath.Base(path), ".json") + ": " + row + ": " + panel.Title
				queries[where] = append(queries[where], target.Expr)
			}
		}
	}
	return queries
}

// withoutData are panels that show nothing where nothing of the kind has happened.
var withoutData = []string{
	"discovery: Backends: Copies deleted", // a backend that is being deleted
	"discovery: Discoverers: Errors",
	"klusters: Deorbit: Klusters being deorbited",
	"klusters: Deorbit: Deletions",
	"klusters: Deorbit: Leftovers",
	"klusters: Deorbit: Failures",
	"klusters: Route GC: Aborted runs",
	"local-volumes: Deletions: Volumes",
	"overview: Objects: Klusters being deorbited",
	"overview: Single objects, if server.objectMetrics is configured: Objects that need a user",
	"overview: Single objects, if server.objectMetrics is configured: No progress since", // where all objects are Ready
	"overview: Single objects, if server.objectMetrics is configured: Left to delete",
	"overview: Single objects, if server.objectMetrics is configured: Backends in maintenance",
	"projects: Stale Projects: Next deletion in",
	"translations: Backend: Lists of hosts", // a Node without annotations
}

// quiet are alerts that may be pending on this plane.
var quiet = []string{
	"GroundskeeperBackendUnhealthy", "GroundskeeperObjectStalled", // no kubelet runs the pods of its backend, which has no Secret
	// A moment is enough for these to be pending, as on a slow machine. What passes lets none of them fire.
	"GroundskeeperAPIServerErrors", "GroundskeeperAPIServerSlow", "GroundskeeperDiscovererErrors", "GroundskeeperReconcileErrors", "GroundskeeperRouteGCFailing",
}

// testPrometheus checks that a real Prometheus evaluates every panel of every dashboard, that required panels have data, that no
// rule fails, and that no alert is pending in a healthy installation.
func testPrometheus(t *testing.T, m *measured) {
	p := startPrometheus(t, m)
	queries := panelQueries(t)
	for _, where := range withoutData {
		if queries[where] == nil {
			t.Errorf("there is no panel %q", where)
		}
	}
	eventually(t, func(ctx context.Context) error {
		var empty []string
		for _, where := range slices.Sorted(maps.Keys(queries)) {
			lines := 0
			for _, expr := range queries[where] {
				n, err := p.samples(ctx, expr)
				if err != nil {
					return fmt.Errorf("%s: %s: %w", where, expr, err)
				}
				lines += n
			}
			if lines == 0 && !slices.Contains(withoutData, where) {
				empty = append(empty, where)
			}
		}
		if len(empty) > 0 {
			return fmt.Errorf("panels without data:\n%s", strings.Join(empty, "\n"))
		}
		return nil
	})
	var rules struct {
		Groups []struct {
			Rules []struct{ Name, Health, LastError, State string }
		}
	}
	eventually(t, func(ctx context.Context) error {
		if err := p.get(ctx, "/api/v1/rules", nil, &rules); err != nil {
			return err
		}
		var wrong []string
		for _, group := range rules.Groups {
			for _, rule := range group.Rules {
				if rule.Health != "ok" || rule.State != "inactive" && !slices.Contains(quiet, rule.Name) {
					wrong = append(wrong, fmt.Sprintf("%s is %s: %s %s", rule.Name, rule.State, rule.Health, rule.LastError))
				}
			}
		}
		if len(rules.Groups) == 0 || len(wrong) > 0 {
			return fmt.Errorf("%d groups of rules:\n%s", len(rules.Groups), strings.Join(wrong, "\n"))
		}
		return nil
	})
	recordPanels(t, m, p)
}
