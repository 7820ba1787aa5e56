// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// +k8s:deepcopy-gen=package
// +k8s:defaulter-gen=TypeMeta
// +groupName=config.groundskeeper.io

// Package v1alpha1 is the v1alpha1 version of the configuration files of Groundskeeper's processes.
package v1alpha1
