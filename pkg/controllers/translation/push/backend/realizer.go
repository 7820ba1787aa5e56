// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package backend

import "context"

// Realizer is a Backend whose network applies later what is written, and reports when it has. Its methods do not block, except for
// Realize.
type Realizer interface {
	// Written is the point before which everything was written that is written until now. Points are ordered, and of one process.
	Written() int64
	// Realized reports whether the network has applied everything before a point.
	Realized(point int64) bool
	// Connects reports whether a resource is one that something in the network has to be connected to, such as a port.
	Connects(ref Ref) bool
	// Connected reports whether something is.
	Connected(ref Ref) bool
	// Realize has the network report until the context ends. It calls the function when it has applied more, with nothing, and with the
	// resources for which Connected changed. The function does not block.
	Realize(ctx context.Context, changed func([]Key)) error
}
