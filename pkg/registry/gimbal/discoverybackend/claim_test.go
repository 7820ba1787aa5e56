// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package discoverybackend

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func backend(name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "gimbal-discovery"}}
}

func TestClaimedName(t *testing.T) {
	elsewhere := backend("us-east")
	elsewhere.Namespace = "other"
	for name, tc := range map[string]struct {
		object runtime.Object
		want   string
	}{
		"its name":                       {backend("us-east"), "us-east"},
		"the same in another namespace":  {elsewhere, "us-east"},
		"nothing before it has a name":   {&gimbalv1.DiscoveryBackend{}, ""},
		"nothing, being of another kind": {&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "us-east"}}, ""},
		"nothing, being a list":          {&gimbalv1.DiscoveryBackendList{}, ""},
	} {
		if got := ClaimRule().Name(tc.object); got != tc.want {
			t.Errorf("%s: claims %q, want %q", name, got, tc.want)
		}
	}
}

// Services are called <backend>-<service>.
func TestClaimSeparator(t *testing.T) {
	if got := ClaimRule().Separator; got != "-" {
		t.Errorf("separator %q: stored claims end with a dash", got)
	}
}

func TestReservationRejected(t *testing.T) {
	const start = `discoverybackends.gimbal.heptio.com "us-east" is forbidden: metadata.name: `
	for held, want := range map[string]string{
		"us-east":   start + `a DiscoveryBackend "us-east" exists in another namespace: choose a name that no other one has`,
		"us":        start + `DiscoveryBackend "us" exists, and services of the two could have the same name: choose a name that neither starts with "us-" nor is a prefix of it`,
		"us-east-1": start + `DiscoveryBackend "us-east-1" exists, and services of the two could have the same name: choose a name that neither starts with "us-east-1-" nor is a prefix of it`,
	} {
		if err := ClaimRule().Rejection(backend("us-east"), held); !apierrors.IsForbidden(err) || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
	if err := ClaimRule().Rejection(&corev1.Pod{}, "us"); !apierrors.IsInternalError(err) {
		t.Errorf("another kind: got %v, want an internal error", err)
	}
}
