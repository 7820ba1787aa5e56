// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Command schemas writes a JSON schema for each kind, from its OpenAPI definition, where kubeconform and editors find it:
// GROUP/KIND_VERSION.json. A field that a schema does not have is an error, as with strict
// validation by the API server.
//
//	go run ./hack/schemas artifacts/gitops/schemas
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	generatedopenapi "groundskeeper.io/groundskeeper/pkg/generated/openapi"
)

// kind is a kind with the name of its definition in OpenAPI.
type kind struct{ group, version, name, definition string }

func kinds() []kind {
	return []kind{
		{gardenerv1beta1.GroupName, "v1beta1", "Project", gardenerv1beta1.Project{}.OpenAPIModelName()},
		{gimbalv1.GroupName, "v1", "DiscoveryBackend", gimbalv1.DiscoveryBackend{}.OpenAPIModelName()},
		{kubernikusv1.GroupName, "v1", "Kluster", kubernikusv1.Kluster{}.OpenAPIModelName()},
		{midonetv1.GroupName, "v1", "Translation", midonetv1.Translation{}.OpenAPIModelName()},
	}
}

// file returns the path of the schema of a kind.
func (k kind) file() string {
	return filepath.Join(k.group, strings.ToLower(k.name)+"_"+k.version+".json")
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: schemas DIRECTORY")
		os.Exit(2)
	}
	if err := generate(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// generate writes the schemas of all kinds.
func generate(dir string) error {
	definitions := generatedopenapi.GetOpenAPIDefinitions(func(name string) spec.Ref { return spec.MustCreateRef("#/definitions/" + name) })
	for _, k := range kinds() {
		schema, err := schemaOf(k, definitions)
		if err != nil {
			return fmt.Errorf("schema of %s: %w", k.name, err)
		}
		data, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return err
		}
		path := filepath.Join(dir, k.file())
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, append(data, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// schemaOf returns the schema of a kind, with all definitions that it refers to.
func schemaOf(k kind, definitions map[string]common.OpenAPIDefinition) (*schema, error) {
	c := converter{definitions: definitions, done: map[string]*schema{}}
	if err := c.define(k.definition); err != nil {
		return nil, err
	}
	root := *c.done[k.definition]
	delete(c.done, k.definition)
	root.Version, root.Definitions = "http://json-schema.org/draft-07/schema#", c.done
	root.Properties["apiVersion"] = &schema{Type: "string", Enum: []any{k.group + "/" + k.version}, Description: "APIVersion is the version of the kind."}
	root.Properties["kind"] = &schema{Type: "string", Enum: []any{k.name}, Description: "Kind is the name of the kind."}
	root.Properties["metadata"] = root.Properties["metadata"].AnyOf[0] // required, so never null
	root.Required = append([]string{"apiVersion", "kind", "metadata"}, root.Required...)
	return &root, nil
}
