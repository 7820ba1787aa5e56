// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import "time"

// remind is how often a problem that lasts is reported again: logs of the day that it began on may have been deleted.
const remind = 24 * time.Hour

// problem is what was logged last.
type problem struct {
	text     string
	reported time.Time
}

// isNews reports whether to log an error: another one, or one that lasts since it was logged a day ago.
func (p *problem) isNews(err error, now time.Time) bool {
	if p.text == err.Error() && now.Sub(p.reported) < remind {
		return false
	}
	*p = problem{err.Error(), now}
	return true
}
