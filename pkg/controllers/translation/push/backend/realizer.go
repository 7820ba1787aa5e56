// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "context"

// Realizer is a Backend whose network applies writes asynchronously, and reports its progress. Its methods do not block, except for
// Realize.
type Realizer interface {
	// Written returns the current point in the sequence of writes. Points are ordered, and valid within one process.
	Written() int64
	// Realized reports whether the network has applied all writes before a point.
	Realized(point int64) bool
	// Connects reports whether a resource, such as a port, has to be connected to by something in the network.
	Connects(ref Ref) bool
	// Connected reports whether such a resource is connected.
	Connected(ref Ref) bool
	// Realize follows the progress until the context ends. It calls the function without keys after the network has applied more
	// writes, and with the keys of resources for which Connected changed. The function does not block.
	Realize(ctx context.Context, changed func([]Key)) error
}
