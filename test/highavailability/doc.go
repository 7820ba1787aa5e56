// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package highavailability tests that the manifests of the installations with several replicas fit together.
package highavailability
