// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package demo interrupts the demonstration, and checks what is left of it. "make test-demo" runs it.
package demo
