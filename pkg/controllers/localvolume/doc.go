// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package localvolume is what the two controllers of local volumes share, cleanup and deleter: which volumes are stale because
// their nodes have been deleted, since when, and whether anything may be deleted at all. Neither reports where it runs: a Site is
// built over the clients and the cache of any cluster.
//
// Informers feed an Inventory, an index of volumes by node. A reconciliation of a controller checks the volumes of missing nodes
// only, decides by pure functions (pin.go, decide.go, brake.go), reads the nodes live before the first deletion of a batch, and
// deletes exactly the objects it decided about: by uid and resource version.
package localvolume
