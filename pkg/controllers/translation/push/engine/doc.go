// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package engine makes a backend hold what Claims want. It knows which resources need which across all Claims, pushes each as soon
// as what it needs is there, independent ones in parallel and those under one parent one after the other, removes what no Claim
// wants any more in the reverse order, and finds and repairs what another client changed.
//
// It drives a backend.Backend and knows none of its kinds. It knows no API server either: who calls it reports which Claims there
// are, stores what it reports, and calls again when it requests to.
package engine
