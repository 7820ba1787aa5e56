// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package certmanager tests artifacts/install/cert-manager with cert-manager itself: its controllers issue and renew the
// certificates of Groundskeeper's servers, its injector publishes their CA to the API servers of the cluster, and Groundskeeper's
// servers read the files that a kubelet would make of the Secrets.
//
// "make test-cert-manager" builds cert-manager and runs the tests.
package certmanager
