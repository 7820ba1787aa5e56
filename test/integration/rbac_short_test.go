// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

// neededByRareTests are the permissions that only rare tests need, as checkRightsAreNeeded reports them. A complete run
// does not look at this list, so that a permission which nothing needs any more is found there.
var neededByRareTests = []string{}
