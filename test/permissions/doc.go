// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package permissions reads what the roles in artifacts/ allow Groundskeeper's processes, permission by permission, and finds those that no
// process needs: a permission is needed when an audit log has a request that it allows and that no other permission would have allowed.
package permissions
