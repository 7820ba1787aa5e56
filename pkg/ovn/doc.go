// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovn has the rows of OVN's Northbound database that Translations are made of: the kinds, named after the tables, with
// their columns and types (kinds.go), and the form of their bodies, which is plain JSON (resource.go, value.go).
package ovn
