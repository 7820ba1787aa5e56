// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package contour tests what a route gets: Contour translates the routes of a plane for Envoy, and its responses report where
// requests go while backends are in maintenance, afterwards, and when they have been deleted. No Envoy is needed for that.
//
// "make test-contour" builds Contour and runs the tests.
package contour
