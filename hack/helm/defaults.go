// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// defaults are the values that artifacts have, for the file with the values. They are the same in all modes.
type defaults struct {
	resources  map[string]any
	images     map[string]any
	config     string
	volumeSize string
}

// defaultsOf collects the defaults, and fails where two modes differ in one: there the value has to be one for each mode.
func defaultsOf(installations map[string][]object) (defaults, error) {
	d := defaults{resources: map[string]any{}, images: map[string]any{}}
	for _, mode := range slices.Sorted(maps.Keys(installations)) {
		for _, o := range installations[mode] {
			switch name := o.text("metadata", "name"); {
			case o.text("kind") == "Deployment" || o.text("kind") == "StatefulSet":
				container := containerOf(o)
				resources := container["resources"]
				if before, there := d.resources[name]; there && !reflect.DeepEqual(before, resources) {
					return d, fmt.Errorf("%s: mode %s has other resources than the one before", o.id(), mode)
				}
				d.resources[name], d.images[name] = resources, container["image"]
			case isConfig(o):
				config := o.text("data", "config.yaml")
				if d.config != "" && config != d.config {
					return d, fmt.Errorf("%s: mode %s has another configuration than the one before", o.id(), mode)
				}
				d.config = config
			case o.text("kind") == "PersistentVolumeClaim":
				d.volumeSize = o.text("spec", "resources", "requests", "storage")
			}
		}
	}
	return d, nil
}

// containerOf returns the first container of a workload.
func containerOf(o object) map[string]any {
	containers, _ := o.at("spec", "template", "spec", "containers").([]any)
	if len(containers) == 0 {
		return nil
	}
	container, _ := containers[0].(map[string]any)
	return container
}

// fill puts the defaults into a file, where it has [[ ]].
func (d defaults) fill(name, content string) (string, error) {
	if !strings.Contains(content, "[[") {
		return content, nil
	}
	functions := template.FuncMap{
		"indent": indent,
		"resources": func(workload string) (string, error) {
			written, err := yaml.Marshal(d.resources[workload])
			return string(written), err
		},
		"image":      func(workload string) any { return d.images[workload] },
		"config":     func() string { return d.config },
		"volumeSize": func() string { return d.volumeSize },
		"modes": func() (string, error) {
			written, err := json.Marshal(slices.Sorted(maps.Keys(modes)))
			return string(written), err
		},
	}
	parsed, err := template.New(name).Delims("[[", "]]").Funcs(functions).Parse(content)
	if err != nil {
		return "", err
	}
	var filled strings.Builder
	err = parsed.Execute(&filled, nil)
	return filled.String(), err
}

// indent puts spaces in front of all lines that are not empty.
func indent(spaces int, text string) string {
	prefix := strings.Repeat(" ", spaces)
	return strings.ReplaceAll(prefix+strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix), prefix+"\n", "\n")
}
