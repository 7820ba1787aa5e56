// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plane runs a Kubernetes control plane of real binaries on loopback, without containers: etcd, kube-apiserver and
// kube-controller-manager, and, when requested, Groundskeeper's API servers and controller managers, registered and authorized by
// the manifests in artifacts/ as in production, with a fake of MidoNet or with OVN as their backend.
//
// "make up" and every test that needs the real thing use it. All that a plane makes lies in one directory: a plane started on the
// directory of an earlier one takes over what still runs, starts again what died, with its data, and restarts what would now run
// with other arguments, files or binaries. A fresh directory is the case in which nothing runs yet.
//
// A test's plane dies with the test's process; the plane of "make up" outlives it (Options.Detached).
package plane
