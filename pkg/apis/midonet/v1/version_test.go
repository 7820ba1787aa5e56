// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"
	"testing"
)

func TestVersionOf(t *testing.T) {
	for name, want := range map[string]string{
		"pod.4.web-0": "4", "pod.3.web-0": "3", "node.12.a.b.c": "12", "node-address.4.a-externalip": "4",
		"": "", "pod": "", "pod.4": "", "pod.4.": "", "pod..web-0": "", ".4.web-0": "", "my.own.name": "", "pod.4a.x": "", "pod.-4.x": "",
	} {
		t.Run(name, func(t *testing.T) {
			if version, ok := VersionOf(name); version != want || ok != (want != "") {
				t.Errorf("VersionOf(%q) = %q, %t", name, version, ok)
			}
		})
	}
}

// FuzzVersionOf holds what is read against how it is written.
func FuzzVersionOf(f *testing.F) {
	for _, seed := range []string{"pod.4.web-0", "...", "", "a.1.", "a.1.b\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		version, ok := VersionOf(name)
		if !ok {
			if version != "" {
				t.Errorf("%q has no version, but %q", name, version)
			}
			return
		}
		kind, key, found := strings.Cut(name, "."+version+".")
		if !found || kind == "" || key == "" || strings.Contains(kind, ".") || strings.Trim(version, "0123456789") != "" {
			t.Errorf("%q: version %q, kind %q, key %q", name, version, kind, key)
		}
	})
}
