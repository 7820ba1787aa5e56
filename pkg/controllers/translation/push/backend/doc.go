// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backend defines the interface between the push engine and the drivers of backend networks: resources, their dependencies,
// and the operations of a backend. A driver implements the kinds of one backend and is independent of Translations; the engine is
// independent of kinds.
package backend
