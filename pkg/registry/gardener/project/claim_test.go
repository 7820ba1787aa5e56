// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package project

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestClaimedName(t *testing.T) {
	for _, tc := range []struct {
		name   string
		object runtime.Object
		want   string
	}{
		{"a namespace", newProject(gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev")}), "garden-dev"},
		{"none", &gardenerv1beta1.Project{}, ""},
		{"an empty one", newProject(gardenerv1beta1.ProjectSpec{Namespace: new("")}), ""},
		{"of another kind", &corev1.Pod{}, ""},
	} {
		if got := ClaimRule().Name(tc.object); got != tc.want {
			t.Errorf("%s: claims %q, want %q", tc.name, got, tc.want)
		}
	}
}

// A namespace has no slash: no namespace is above or below another one.
func TestClaimSeparator(t *testing.T) {
	if got := ClaimRule().Separator; got != "/" {
		t.Errorf("separator %q: stored claims end with a slash", got)
	}
}

func TestReservationRejected(t *testing.T) {
	err := ClaimRule().Rejection(newProject(gardenerv1beta1.ProjectSpec{Namespace: new("garden-dev")}), "garden-dev")
	want := `projects.core.gardener.cloud "dev" is forbidden: spec.namespace: namespace "garden-dev" is already in-use by another project: choose another one`
	if !apierrors.IsForbidden(err) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := ClaimRule().Rejection(&corev1.Pod{}, "garden-dev"); !apierrors.IsInternalError(err) {
		t.Errorf("another kind: got %v, want an internal error", err)
	}
}
