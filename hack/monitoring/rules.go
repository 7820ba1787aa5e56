// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"
)

// ruleFile is a file of rules as Prometheus reads it.
type ruleFile struct {
	Groups []ruleGroup `json:"groups"`
}

// ruleGroup is a group of rules.
type ruleGroup struct {
	Name  string `json:"name"`
	Rules []rule `json:"rules"`
}

// rule is an alert.
type rule struct {
	Alert       string            `json:"alert"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// alerts reads a file of rules. What it does not know is an error.
func alerts(content []byte) ([]rule, error) {
	var file ruleFile
	if err := yaml.UnmarshalStrict(content, &file); err != nil {
		return nil, fmt.Errorf("rules: %w", err)
	}
	var all []rule
	for _, group := range file.Groups {
		all = append(all, group.Rules...)
	}
	return all, nil
}

const ruleHeader = `# SPDX-FileCopyrightText: The Groundskeeper authors
# SPDX-License-Identifier: Apache-2.0

# Made from ../alerts/groundskeeper.rules.yaml by hack/monitoring/generate.sh. Do not edit.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: groundskeeper
  namespace: groundskeeper-system
  labels:
    app.kubernetes.io/name: groundskeeper
    app.kubernetes.io/part-of: groundskeeper
spec:
`

// prometheusRule wraps a file of rules as an object of the Prometheus operator.
func prometheusRule(content []byte) ([]byte, error) {
	_, groups, found := strings.Cut(string(content), "\ngroups:\n")
	if !found {
		return nil, fmt.Errorf("no groups in the rules")
	}
	var object strings.Builder
	object.WriteString(ruleHeader + "  groups:\n")
	for line := range strings.Lines(groups) {
		if line != "\n" {
			object.WriteString("  ")
		}
		object.WriteString(line)
	}
	return []byte(object.String()), nil
}
