// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package kluster

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// names are what the server derives from the metadata.
type names struct{ Short, Secret, ClusterName, CSIClusterID string }

func namesOf(k *kubernikusv1.Kluster) names {
	n := names{Short: k.Spec.Name, Secret: k.Spec.SecretRef.Name}
	if name := k.Spec.CloudProvider.ClusterName; name != nil {
		n.ClusterName = *name
	}
	if id := k.Spec.CloudProvider.CSIClusterID; id != nil {
		n.CSIClusterID = *id
	}
	return n
}

func newKluster(metadata metav1.ObjectMeta, spec kubernikusv1.KlusterSpec) *kubernikusv1.Kluster {
	return &kubernikusv1.Kluster{ObjectMeta: metadata, Spec: spec}
}

func TestCreateDefaultsTheNames(t *testing.T) {
	account := map[string]string{"account": "acc"}
	for _, tc := range []struct {
		name     string
		metadata metav1.ObjectMeta
		spec     kubernikusv1.KlusterSpec
		want     names
		rejected string
	}{
		{"account from the namespace", metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}, kubernikusv1.KlusterSpec{}, names{"demo", "demo-acc-secret", "", ""}, ""},
		{"account from the label", metav1.ObjectMeta{Name: "demo-acc", Namespace: "ns", Labels: account}, kubernikusv1.KlusterSpec{}, names{"demo", "demo-acc-secret", "", ""}, ""},
		{"no account in the name", metav1.ObjectMeta{Name: "demo", Namespace: "ns"}, kubernikusv1.KlusterSpec{}, names{"demo", "demo-secret", "", ""}, ""},
		{"generated name", metav1.ObjectMeta{Name: "demo-x7f2k", GenerateName: "demo-", Namespace: "ns"}, kubernikusv1.KlusterSpec{},
			names{"demo-x7f2k", "demo-x7f2k-secret", "", ""}, ""},
		{"generated name that happens to end with the account", metav1.ObjectMeta{Name: "demo-x7f2k", GenerateName: "demo-", Namespace: "x7f2k"}, kubernikusv1.KlusterSpec{},
			names{"demo", "demo-x7f2k-secret", "", ""}, ""},
		{"generated name, given short name", metav1.ObjectMeta{Name: "a-long-name-for-a-demo-x7f2k", GenerateName: "a-long-name-for-a-demo-", Namespace: "ns"}, kubernikusv1.KlusterSpec{Name: "demo"},
			names{"demo", "a-long-name-for-a-demo-x7f2k-secret", "", ""}, ""},
		{"generated name of more than 20 characters", metav1.ObjectMeta{Name: "a-long-name-for-a-demo-x7f2k", GenerateName: "a-long-name-for-a-demo-", Namespace: "ns"}, kubernikusv1.KlusterSpec{},
			names{"a-long-name-for-a-demo-x7f2k", "a-long-name-for-a-demo-x7f2k-secret", "", ""}, ""},
		{"name that is too long", metav1.ObjectMeta{Name: strings.Repeat("a", 64), Namespace: "ns"}, kubernikusv1.KlusterSpec{},
			names{"", strings.Repeat("a", 64) + "-secret", "", ""}, "spec.name: Required value"},
		{"all given", metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}, kubernikusv1.KlusterSpec{
			Name: "own", SecretRef: kubernikusv1.SecretReference{Name: "creds"}, CloudProvider: kubernikusv1.CloudProvider{ClusterName: new("occm"), CSIClusterID: new("csi")},
		}, names{"own", "creds", "occm", "csi"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.spec.Version = "1.36.3"
			k := newKluster(tc.metadata, tc.spec)
			kubernikusv1.NormalizeKluster(k)
			for range 2 {
				Kind().PrepareForCreate(k)
				if diff := cmp.Diff(tc.want, namesOf(k)); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
			err := Kind().Validate(k).ToAggregate()
			if tc.rejected == "" && err != nil || tc.rejected != "" && (err == nil || !strings.Contains(err.Error(), tc.rejected)) {
				t.Errorf("got %v, want %q", err, tc.rejected)
			}
		})
	}
}

