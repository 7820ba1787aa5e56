// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package openstack talks to OpenStack with the credentials that Secrets hold: one authenticated client a Secret, shared by all
// callers (Clients), one rate limit a cloud, bounded retries, and errors that say what to do (Error). The calls are few and
// narrow: what Route GC, Deorbit and the discoverer need of Neutron, Nova, Cinder and Octavia. No error, no log line and no printed
// value holds a password or a token.
package openstack
