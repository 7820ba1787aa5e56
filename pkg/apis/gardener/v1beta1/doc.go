// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:validation-gen=TypesWithField=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=cloud.gardener.core.v1beta1
// +k8s:protobuf-gen=package
// +groupName=core.gardener.cloud
// +groupGoName=Gardener

// Package v1beta1 is the v1beta1 version of the core.gardener.cloud API: Projects.
package v1beta1
