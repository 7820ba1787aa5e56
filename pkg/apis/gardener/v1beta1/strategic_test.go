// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// Strategic merge patches merge the lists that Gardener's types merge, and replace the others.
func TestStrategicMergePatch(t *testing.T) {
	for name, test := range map[string]struct{ before, patch, want string }{
		"a toleration is added": {
			`{"spec":{"tolerations":{"whitelist":[{"key":"a"}]}}}`, `{"spec":{"tolerations":{"whitelist":[{"key":"b","value":"1"}]}}}`,
			`{"spec":{"tolerations":{"whitelist":[{"key":"b","value":"1"},{"key":"a"}]}}}`},
		"a toleration is changed": {
			`{"spec":{"tolerations":{"whitelist":[{"key":"a"},{"key":"b"}]}}}`, `{"spec":{"tolerations":{"whitelist":[{"key":"b","value":"1"}]}}}`,
			`{"spec":{"tolerations":{"whitelist":[{"key":"a"},{"key":"b","value":"1"}]}}}`},
		"a toleration is removed": {
			`{"spec":{"tolerations":{"whitelist":[{"key":"a"},{"key":"b"}]}}}`, `{"spec":{"tolerations":{"whitelist":[{"$patch":"delete","key":"b"}]}}}`,
			`{"spec":{"tolerations":{"whitelist":[{"key":"a"}]}}}`},
		"a default is added": {
			`{"spec":{"tolerations":{"defaults":[{"key":"a"}]}}}`, `{"spec":{"tolerations":{"defaults":[{"key":"b"}]}}}`,
			`{"spec":{"tolerations":{"defaults":[{"key":"b"},{"key":"a"}]}}}`},
		"a condition is changed": {
			`{"status":{"conditions":[{"type":"A","status":"True"},{"type":"B","status":"True"}]}}`, `{"status":{"conditions":[{"type":"A","status":"False"}]}}`,
			`{"status":{"conditions":[{"status":"False","type":"A"},{"status":"True","type":"B"}]}}`},
		"members are replaced": {
			`{"spec":{"members":[{"kind":"User","name":"a"}]}}`, `{"spec":{"members":[{"kind":"User","name":"b"}]}}`,
			`{"spec":{"members":[{"kind":"User","name":"b"}]}}`},
	} {
		got, err := strategicpatch.StrategicMergePatch([]byte(test.before), []byte(test.patch), Project{})
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, test.want)
		}
	}
}
