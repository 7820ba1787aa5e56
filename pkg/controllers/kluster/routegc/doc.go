// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package routegc removes the routes that a cloud controller left on the router of a cluster when a node went away while
// it was not looking. A route is removed only if all of this holds:
//
//   - its destination is an IPv4 network within the cluster's own range, and in no sibling's (Scope);
//   - Nova listed all servers, and none has its next hop as an address (candidates);
//   - Neutron has no port and no floating IP at its next hop that anything could be behind (evidence);
//   - it was seen so twice, some time apart, and for a whole interval when that would remove suspiciously much (Memory).
//
// A reconciliation looks once. It removes routes one by one, even if other clients change the router at the same time.
package routegc
