// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/process"
)

func newConvert(c *command) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "convert -f FILE",
		Short: "Write manifests of Gimbal, Kubernikus, MidoNet and Gardener as Groundskeeper takes them",
		Long: "Write manifests of Gimbal, Kubernikus, MidoNet and Gardener as Groundskeeper takes them: the kinds Discoverer " +
			"and Discovery of Gimbal's\n" +
			"design, which kubectl answers with \"ensure CRDs are installed first\", become DiscoveryBackends, and objects that " +
			"kubectl get wrote lose\n" +
			"their status, finalizers and what the API server sets. Other objects are written unchanged. It needs no cluster.",
		Example: "  kubectl groundskeeper convert -f backends.yaml | kubectl apply -f -\n" +
			"  kubectl groundskeeper convert -f klusters.json > klusters.yaml",
		Args:        process.NoArgs,
		Annotations: map[string]string{offline: "true"},
		RunE:        func(*cobra.Command, []string) error { return c.convert(files) },
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, "`file` with manifests in YAML or JSON, - for the standard input")
	return cmd
}

// convert prints all manifests, or none if one cannot be converted.
func (c *command) convert(files []string) error {
	if len(files) == 0 {
		return errors.New("name a file: kubectl groundskeeper convert -f FILE")
	}
	text := ""
	for _, file := range files {
		in := c.in
		if file != "-" {
			opened, err := os.Open(file)
			if err != nil {
				return err
			}
			defer opened.Close() //nolint:errcheck // it was only read
			in = opened
		}
		documents, err := convertAll(in)
		if err != nil {
			return fmt.Errorf("%s: %w. Nothing was written", file, err)
		}
		text += documents
	}
	c.out.print("%s", text)
	return nil
}

func convertAll(in io.Reader) (text string, err error) {
	for decoder := utilyaml.NewYAMLOrJSONDecoder(in, 4096); ; {
		document := &unstructured.Unstructured{}
		switch err := decoder.Decode(&document.Object); {
		case errors.Is(err, io.EOF):
			return text, nil
		case err != nil:
			return "", err
		case len(document.Object) == 0:
			continue // a comment
		}
		objects := []unstructured.Unstructured{*document}
		if document.IsList() {
			list, err := document.ToList()
			if err != nil {
				return "", err
			}
			objects = list.Items
		}
		for i := range objects {
			if err := convertObject(&objects[i]); err != nil {
				return "", err
			}
			data, err := yaml.Marshal(objects[i].Object)
			if err != nil {
				return "", err
			}
			text += "---\n" + string(data)
		}
	}
}

// formerKinds returns the kinds in the examples of Gimbal's design, which were mistakes for DiscoveryBackend.
func formerKinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{gimbalv1.SchemeGroupVersion.WithKind("Discoverer"),
		{Group: "contour.heptio.com", Version: "v1", Kind: "Discovery"}}
}

// convertObject makes an object of Groundskeeper's kinds one that can be created. Others stay as they are.
func convertObject(object *unstructured.Unstructured) error {
	for _, former := range formerKinds() {
		if object.GroupVersionKind() == former {
			object.SetGroupVersionKind(gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackend"))
		}
	}
	kind := object.GroupVersionKind()
	if !isOwn(kind.Group) {
		return nil
	}
	name := kind.Kind + " " + nameOf(object)
	typed, err := newScheme().New(kind)
	switch {
	case err != nil:
		return fmt.Errorf("%s is of %s, which Groundskeeper does not have: correct apiVersion and kind", name, kind.GroupVersion())
	case kind.Group == gardenerv1beta1.GroupName && object.GetUID() != "":
		return fmt.Errorf("%s has a uid, which its namespace depends on, and which no manifest can set: move it with "+
			"groundskeeper-apiserver import (docs/migration.md#gardener)", name)
	}
	delete(object.Object, "status")
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"deletionGracePeriodSeconds", "selfLink", "managedFields", "finalizers"} {
		unstructured.RemoveNestedField(object.Object, "metadata", field)
	}
	// It has the former kind, and the status.
	unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	if len(object.GetAnnotations()) == 0 {
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations")
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
		return fmt.Errorf("%s: %w: correct or remove it", name, err)
	}
	return nil
}
