// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package routegc removes orphaned routes from the router of a cluster. A cloud controller leaves them behind if a node is deleted
// while it does not run. A route is removed only if all of these conditions are met:
//
//   - its destination is an IPv4 network within the pod CIDR of the cluster and of no sibling (Scope);
//   - Nova returned a complete list of servers, and none of them has the next hop as an address (candidates);
//   - Neutron has no port and no floating IP at the next hop that could be in use (evidence);
//   - two reconciles at a minimum interval observed this, or a complete interval if the fraction of removed routes is suspicious (Memory).
//
// A reconcile reads the router once, and removes routes one by one, so that concurrent changes of the router are retained.
package routegc
