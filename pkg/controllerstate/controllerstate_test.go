// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package controllerstate_test

import (
	"reflect"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllerstate"
)

func TestOf(t *testing.T) {
	states := map[string]controllerstate.State{"a": {State: controllerstate.Running}, "b": {State: controllerstate.Waiting, Reason: "for c", Findings: []string{"d"}}}
	got, err := controllerstate.Of(map[string]string{controllerstate.Annotation: controllerstate.Encode(states)})
	if err != nil || !reflect.DeepEqual(got, states) {
		t.Errorf("states = %v, %v, want %v", got, err, states)
	}
	if got, err := controllerstate.Of(nil); got != nil || err != nil {
		t.Errorf("states = %v, %v, want none without the annotation", got, err)
	}
	if _, err := controllerstate.Of(map[string]string{controllerstate.Annotation: "true"}); err == nil {
		t.Error("a value that is no object is accepted")
	}
}