func TestUpdateKeepsTheNames(t *testing.T) {
	old := newKluster(metav1.ObjectMeta{Name: "demo-acc", Namespace: "ns", Labels: map[string]string{"account": "acc"}}, kubernikusv1.KlusterSpec{})
	Kind().PrepareForCreate(old)
	t.Run("replaced without the names and without the label", func(t *testing.T) {
		k := newKluster(metav1.ObjectMeta{Name: "demo-acc", Namespace: "ns"}, kubernikusv1.KlusterSpec{})
		Kind().PrepareForUpdate(k, old)
		if diff := cmp.Diff(names{"demo", "demo-acc-secret", "", ""}, namesOf(k)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("another Secret", func(t *testing.T) {
		k := old.DeepCopy()
		k.Spec.SecretRef.Name = "creds"
		Kind().PrepareForUpdate(k, old)
		if diff := cmp.Diff(names{"demo", "creds", "", ""}, namesOf(k)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
	t.Run("an import without names", func(t *testing.T) {
		k := old.DeepCopy()
		k.Spec = kubernikusv1.KlusterSpec{}
		Kind().PrepareForUpdate(k, k.DeepCopy())
		if diff := cmp.Diff(names{"demo", "demo-acc-secret", "", ""}, namesOf(k)); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestValidateUpdates(t *testing.T) {
	old := newKluster(metav1.ObjectMeta{Name: "demo", Namespace: "ns"}, kubernikusv1.KlusterSpec{Version: "1.36.3"})
	kubernikusv1.NormalizeKluster(old)
	Kind().PrepareForCreate(old)
	older, unobserved := old.DeepCopy(), old.DeepCopy()
	older.Spec.Version, unobserved.Status.ObservedGeneration = "1.35.0", -1
	for name, tc := range map[string]struct{ accepted, rejected int }{
		"update":           {len(Kind().ValidateUpdate(old, old)), len(Kind().ValidateUpdate(older, old))},
		"update of status": {len(Kind().ValidateStatusUpdate(old, old)), len(Kind().ValidateStatusUpdate(unobserved, old))},
	} {
		if tc.accepted != 0 || tc.rejected == 0 {
			t.Errorf("%s: %d mistakes in a good Kluster, %d in a bad one", name, tc.accepted, tc.rejected)
		}
	}
}

// TestDeorbitCells checks that the columns are empty before Deorbit starts, and show zero as a number afterwards.
func TestDeorbitCells(t *testing.T) {
	some := []kubernikusv1.DeorbitObject{{Kind: "Volume"}, {Kind: "Service"}}
	for name, tc := range map[string]struct {
		status                    *kubernikusv1.DeorbitStatus
		stage, leftover, retained any
	}{
		"it lives":              {nil, "", nil, nil},
		"its volumes are known": {&kubernikusv1.DeorbitStatus{SeenVolumes: []kubernikusv1.SeenVolume{{ID: "1"}}}, "", nil, nil},
		"it begins":             {&kubernikusv1.DeorbitStatus{StartedAt: new(metav1.Now())}, "", int64(0), int64(0)},
		"it continues":          {&kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitClaims, Remaining: some}, "Claims", int64(2), int64(0)},
		"something stays":       {&kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitVerify, Retained: some[:1]}, "Verify", int64(0), int64(1)},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKluster(metav1.ObjectMeta{Name: "demo", Namespace: "ns"}, kubernikusv1.KlusterSpec{})
			k.Status.Deorbit = tc.status
			got := map[string]any{}
			for _, column := range Kind().Columns {
				got[column.Name] = column.Cell(k)
			}
			for column, want := range map[string]any{"Stage": tc.stage, "Leftovers": tc.leftover, "Retained": tc.retained} {
				if got[column] != want {
					t.Errorf("%s is %v, want %v", column, got[column], want)
				}
			}
		})
	}
}
