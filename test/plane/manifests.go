// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// fieldManager owns what a plane applies.
const fieldManager = "groundskeeper-local-plane"

// kustomization is the part of a kustomization that a plane supports: a list of manifests. Strict decoding rejects any other field,
// so that a plane never applies other objects than kustomize would.
type kustomization struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Resources  []string `json:"resources"`
}

// manifests reads the objects of a file, or of the kustomization in a directory.
func manifests(path string) ([]*unstructured.Unstructured, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return decode(path)
	}
	file := filepath.Join(path, "kustomization.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var k kustomization
	if err := yaml.UnmarshalStrict(content, &k); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var objects []*unstructured.Unstructured
	for _, resource := range k.Resources {
		more, err := manifests(filepath.Join(path, resource))
		if err != nil {
			return nil, err
		}
		objects = append(objects, more...)
	}
	return objects, nil
}

// decode reads the YAML documents of a file.
func decode(path string) ([]*unstructured.Unstructured, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(content)))
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.UnmarshalStrict(document, &object.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		if len(object.Object) > 0 { // more than comments
			objects = append(objects, object)
		}
	}
}

// apply makes the objects on the server what the manifests specify; an object that is so already is not written.
func apply(ctx context.Context, client dynamic.Interface, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
		if _, err := resource(client, object).Apply(ctx, object.GetName(), object, options); err != nil {
			return fmt.Errorf("cannot apply %s %s: %w", object.GetKind(), name(object), err)
		}
	}
	return nil
}

// resource returns the client for the object's kind. The kinds in artifacts/ are regular enough to derive
// the resource from the kind, which saves a discovery.
func resource(client dynamic.Interface, object *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(object.GroupVersionKind())
	if namespace := object.GetNamespace(); namespace != "" {
		return client.Resource(plural).Namespace(namespace)
	}
	return client.Resource(plural)
}

func name(object *unstructured.Unstructured) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}
