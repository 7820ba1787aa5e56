// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// tableColumn is a column in the code of a kind's table.
var tableColumn = regexp.MustCompile(`\{Name: "([^"]+)", Type: "`)

// TestK9sColumns checks that the API server returns each column, or that it has an expression, because k9s shows no others.
func TestK9sColumns(t *testing.T) {
	data, err := os.ReadFile(artifacts + "/k9s/views.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Views map[string]struct {
			SortColumn string   `json:"sortColumn"`
			Columns    []string `json:"columns"`
		} `json:"views"`
	}
	if err := yaml.UnmarshalStrict(data, &config); err != nil {
		t.Fatal(err)
	}
	sources := map[string]string{
		"core.gardener.cloud/v1beta1/projects":   "gardener/project/project.go",
		"gimbal.heptio.com/v1/discoverybackends": "gimbal/discoverybackend/discoverybackend.go",
		"kubernikus.sap.cc/v1/klusters":          "kubernikus/kluster/kluster.go",
		"midonet.org/v1/translations":            "midonet/translation/translation.go",
	}
	for resource, source := range sources {
		code, err := os.ReadFile(filepath.Join("../../pkg/registry", source))
		if err != nil {
			t.Fatal(err)
		}
		served := []string{"NAME", "AGE"}
		if resource != "core.gardener.cloud/v1beta1/projects" {
			served = append(served, "NAMESPACE")
		}
		for _, match := range tableColumn.FindAllStringSubmatch(string(code), -1) {
			served = append(served, strings.ToUpper(match[1]))
		}
		view, ok := config.Views[resource]
		if !ok {
			t.Errorf("%s has no view", resource)
			continue
		}
		var names []string
		for _, column := range view.Columns {
			definition, _, _ := strings.Cut(column, "|")
			name, expression, custom := strings.Cut(definition, ":")
			names = append(names, name)
			if !custom && !slices.Contains(served, name) || custom && !strings.HasPrefix(expression, ".") {
				t.Errorf("%s: column %q is neither one of %v nor has an expression", resource, column, served)
			}
		}
		if sorted, order, _ := strings.Cut(view.SortColumn, ":"); !slices.Contains(names, sorted) || order != "asc" && order != "desc" {
			t.Errorf("%s: sortColumn = %q, want one of the columns with asc or desc", resource, view.SortColumn)
		}
	}
	if len(config.Views) != len(sources) {
		t.Errorf("%d views, want %d", len(config.Views), len(sources))
	}
}
