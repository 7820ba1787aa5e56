// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ovn tests Translations on a real OVN: objects are converted and pushed to ovsdb-server, ovn-northd makes logical flows of
// them, and ovn-trace reports what becomes of packets.
package ovn
