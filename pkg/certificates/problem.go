// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import "time"

// remind is how often a problem that lasts is told again: logs of the day that it began on may be gone.
const remind = 24 * time.Hour

// problem is what the log was told last.
type problem struct {
	text string
	told time.Time
}

// isNews says whether to tell an error: another one, or one that lasts since it was told a day ago.
func (p *problem) isNews(err error, now time.Time) bool {
	if p.text == err.Error() && now.Sub(p.told) < remind {
		return false
	}
	*p = problem{err.Error(), now}
	return true
}
