// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package midonet is a client of MidoNet's REST API, version 5: the kinds that Translations are made of, their paths,
// media types and bodies (kinds.go, bodies_*.go), and one client that logs in, times out, and tries again what is safe
// to try again (client.go).
//
// It sends a body unchanged, byte for byte, so that a field that is not modelled here still reaches the server.
package midonet
