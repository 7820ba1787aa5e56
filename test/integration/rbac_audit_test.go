// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import "groundskeeper.io/groundskeeper/test/audit"

// Groundskeeper's are the identities of Groundskeeper's two processes, with the permissions that artifacts/ gives them and no
// other.
func own() []string { return []string{audit.APIServer, audit.Manager} }

// checkPermissions reads the audit log of a whole run: whatever Groundskeeper's processes requested, they had permission to.
func checkPermissions(log string) error { return audit.CheckPermissions(log, own()...) }
