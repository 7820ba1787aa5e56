// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package convert reports which backend resources a Kubernetes object becomes. Globals, Node, Pod, Service and Endpoints are pure
// functions: the same objects and the same Config make the same Translations, byte for byte, in whatever order maps, addresses and
// slices come. Ids, names, bodies and their order are those of midonet-kube-controllers, so that a deployment it made can be taken
// over in place.
//
// MidoNet joins them for the controller, with what MidoNet cannot do: that is for each backend to report. OVN makes the rows of OVN's
// Northbound database of the same objects (ovn*.go). Both share what is not of a backend: which objects and endpoints count, how
// addresses are read, and how ids and names are derived.
//
// Service and Endpoints make Translations of one owner, the Service: what is stale is reported from both results together (Join).
// What is written is up to the caller; a Result with Waiting set must not delete anything immediately.
package convert
