// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// result returns the error that makes the exit code of a report: what could not be checked counts more than what was found.
func result(r *report.Report) error {
	var problems []string
	for _, c := range r.Checked {
		if c.Problem != "" {
			problems = append(problems, c.Name)
		}
	}
	switch {
	case len(problems) > 0:
		return fmt.Errorf("not everything could be checked: %s", strings.Join(problems, ", "))
	case !report.OK(r.Findings):
		return errFindings
	}
	return nil
}

// output is the value of the flag --output.
type output string

// outputs are the formats other than text.
var outputs = []string{"json", "yaml"}

func (o *output) addTo(cmd *cobra.Command) {
	cmd.Flags().StringVarP((*string)(o), "output", "o", "", "`format` instead of text: json or yaml")
	_ = cmd.RegisterFlagCompletionFunc("output",
		cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp)) // fails for unknown flags
}

// check rejects unknown formats before any request is sent.
func (o output) check() error {
	if o != "" && !slices.Contains(outputs, string(o)) {
		return fmt.Errorf("--output: %q is not json or yaml", string(o))
	}
	return nil
}

// write prints a value in the format, or has text printed.
func (o output) write(to *terminal, value any, text func()) error {
	if o == "" {
		text()
		return nil
	}
	data, err := json.MarshalIndent(value, "", "  ")
	if err == nil && o == "yaml" {
		data, err = yaml.JSONToYAML(data)
	}
	if err != nil {
		return err
	}
	to.print("%s\n", strings.TrimSuffix(string(data), "\n"))
	return nil
}
