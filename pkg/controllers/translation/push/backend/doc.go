// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package backend is what a push engine and the drivers of backend networks have in common: what a resource is, what
// it needs, and the few things a backend can do. A driver knows one backend's kinds and nothing of Translations; the
// engine knows Translations and no kind.
package backend
