// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gitops

import (
	"os"
	"testing"

	"github.com/google/cel-go/cel"
	"sigs.k8s.io/yaml"
)

// healthCheck is an element of healthCheckExprs.
type healthCheck struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Current    string `json:"current"`
	Failed     string `json:"failed"`
	InProgress string `json:"inProgress"`
}

func healthChecks(t *testing.T) map[string]healthCheck {
	t.Helper()
	data, err := os.ReadFile(artifacts + "/flux/health-checks.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var patch struct {
		Spec struct {
			HealthCheckExprs []healthCheck `json:"healthCheckExprs"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(data, &patch); err != nil {
		t.Fatal(err)
	}
	checks := map[string]healthCheck{}
	for _, c := range patch.Spec.HealthCheckExprs {
		checks[c.APIVersion+" "+c.Kind] = c
	}
	return checks
}

// The health checks of Flux evaluate each kind in each state as expected.
func TestFluxHealthChecks(t *testing.T) {
	checks := healthChecks(t)
	for _, s := range states(t) {
		t.Run(s.name, func(t *testing.T) {
			version, _ := s.object["apiVersion"].(string)
			c, ok := checks[version+" "+s.kind]
			if !ok {
				t.Fatalf("no health check of %s %s", version, s.kind)
			}
			if got := statusOf(t, c, s.object); got != s.status {
				t.Errorf("status = %s, want %s", got, s.status)
			}
		})
	}
}

// An object without status is in progress, and no expression returns an error.
func TestFluxHealthChecksOfManifests(t *testing.T) {
	checks := healthChecks(t)
	for _, object := range examples(t) {
		version, _ := object["apiVersion"].(string)
		kind, _ := object["kind"].(string)
		object["status"] = map[string]any{}
		if got := statusOf(t, checks[version+" "+kind], object); got != "InProgress" {
			t.Errorf("%s without a status: %s, want InProgress", kind, got)
		}
	}
}

// statusOf evaluates the expressions in the order of Flux, whose default is InProgress.
func statusOf(t *testing.T, c healthCheck, object map[string]any) string {
	t.Helper()
	for _, step := range []struct{ status, expression string }{{"InProgress", c.InProgress}, {"Failed", c.Failed}, {"Current", c.Current}} {
		if step.expression != "" && evaluate(t, step.expression, object) {
			return step.status
		}
	}
	return "InProgress"
}

// evaluate evaluates an expression over the top-level fields of an object.
func evaluate(t *testing.T, expression string, object map[string]any) bool {
	t.Helper()
	var options []cel.EnvOption
	for field := range object {
		options = append(options, cel.Variable(field, cel.DynType))
	}
	environment, err := cel.NewEnv(options...)
	if err != nil {
		t.Fatal(err)
	}
	checked, issues := environment.Compile(expression)
	if issues.Err() != nil {
		t.Fatal(issues.Err())
	}
	program, err := environment.Program(checked)
	if err != nil {
		t.Fatal(err)
	}
	result, _, err := program.Eval(object)
	if err != nil {
		t.Fatal(err)
	}
	value, ok := result.Value().(bool)
	if !ok {
		t.Fatalf("%s is %v, want a bool", expression, result.Value())
	}
	return value
}
