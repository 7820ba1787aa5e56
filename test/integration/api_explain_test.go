// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
)

// TestExplain checks that kubectl explain describes every field of every kind.
func TestExplain(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds() {
		t.Run(kind.kind, func(t *testing.T) {
			t.Parallel()
			fields := schemaOf(t, kind).fields(kind.kind)
			if len(fields) < 30 { // the metadata alone has more
				t.Fatalf("the OpenAPI document has the fields %v", slices.Sorted(maps.Keys(fields)))
			}
			for path, description := range fields {
				if !strings.Contains(strings.TrimSpace(description), " ") {
					t.Errorf("%s is described by %q", path, description)
				}
			}
			out, err := kubectl(t, "", "explain", "--recursive", "--api-version="+kind.groupVersion, kind.kind)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(slices.Sorted(maps.Keys(fields)), explained(kind.kind, out)); diff != "" {
				t.Errorf("fields (-OpenAPI +kubectl explain):\n%s", diff)
			}
		})
	}
	t.Run("one field", func(t *testing.T) {
		t.Parallel()
		schemaOf(t, kinds()[1])
		out, err := kubectl(t, "", "explain", "kluster.spec.nodePools.availabilityZone")
		if err != nil || !strings.Contains(out, "AvailabilityZone is where the nodes run. It cannot be changed.") {
			t.Errorf("%v: %s", err, out)
		}
	})
}

// openAPI is a part of the document of a group version.
type openAPI struct {
	Components struct{ Schemas map[string]schema }
}

type schema struct {
	Description          string
	Ref                  string `json:"$ref"`
	AllOf                []schema
	Properties           map[string]schema
	Items                *schema
	AdditionalProperties *schema
	Kinds                []struct{ Group, Version, Kind string } `json:"x-kubernetes-group-version-kind"`
}

// schemaOf reads the document of a kind's group version. The aggregator has it up to a minute after the group appeared.
func schemaOf(t *testing.T, kind kind) openAPI {
	t.Helper()
	client, err := kubernetes.NewForConfig(shared.Config())
	if err != nil {
		t.Fatal(err)
	}
	var document openAPI
	eventually(t, func(ctx context.Context) error {
		data, err := client.RESTClient().Get().AbsPath("/openapi/v3/apis/"+kind.groupVersion).SetHeader("Accept", "application/json").DoRaw(ctx)
		if err != nil {
			return err
		}
		return json.Unmarshal(data, &document)
	})
	return document
}

// fields returns the descriptions of all fields of a kind by their paths.
func (d openAPI) fields(kind string) map[string]string {
	for _, s := range d.Components.Schemas {
		for _, k := range s.Kinds {
			if k.Kind == kind {
				fields := map[string]string{}
				d.walk(s, kind, fields)
				return fields
			}
		}
	}
	return nil
}

func (d openAPI) walk(s schema, path string, fields map[string]string) {
	for name, property := range s.Properties {
		path := fmt.Sprintf("%s.%s", path, name)
		fields[path] = property.Description
		d.walk(d.resolve(property), path, fields)
	}
}

// resolve passes through references, lists and maps to what has the properties.
func (d openAPI) resolve(s schema) schema {
	switch {
	case s.Ref != "":
		return d.resolve(d.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")])
	case len(s.AllOf) > 0:
		return d.resolve(s.AllOf[0])
	case s.Items != nil:
		return d.resolve(*s.Items)
	case s.AdditionalProperties != nil:
		return d.resolve(*s.AdditionalProperties)
	default:
		return s
	}
}

var explainedField = regexp.MustCompile(`^((?:  )+)(\S+)\t<`)

// explained returns the paths of the fields in the output of kubectl explain --recursive, sorted.
func explained(kind, out string) []string {
	var paths []string
	path := []string{kind}
	for line := range strings.Lines(out) {
		if field := explainedField.FindStringSubmatch(line); field != nil {
			path = append(path[:len(field[1])/2], field[2])
			paths = append(paths, strings.Join(path, "."))
		}
	}
	slices.Sort(paths)
	return paths
}
