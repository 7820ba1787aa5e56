// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

//go:build tools

// Package tools keeps the code generator, whose scripts are read from its module, in go.mod.
package tools

import _ "k8s.io/code-generator"
