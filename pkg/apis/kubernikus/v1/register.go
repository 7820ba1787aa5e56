// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, Kubernikus'.
const GroupName = "kubernikus.sap.cc"

// SchemeGroupVersion is the group version of this package.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1"}

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
	scheme.AddKnownTypes(SchemeGroupVersion, &Kluster{}, &KlusterList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// Field labels that a client may select Klusters by.
const (
	// KlusterNameField selects Klusters by their name.
	KlusterNameField = "metadata.name"
	// KlusterNamespaceField selects Klusters by their namespace.
	KlusterNamespaceField = "metadata.namespace"
	// KlusterPhaseField selects Klusters by their phase.
	KlusterPhaseField = "status.phase"
	// KlusterClusterField selects Klusters by the cluster that they lead to. With an empty value these are the Klusters whose cluster is
	// unknown.
	KlusterClusterField = "status.identity.clusterID"
)

func addFieldLabels(scheme *runtime.Scheme) error {
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("Kluster"),
		func(label, value string) (string, string, error) {
			switch label {
			case KlusterNameField, KlusterNamespaceField, KlusterPhaseField, KlusterClusterField:
				return label, value, nil
			default:
				return "", "", fmt.Errorf("field label %q is not supported: use %s, %s, %s or %s",
					label, KlusterNameField, KlusterNamespaceField, KlusterPhaseField, KlusterClusterField)
			}
		})
}
