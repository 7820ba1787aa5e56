// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// object is one of Kubernetes.
type object map[string]any

// id is unique among the objects of an installation. Kustomize names some ConfigMaps by their content, the chart does so as well.
func (o object) id() string {
	return strings.Join([]string{o.text("apiVersion"), o.text("kind"), o.text("metadata", "namespace"), o.text("metadata", "name")}, "/")
}

func (o object) text(path ...string) string {
	text, _ := o.at(path...).(string)
	return text
}

// at returns the value at a path, nil where there is none.
func (o object) at(path ...string) any {
	var value any = map[string]any(o)
	for _, field := range path {
		fields, ok := value.(map[string]any)
		if !ok {
			return nil
		}
		value = fields[field]
	}
	return value
}

// build returns what "kubectl kustomize" prints of a directory of artifacts.
func build(artifacts, directory string) ([]object, error) {
	resources, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join(artifacts, directory))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", directory, err)
	}
	var objects []object
	for _, resource := range resources.Resources() {
		fields, err := resource.Map()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", directory, err)
		}
		objects = append(objects, fields)
	}
	return objects, nil
}

// variant is an object with the modes that have it so.
type variant struct {
	object object
	modes  []string
}

// merge returns the objects of all modes: each once, with all modes, where it is the same in them.
func merge(modes map[string][]object) []variant {
	var merged []variant
	for _, mode := range slices.Sorted(maps.Keys(modes)) {
		for _, o := range modes[mode] {
			same := slices.IndexFunc(merged, func(v variant) bool { return reflect.DeepEqual(v.object, o) })
			if same < 0 {
				merged = append(merged, variant{o, []string{mode}})
				continue
			}
			merged[same].modes = append(merged[same].modes, mode)
		}
	}
	slices.SortStableFunc(merged, func(a, b variant) int { return strings.Compare(a.object.id(), b.object.id()) })
	return merged
}
