// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import "testing"

func TestSecretName(t *testing.T) {
	for _, tc := range []struct {
		name    string
		cluster Cluster
		want    string
	}{
		{"secret", Cluster{Secret: "a"}, "a"},
		{"credentials", Cluster{Credentials: "b"}, "b"},
		{"neither", Cluster{}, ""},
	} {
		if got := tc.cluster.SecretName(); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, got, tc.want)
		}
	}
}
