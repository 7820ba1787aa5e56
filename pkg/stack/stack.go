// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package stack makes room on the stacks of goroutines that are about to go deep.
//
// A request has up to three goroutines of the library's, which begin with small stacks: one that leads through the filters up
// to that for timeouts, one for all the rest, and for a write one that waits for the storage. A stack that is full is copied
// into one of twice the size, frame by frame, the dearer the more there is on it: nearly a tenth of what a read of one object
// takes. A stack that grows while next to nothing is on it costs next to nothing.
package stack

// Sizes that all requests but the deepest applies have room in.
const (
	filters = 6 << 10
	objects = 24 << 10
)

// GrowForFilters makes room for the filters in front of the one for timeouts.
//
//go:noinline
func GrowForFilters() {
	var room [filters]byte
	use(room[:])
}

// GrowForObjects makes room for reads and writes of objects.
//
//go:noinline
func GrowForObjects() {
	var room [objects]byte
	use(room[:])
}

// use keeps the compiler from leaving out what is not used.
//
//go:noinline
func use([]byte) {}
