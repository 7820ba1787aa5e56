// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

func TestCopyName(t *testing.T) {
	b31, s31, s32 := strings.Repeat("b", 31), strings.Repeat("s", 31), strings.Repeat("s", 32)
	for _, tc := range []struct{ backend, service, want string }{
		{"cluster1", "web", "cluster1-web"},
		{"cluster1", "the-really-long-kube-service-name-that-is-exactly-63-characters", "cluster1-the-really-long-kube-serv1feeec"},
		{b31, s31, b31 + "-" + s31},
		{b31[:30], s31, b31[:30] + "-" + s31},
		{b31, s32, b31 + "-" + shorten(s32)},
		{strings.Repeat("b", 40), s31, shorten(strings.Repeat("b", 40)) + "-" + s31},
		{strings.Repeat("b", 40), s31[:22], shorten(strings.Repeat("b", 40)) + "-" + s31[:22]},
		{strings.Repeat("b", 40), s31[:21], strings.Repeat("b", 40) + "-" + s31[:21]},
		// The service is deleted first; the backend stays when that is enough.
		{strings.Repeat("b", 30), strings.Repeat("s", 63), strings.Repeat("b", 30) + "-" + shorten(strings.Repeat("s", 63))},
	} {
		if got := CopyName(tc.backend, tc.service); got != tc.want {
			t.Errorf("%s, %s: got %s, want %s", tc.backend, tc.service, got, tc.want)
		}
	}
}

// label draws a DNS label that starts with a letter.
func label(maxLength int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return rapid.StringMatching(`[a-z]([-a-z0-9]{0,61}[a-z0-9])?`).Filter(func(s string) bool { return len(s) <= maxLength }).Draw(t, "label")
	})
}

func TestCopyNameProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		backend, service := label(40).Draw(t, "backend"), label(63).Draw(t, "service")
		name := CopyName(backend, service)
		if problems := validation.IsDNS1035Label(name); len(problems) > 0 {
			t.Fatalf("%s: %v", name, problems)
		}
		if name != CopyName(backend, service) {
			t.Fatal("it is not always the same")
		}
		if whole := backend + "-" + service; len(whole) < 63 && name != whole {
			t.Fatalf("%s was shortened to %s", whole, name)
		}
		slice := SliceName(name, service)
		if problems := validation.IsDNS1123Subdomain(slice); len(problems) > 0 || slice == SliceName(name, service+"x") {
			t.Fatalf("%s: %v", slice, problems)
		}
	})
}

func FuzzCopyName(f *testing.F) {
	f.Add("cluster1", "web")
	f.Add(strings.Repeat("a", 40), strings.Repeat("b", 63))
	f.Add("", "")
	f.Fuzz(func(t *testing.T, backend, service string) {
		name := CopyName(backend, service)
		if len(name) > maxNameLength {
			t.Errorf("%q has %d characters", name, len(name))
		}
		if len(validation.IsDNS1035Label(backend)) == 0 && len(validation.IsDNS1035Label(service)) == 0 && len(validation.IsDNS1035Label(name)) > 0 {
			t.Errorf("%q is not a DNS label", name)
		}
	})
}
