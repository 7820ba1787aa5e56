// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

func TestVersion(t *testing.T) {
	for _, text := range []string{"", "1.36.3", "1.37.0-rc.1", "1.36.3+build.5", "0.0.0"} {
		t.Run("good "+text, func(t *testing.T) {
			expect(t, newRules(t).create(kluster(with(func(s *kubernikusv1.KlusterSpec) { s.Version = text }))))
		})
	}
	for _, text := range []string{"v1.36.3", "1.36", "1", "1.36.3.4", "1.036.3", " 1.36.3", "1.36.3 ", "latest", "1.36.x"} {
		t.Run("bad "+text, func(t *testing.T) {
			expect(t, newRules(t).create(kluster(with(func(s *kubernikusv1.KlusterSpec) { s.Version = text }))),
				"spec.version: Invalid value: \""+text+"\": must be a semantic version such as 1.36.3")
		})
	}
}

func TestVersionChange(t *testing.T) {
	for _, test := range []struct{ name, before, after, want string }{
		{"set later", "", "1.30.0", ""},
		{"next patch", "1.30.1", "1.30.2", ""},
		{"many patches", "1.30.1", "1.30.14", ""},
		{"next minor, lower patch", "1.30.5", "1.31.0", ""},
		{"pre-release becomes release", "1.31.0-rc.1", "1.31.0", ""},
		{"minor skipped", "1.30.5", "1.32.0", `spec.version: Invalid value: "1.32.0": must not skip a minor version: upgrade from 1.30.5 to 1.31 first`},
		{"next major", "1.30.5", "2.0.0", `spec.version: Invalid value: "2.0.0": must have the major version of 1.30.5`},
		{"next major, close minor", "1.30.5", "2.31.0", `spec.version: Invalid value: "2.31.0": must have the major version`},
		{"patch back", "1.30.5", "1.30.4", `spec.version: Invalid value: "1.30.4": must not be before 1.30.5`},
		{"minor back", "1.30.5", "1.29.9", `spec.version: Invalid value: "1.29.9": must not be before`},
		{"major back", "1.30.5", "0.31.0", `spec.version: Invalid value: "0.31.0": must not be before`},
		{"release back to pre-release", "1.31.0", "1.31.0-rc.1", `spec.version: Invalid value: "1.31.0-rc.1": must not be before`},
		{"removed", "1.30.5", "", "spec.version: Required value: cannot be removed: keep 1.30.5"},
		{"becomes nonsense", "1.30.5", "latest", `spec.version: Invalid value: "latest": must be a semantic version`},
		{"imported nonsense is replaced", "v1.30", "1.31.0", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			old, changed := kluster(), kluster()
			old.Spec.Version, changed.Spec.Version = test.before, test.after
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			expect(t, newRules(t).update(changed, old), want...)
		})
	}
}
