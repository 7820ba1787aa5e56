// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +k8s:validation-gen=TypesWithField=TypeMeta
// +k8s:openapi-gen=true
// +k8s:openapi-model-package=cc.sap.kubernikus.v1
// +k8s:protobuf-gen=package
// +groupName=kubernikus.sap.cc
// +groupGoName=Kubernikus

// Package v1 is the v1 version of the kubernikus.sap.cc API: Klusters.
package v1
