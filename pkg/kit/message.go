// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kit

import "strings"

// MaxEventMessage is how many bytes the API server accepts as the message of an event.
const MaxEventMessage = 1024

const ellipsis = "…"

// Bounded returns a message on one line, in valid UTF-8 and with at most limit bytes: as the API server accepts it in a condition or
// an event, whatever another server has written into it.
func Bounded(message string, limit int) string {
	message = strings.ReplaceAll(strings.ToValidUTF8(message, "?"), "\n", "; ")
	if len(message) <= limit {
		return message
	}
	// Nothing but the last character, of which a part may be left, is invalid.
	return strings.ToValidUTF8(message[:limit-len(ellipsis)], "") + ellipsis
}
