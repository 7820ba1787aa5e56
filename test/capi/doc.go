// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package capi tests Klusters of Cluster API with its core controllers: they delete Clusters and Machines, and call the Runtime Extension.
// Its provider for OpenStack, which the Go module proxy does not have, is a stand-in (test/support/capitest), and so are OpenStack and the
// cloud controllers of the workload cluster.
//
// "make test-capi" builds Cluster API and runs the tests.
package capi
