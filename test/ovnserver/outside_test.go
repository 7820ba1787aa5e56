// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovnserver

import (
	"errors"
	"slices"
	"testing"
)

// TestOutside checks that what ends a test ends the function, with an error that names it, after all cleanups in reverse order.
func TestOutside(t *testing.T) {
	failed := errors.New("failed")
	for name, test := range map[string]struct {
		end  func(t testing.TB) error
		want string
		is   error
	}{
		"no error":      {func(testing.TB) error { return nil }, "", nil},
		"an error":      {func(testing.TB) error { return failed }, "failed", failed},
		"Fatal":         {func(t testing.TB) error { t.Fatal("no ", "socket"); return failed }, "no socket", nil},
		"Fatalf":        {func(t testing.TB) error { t.Fatalf("no %s", "server"); return nil }, "no server", nil},
		"not installed": {func(t testing.TB) error { t.Skip("no ovsdb-server"); return failed }, "OVN is not installed: no ovsdb-server", ErrNotInstalled},
	} {
		t.Run(name, func(t *testing.T) {
			var order []int
			err := Outside(t.Context(), func(t testing.TB) error {
				t.Cleanup(func() { order = append(order, 1) })
				t.Cleanup(func() { order = append(order, 2) })
				return test.end(t)
			})
			got := ""
			if err != nil {
				got = err.Error()
			}
			if got != test.want {
				t.Errorf("error = %q, want %q", got, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error = %v, want one that is %v", err, test.is)
			}
			if !slices.Equal(order, []int{2, 1}) {
				t.Errorf("order of the cleanups = %v, want 2, 1", order)
			}
		})
	}
}
