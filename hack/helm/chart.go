// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// own are the files that have no source in artifacts.
//
//go:embed all:chart
var own embed.FS

// The directories of artifacts that are in the chart.
var (
	modes = map[string]string{
		"single-replica":    "install/single-replica",
		"high-availability": "install/high-availability",
		"external-etcd":     "install/external-etcd",
	}
	features = map[string]string{
		"clusterAPI":   "capi",
		"discovery":    "discovery",
		"kluster":      "kluster",
		"resourceSize": "webhooks/resource-size",
	}
)

// header is above each object of artifacts.
const header = "# Made from artifacts/ by hack/helm: do not edit.\n"

// chart returns the content of each file of the chart.
func chart(artifacts string) (map[string]string, error) {
	installations := map[string][]object{}
	for mode, directory := range modes {
		objects, err := build(artifacts, directory)
		if err != nil {
			return nil, err
		}
		installations[mode] = objects
	}
	defaults, err := defaultsOf(installations)
	if err != nil {
		return nil, err
	}
	files, err := ownFiles(defaults)
	if err != nil {
		return nil, err
	}
	for _, v := range merge(installations) {
		conditions := []string{}
		if len(v.modes) < len(modes) {
			conditions = append(conditions, fmt.Sprintf("has .Values.mode (list %s)", quoted(v.modes)))
		}
		if v.object.text("kind") == "Namespace" {
			conditions = append(conditions, ".Values.namespaces.create")
		}
		if v.object.text("kind") == "APIService" {
			// One that exists stays: a value must not unregister an API that serves.
			conditions = append(conditions, fmt.Sprintf("or .Values.apiServices.create (lookup %q %q \"\" %q)", v.object.text("apiVersion"), "APIService", v.object.text("metadata", "name")))
		}
		if err := add(files, strings.ToLower(v.object.text("kind")), v.object, conditions); err != nil {
			return nil, err
		}
	}
	for _, feature := range slices.Sorted(maps.Keys(features)) {
		objects, err := build(artifacts, features[feature])
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if err := add(files, "feature-"+feature, o, []string{".Values.features." + feature + ".enabled"}); err != nil {
				return nil, err
			}
		}
	}
	return files, nil
}

// add writes an object behind the others of a template, where all conditions are met.
func add(files map[string]string, name string, o object, conditions []string) error {
	s := newSnippets()
	if err := settle(o, s); err != nil {
		return err
	}
	text, err := s.print(o)
	if err != nil {
		return err
	}
	for _, condition := range conditions {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	name = path.Join("templates", name+".yaml")
	if _, there := files[name]; !there {
		files[name] = header
	}
	files[name] += "---\n" + text
	return nil
}

// ownFiles returns the files of the directory chart, with the defaults in the values.
func ownFiles(d defaults) (map[string]string, error) {
	files := map[string]string{}
	err := fs.WalkDir(own, "chart", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := own.ReadFile(file)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(file, "chart/")
		files[name], err = d.fill(name, string(content))
		return err
	})
	return files, err
}

func quoted(words []string) string {
	var all []string
	for _, word := range words {
		all = append(all, fmt.Sprintf("%q", word))
	}
	return strings.Join(all, " ")
}
