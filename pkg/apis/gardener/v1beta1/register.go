// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, Gardener's.
const GroupName = "core.gardener.cloud"

// SchemeGroupVersion is the group version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1beta1"}

var (
	// SchemeBuilder collects what registers this package.
	SchemeBuilder      = runtime.NewSchemeBuilder(addKnownTypes)
	localSchemeBuilder = &SchemeBuilder
	// AddToScheme registers this package with a scheme.
	AddToScheme = SchemeBuilder.AddToScheme
)

func init() {
	localSchemeBuilder.Register(RegisterDefaults, addFieldLabels)
}

// Resource qualifies a resource name with the group.
func Resource(resource string) schema.GroupResource {
	return schema.GroupResource{Group: GroupName, Resource: resource}
}

// Kind qualifies a kind with the group.
func Kind(kind string) schema.GroupKind {
	return schema.GroupKind{Group: GroupName, Kind: kind}
}

func addKnownTypes(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(SchemeGroupVersion, &Project{}, &ProjectList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// Field labels that a client may select Projects by.
const (
	// ProjectNamespaceField selects the Project of a namespace.
	ProjectNamespaceField = "spec.namespace"
	// ProjectNameField selects a Project by its name.
	ProjectNameField = "metadata.name"
)

func addFieldLabels(scheme *runtime.Scheme) error {
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("Project"),
		func(label, value string) (string, string, error) {
			switch label {
			case ProjectNameField, ProjectNamespaceField:
				return label, value, nil
			default:
				return "", "", fmt.Errorf("field label %q is not supported: use %s or %s", label, ProjectNameField, ProjectNamespaceField)
			}
		})
}
