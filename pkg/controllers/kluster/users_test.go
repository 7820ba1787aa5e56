// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster_test

import (
	"slices"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

// The users of a Secret are the Klusters of its namespace that name it, or are given it by default.
func TestUsersOf(t *testing.T) {
	elsewhere := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Namespace = "garden-bank" })
	store := klustertest.NewStore(t, klustertest.Kluster("k"), klustertest.Kluster("other"), elsewhere,
		klustertest.Kluster("sibling", func(k *kubernikusv1.Kluster) { k.Spec.SecretRef.Name = "k-secret" }))
	isOther := func(k *kubernikusv1.Kluster) bool { return k.Name != "k" }
	for _, tc := range []struct {
		namespace, name string
		concerned       func(*kubernikusv1.Kluster) bool
		want            []string
	}{
		{klustertest.Namespace, "k-secret", nil, []string{"garden-shop/k", "garden-shop/sibling"}},
		{klustertest.Namespace, "k-secret", isOther, []string{"garden-shop/sibling"}},
		{klustertest.Namespace, "sibling-secret", nil, nil},
		{"garden-bank", "k-secret", nil, []string{"garden-bank/k"}},
		{"garden-bank", "other-secret", nil, nil},
	} {
		secret := kluster.SecretMetadata()
		secret.Namespace, secret.Name = tc.namespace, tc.name
		var got []string
		for _, request := range kluster.UsersOf(store, tc.concerned)(t.Context(), secret) {
			got = append(got, request.String())
		}
		if slices.Sort(got); !slices.Equal(got, tc.want) {
			t.Errorf("%s/%s is used by %v, want %v", tc.namespace, tc.name, got, tc.want)
		}
	}
}
