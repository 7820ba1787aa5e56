// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovsdb is a client of Open vSwitch databases (RFC 7047): transactions, the schema, and monitors that report the rows that
// changed (monitor_cond_since, or monitor_cond of servers that do not have it). It connects to one of several endpoints, of a
// cluster to the leader, replies to the server's probes and sends its own, and reconnects when the next call needs a connection.
//
// A call is sent once. Whether it was carried out is unknown if the connection ends before the response, so the caller has to
// repeat it in a way that is safe.
package ovsdb
