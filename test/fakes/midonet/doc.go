// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package midonet is a fake of MidoNet's REST API, version 5, that speaks HTTP and is as strict as the real server: it wants the
// same media types, rejects the same bodies and references with the same codes, and removes what is deleted with a resource that is
// removed. It shares no code with Groundskeeper's client, so that a mistake in one is seen by the other.
//
// Besides the API it has pages for tests and for users, under /_fake: what it holds, what was queried of it, the hosts that it
// pretends to have, and faults to make (admin.go). Its state is in memory and lasts as long as the Server does, not its listener: a
// test can stop one and start another on the same state.
package midonet
