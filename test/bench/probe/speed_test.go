// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package probe

import (
	"encoding/json"
	"testing"
)

func TestSpeed(t *testing.T) {
	took, err := Speed()
	if err != nil || took <= 0 {
		t.Errorf("%v, %v", took, err)
	}
}

// Figures of different versions can be compared only while the work is the same.
func TestDocument(t *testing.T) {
	text := document()
	if size := len(text); size != 246_001 {
		t.Errorf("%d bytes", size)
	}
	var objects []map[string]any
	if err := json.Unmarshal(text, &objects); err != nil || len(objects) != 2000 {
		t.Errorf("%d objects: %v", len(objects), err)
	}
}
