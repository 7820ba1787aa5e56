// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"bytes"
	"encoding/json"
	"slices"
	"time"
)

// times is how often the piece of work of Speed is done.
const times = 9

// Speed is how long a piece of work takes that is always the same, and of the kind that API servers do: text becomes objects,
// and objects text. It is the median of some, less than a tenth of a second in all. A machine that others use as well, or that gets
// slower for another reason, shows it here, where its load average does not.
func Speed() (time.Duration, error) {
	text := document()
	took := make([]time.Duration, times)
	for i := range took {
		start := time.Now()
		var objects any
		if err := json.Unmarshal(text, &objects); err != nil {
			return 0, err
		}
		if _, err := json.Marshal(objects); err != nil {
			return 0, err
		}
		took[i] = time.Since(start)
	}
	slices.Sort(took)
	return took[times/2], nil
}

// document returns a list of small objects in JSON, about 250 KB.
func document() []byte {
	object := `{"kind":"Port","parent":"00000002-0000-5000-8000-000000000001","body":{"adminStateUp":true,"type":"Bridge","index":12345}}`
	list := slices.Repeat([][]byte{[]byte(object)}, 2000)
	return slices.Concat([]byte("["), bytes.Join(list, []byte(",")), []byte("]"))
}
