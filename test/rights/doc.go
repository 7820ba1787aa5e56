// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package rights knows what the roles in artifacts/ allow Groundskeeper's processes, permission by permission, and finds those that no
// process needs: a right is needed when an audit log has a request that it allows, and that no other right would have allowed.
package rights
