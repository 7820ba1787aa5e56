// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stack

import "testing"

// deep has as much on the stack as a request that writes an object.
//
//go:noinline
func deep(frames int) {
	var frame [512]byte
	use(frame[:])
	if frames > 0 {
		deep(frames - 1)
	}
}

// BenchmarkGrow compares a new goroutine that goes deep with one whose stack grew first.
func BenchmarkGrow(b *testing.B) {
	for name, grow := range map[string]func(){"grown": GrowForObjects, "as it is": func() {}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				done := make(chan struct{})
				go func() {
					defer close(done)
					grow()
					deep(36)
				}()
				<-done
			}
		})
	}
}
