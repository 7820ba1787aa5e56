// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the API group, that of Heptio Gimbal.
const GroupName = "gimbal.heptio.com"

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
	scheme.AddKnownTypes(SchemeGroupVersion, &DiscoveryBackend{}, &DiscoveryBackendList{})
	metav1.AddToGroupVersion(scheme, SchemeGroupVersion)
	return nil
}

// Field labels that a client may select DiscoveryBackends by, beside metadata.name and metadata.namespace.
// The case of a value does not matter.
const (
	// ClusterTypeField selects the backends of one type.
	ClusterTypeField = "cluster.type"
	// ClusterStatusField selects the backends that take requests, or those in maintenance.
	ClusterStatusField = "cluster.clusterStatus"
	// ClusterIDField selects the backends of one cluster, by the uid of its namespace kube-system.
	ClusterIDField = "status.identity.clusterID"
)

func addFieldLabels(scheme *runtime.Scheme) error {
	return scheme.AddFieldLabelConversionFunc(SchemeGroupVersion.WithKind("DiscoveryBackend"), convertFieldLabel)
}

// convertFieldLabel lists the field selectors that are served, and normalizes the selected value as in the objects.
func convertFieldLabel(label, value string) (string, string, error) {
	switch label {
	case "metadata.name", "metadata.namespace", ClusterIDField:
		return label, value, nil
	case ClusterTypeField:
		return label, string(canonicalBackendType(BackendType(value))), nil
	case ClusterStatusField:
		return label, string(canonicalClusterStatus(ClusterStatus(value))), nil
	default:
		return "", "", fmt.Errorf("field label %q is not supported: use metadata.name, metadata.namespace, %s, %s or %s",
			label, ClusterTypeField, ClusterStatusField, ClusterIDField)
	}
}
