// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// rules runs the rules of this package together with the generated ones, as the server does.
type rules struct{ scheme *runtime.Scheme }

func newRules(t *testing.T) rules {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := kubernikusv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return rules{scheme}
}

func (r rules) create(kluster *kubernikusv1.Kluster) field.ErrorList {
	return append(ValidateKluster(kluster), r.scheme.Validate(context.Background(), nil, kluster)...)
}

func (r rules) update(kluster, old *kubernikusv1.Kluster) field.ErrorList {
	return append(ValidateKlusterUpdate(kluster, old), r.scheme.ValidateUpdate(context.Background(), nil, kluster, old)...)
}

func (r rules) updateStatus(kluster, old *kubernikusv1.Kluster) field.ErrorList {
	return append(ValidateKlusterStatusUpdate(kluster, old), r.scheme.ValidateUpdate(context.Background(), nil, kluster, old, "status")...)
}

// expect compares errors with the beginnings they should have, in any order: each exactly once.
func expect(t *testing.T, errs field.ErrorList, want ...string) {
	t.Helper()
	for _, beginning := range want {
		found := 0
		for _, err := range errs {
			if strings.HasPrefix(err.Error(), beginning) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("%d errors begin with %q, want one", found, beginning)
		}
	}
	if len(errs) != len(want) {
		t.Errorf("%d errors, want %d", len(errs), len(want))
	}
	if t.Failed() {
		t.Logf("errors: %v", errs)
	}
}

// kluster returns a valid Kluster with all defaults, changed by the given functions before and after them.
func kluster(changes ...func(*kubernikusv1.Kluster)) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Name: "demo-acc", Namespace: "acc"}}
	for _, change := range changes {
		change(k)
	}
	kubernikusv1.DefaultNames(k)
	kubernikusv1.NormalizeKluster(k)
	return k
}

// with makes a change of the spec.
func with(change func(*kubernikusv1.KlusterSpec)) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { change(&k.Spec) }
}

// specCase is a row of a table: what a spec has, beyond the defaults, and which errors begin how.
type specCase struct {
	name   string
	change func(*kubernikusv1.KlusterSpec)
	want   []string
}

// testCreate checks each row as a new Kluster.
func testCreate(t *testing.T, cases []specCase) {
	t.Helper()
	rules := newRules(t)
	for _, test := range cases {
		t.Run(test.name, func(t *testing.T) {
			expect(t, rules.create(kluster(with(test.change))), test.want...)
		})
	}
}

func TestMinimalKluster(t *testing.T) {
	expect(t, newRules(t).create(kluster()))
}

func TestKubernikusManifestAppliesUnchanged(t *testing.T) {
	manifest, err := os.ReadFile("testdata/kubernikus.yaml")
	if err != nil {
		t.Fatal(err)
	}
	k := &kubernikusv1.Kluster{}
	if err := yaml.UnmarshalStrict(manifest, k); err != nil {
		t.Fatalf("a field of Kubernikus is unknown: %v", err)
	}
	given := k.DeepCopy()
	kubernikusv1.DefaultNames(k)
	kubernikusv1.NormalizeKluster(k)
	rules := newRules(t)
	expect(t, rules.create(k))
	expect(t, rules.updateStatus(k, kluster()))
	if k.Spec.Name != given.Spec.Name || k.ClusterName() != "" || k.CSIClusterID() != "" || k.SecretName() != k.Name+"-secret" {
		t.Errorf("names are %q, %q, %q, %q", k.Spec.Name, k.ClusterName(), k.CSIClusterID(), k.SecretName())
	}
	if k.Status.NodePools[0].NodeCount != 3 || k.Spec.NodePools[0].NodeCount != 3 {
		t.Errorf("sizes of pools are lost: %+v, %+v", k.Spec.NodePools[0], k.Status.NodePools[0])
	}
}

func TestNames(t *testing.T) {
	rules := newRules(t)
	for _, test := range []struct {
		name, metadata, spec string
		want                 []string
	}{
		{"derived", "demo-acc", "", nil},
		{"derived, too long", strings.Repeat("a", 64), "", []string{"spec.name: Required value: metadata.name without -<account>"}},
		{"too long, but a short one is given", strings.Repeat("a", 64), "demo", nil},
		{"derived, starts with a digit", "1a-acc", "", []string{`spec.name: Invalid value: "1a"`}},
		{"derived, with a dot", "a.b", "", []string{`spec.name: Invalid value: "a.b"`}},
		{"63 characters", "demo", strings.Repeat("a", 63), nil},
		{"64 characters", "demo", strings.Repeat("a", 64), []string{"spec.name: Too long"}},
		{"one character", "demo", "a", nil},
		{"upper case", "demo", "Demo", []string{`spec.name: Invalid value: "Demo"`}},
		{"ends with a dash", "demo", "demo-", []string{`spec.name: Invalid value: "demo-"`}},
		{"metadata.name is no DNS name", "Demo", "demo", []string{
			`metadata.name: Invalid value: "Demo"`, `spec.secretRef.name: Invalid value: "Demo-secret"`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			expect(t, rules.create(kluster(func(k *kubernikusv1.Kluster) { k.Name, k.Spec.Name = test.metadata, test.spec })), test.want...)
		})
	}
}
