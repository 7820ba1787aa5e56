// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:validation-gen=TypesWithField=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=com.heptio.gimbal.v1
// +k8s:protobuf-gen=package
// +groupName=gimbal.heptio.com
// +groupGoName=Gimbal

// Package v1 is the v1 version of the gimbal.heptio.com API: DiscoveryBackends.
package v1
