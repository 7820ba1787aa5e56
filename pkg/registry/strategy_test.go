// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

func TestCreate(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		o := kind.good()
		kind.observe(o)
		o.SetGeneration(7)
		o.SetFinalizers([]string{"example.org/other"})
		if err := kind.create(t, o); err != nil {
			t.Fatal(err)
		}
		fresh := kind.good() // nothing of what the client observed, but that it is not ready
		fresh.SetGeneration(1)
		kind.summarize(fresh)
		if diff := cmp.Diff(kind.statusOf(fresh), kind.statusOf(o)); diff != "" {
			t.Errorf("the status of a new object (-want +got):\n%s", diff)
		}
		if o.GetGeneration() != 1 {
			t.Errorf("generation = %d, want 1", o.GetGeneration())
		}
		if diff := cmp.Diff([]string{"example.org/other", kind.finalizer}, o.GetFinalizers()); diff != "" {
			t.Errorf("finalizers (-want +got):\n%s", diff)
		}
		once := copied(o)
		if err := kind.create(t, o); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(once, o); diff != "" {
			t.Errorf("prepared twice, as a retried apply does (-once +twice):\n%s", diff)
		}
	})
}

func TestUpdate(t *testing.T) {
	other := []string{"example.org/other"}
	for _, tc := range []struct {
		name       string
		change     func(served, registry.Object)
		generation int64
	}{
		{"nothing", func(served, registry.Object) {}, 1},
		{"what is wanted", func(s served, o registry.Object) { s.change(o) }, 2},
		{"metadata", func(_ served, o registry.Object) {
			o.SetLabels(map[string]string{"a": "b"})
			o.SetAnnotations(map[string]string{"a": "b"})
		}, 1},
		{"generation", func(_ served, o registry.Object) { o.SetGeneration(7) }, 1},
		{"status", func(s served, o registry.Object) { s.observe(o) }, 1},
		{"finalizer", func(_ served, o registry.Object) { o.SetFinalizers(nil) }, 1},
		{"the whole object, replaced as sent first", func(s served, o registry.Object) {
			again := s.good()
			again.SetResourceVersion(o.GetResourceVersion())
			reflect.ValueOf(o).Elem().Set(reflect.ValueOf(again).Elem())
		}, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			forEach(t, func(t *testing.T, kind served) {
				old := kind.stored(t)
				before, o := copied(old), copied(old)
				tc.change(kind, o)
				if err := kind.update(t, o, old); err != nil {
					t.Fatal(err)
				}
				if o.GetGeneration() != tc.generation {
					t.Errorf("generation = %d, want %d", o.GetGeneration(), tc.generation)
				}
				want := copied(old) // with the summary of its generation
				want.SetGeneration(tc.generation)
				kind.summarize(want)
				if diff := cmp.Diff(kind.statusOf(want), kind.statusOf(o), cmpopts.IgnoreFields(gardenerv1beta1.Condition{}, "LastUpdateTime")); diff != "" {
					t.Errorf("the status changed (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff([]string{kind.finalizer}, o.GetFinalizers()); diff != "" {
					t.Errorf("finalizers (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(before, old); diff != "" {
					t.Errorf("the update changed the old object, which the watch cache may share (-want +got):\n%s", diff)
				}
				next := copied(o)
				if err := kind.update(t, next, o); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(o, next); diff != "" {
					t.Errorf("updated once more (-once +twice):\n%s", diff)
				}
			})
		})
	}
	t.Run("other finalizers", func(t *testing.T) {
		forEach(t, func(t *testing.T, kind served) {
			old := kind.stored(t)
			o := copied(old)
			o.SetFinalizers(other)
			if err := kind.update(t, o, old); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append(other, kind.finalizer), o.GetFinalizers()); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
		})
	})
}

// TestNormalizesWhatAdmissionWrote checks that changes by webhooks and policies, which no decoder has processed, are normalized.
func TestNormalizesWhatAdmissionWrote(t *testing.T) {
	normal := func(t *testing.T, o registry.Object) {
		t.Helper()
		want := copied(o)
		newScheme(t).Default(want)
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("-normal form +got:\n%s", diff)
		}
	}
	forEach(t, func(t *testing.T, kind served) {
		o := kind.good()
		if err := rest.BeforeCreate(kind.store.CreateStrategy, kind.request(t, o, ""), o); err != nil {
			t.Fatal(err)
		}
		normal(t, o)
		old := kind.stored(t)
		o = kind.good()
		o.SetResourceVersion("1")
		kind.change(o)
		if err := rest.BeforeUpdate(kind.store.UpdateStrategy, kind.request(t, o, ""), o, old); err != nil {
			t.Fatal(err)
		}
		normal(t, o)
	})
}

func TestUpdateWhileDeleting(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		old.SetDeletionTimestamp(new(metav1.Now()))
		o := copied(old)
		o.SetFinalizers(nil)
		if err := kind.update(t, o, old); err != nil {
			t.Fatal(err)
		}
		if len(o.GetFinalizers()) != 0 {
			t.Errorf("finalizers = %v: the object could never go", o.GetFinalizers())
		}
	})
}

func TestUpdateStatus(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		old.SetLabels(map[string]string{"kept": "true"})
		managed := []metav1.ManagedFieldsEntry{{Manager: "m", Operation: "Apply", Subresource: "status", FieldsType: "FieldsV1",
			APIVersion: kind.version.String(), FieldsV1: metav1.NewFieldsV1("{}")}}
		before, o := copied(old), copied(old)
		kind.change(o)
		kind.observe(o)
		o.SetLabels(map[string]string{"lost": "true"})
		o.SetAnnotations(map[string]string{"a": "b"})
		o.SetFinalizers([]string{"example.org/other"})
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "y"}})
		o.SetGeneration(7)
		o.SetManagedFields(managed)

		want := copied(old)
		kind.observe(want)
		kind.summarize(want)
		want.SetManagedFields(managed)
		if err := kind.updateStatus(t, o, old); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, o); diff != "" {
			t.Errorf("after an update of the status (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, old); diff != "" {
			t.Errorf("the update changed the old object (-want +got):\n%s", diff)
		}
	})
}

// TestUpdateStatusKeepsTheResourceVersionOfTheClient checks that a status update with an outdated resource version is a conflict.
func TestUpdateStatusKeepsTheResourceVersionOfTheClient(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		o := copied(old)
		o.SetResourceVersion("5")
		if err := kind.updateStatus(t, o, old); err != nil {
			t.Fatal(err)
		}
		if o.GetResourceVersion() != "5" {
			t.Errorf("resource version = %s, want 5", o.GetResourceVersion())
		}
	})
}

// Each kind has its own rules and rules on its types; both must be checked for the object and for its status.
func TestRejections(t *testing.T) {
	rejected := func(t *testing.T, what string, err error) {
		t.Helper()
		if !apierrors.IsInvalid(err) {
			t.Errorf("%s: got %v, want that it is invalid", what, err)
		}
	}
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		for what, spoil := range map[string]func(registry.Object){"own rule": kind.spoil, "rule at the type": kind.undeclare} {
			if spoil == nil {
				continue
			}
			created, updated, observed := kind.good(), copied(old), copied(old)
			for _, o := range []registry.Object{created, updated, observed} {
				spoil(o)
			}
			rejected(t, what+", creation", kind.create(t, created))
			rejected(t, what+", update", kind.update(t, updated, old))
			if err := kind.updateStatus(t, observed, old); err != nil {
				t.Errorf("%s, in an update of the status: %v", what, err)
			}
		}
		kind.observe(old)
		o := copied(old)
		kind.misjudge(o)
		rejected(t, "own rule for the status", kind.updateStatus(t, o, old))
		o = copied(old)
		kind.unobserve(o)
		rejected(t, "rule at the type of the status", kind.updateStatus(t, o, old))
		o = copied(old)
		kind.unobserve(o)
		if err := kind.update(t, o, old); err != nil {
			t.Errorf("a bad status in an update of the object, which drops it: %v", err)
		}
	})
}

func TestResetFields(t *testing.T) {
	paths := func(fields map[fieldpath.APIVersion]*fieldpath.Set, kind served) []string {
		var names []string
		fields[fieldpath.APIVersion(kind.version.String())].Iterate(func(p fieldpath.Path) { names = append(names, strings.TrimPrefix(p.String(), ".")) })
		return slices.Sorted(slices.Values(names))
	}
	forEach(t, func(t *testing.T, kind served) {
		if diff := cmp.Diff([]string{"status"}, paths(kind.store.GetResetFields(), kind)); diff != "" {
			t.Errorf("what an applier of the object does not own (-want +got):\n%s", diff)
		}
		// Every field of the type but the status, so that a new one cannot be discarded.
		want := []string{"metadata"}
		for field := range reflect.TypeOf(kind.good()).Elem().Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name != "" && name != "metadata" && name != "status" {
				want = append(want, name)
			}
		}
		slices.Sort(want)
		status := kind.endpoints[kind.resource+"/status"].(*registry.StatusREST)
		if diff := cmp.Diff(want, paths(status.GetResetFields(), kind)); diff != "" {
			t.Errorf("what an applier of the status does not own (-want +got):\n%s", diff)
		}
		for version := range maps.Keys(kind.store.GetResetFields()) {
			if string(version) != kind.version.String() {
				t.Errorf("fields of version %s, which is not served", version)
			}
		}
	})
}

func TestStrategy(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		create, update, ctx, o := kind.store.CreateStrategy, kind.store.UpdateStrategy, t.Context(), kind.good()
		if create.NamespaceScoped() != (o.GetNamespace() != "") || create.NamespaceScoped() != kind.namespaced {
			t.Errorf("namespaced = %v", create.NamespaceScoped())
		}
		if update.AllowCreateOnUpdate(ctx) {
			t.Error("a PUT creates objects")
		}
		if !update.AllowUnconditionalUpdate(ctx) {
			t.Error("a PUT needs a resource version")
		}
		if warnings := append(create.WarningsOnCreate(ctx, o), update.WarningsOnUpdate(ctx, o, o)...); len(warnings) != 0 {
			t.Errorf("warnings: %v", warnings)
		}
		if name := create.GenerateName("dev-"); !strings.HasPrefix(name, "dev-") || len(name) != len("dev-")+5 {
			t.Errorf("generated name %q", name)
		}
	})
}

// BenchmarkStrategy does what every write of an object does between decoding and storing; the update is one of a label.
func BenchmarkStrategy(b *testing.B) {
	for _, kind := range kinds(b) {
		ctx, good, old := kind.request(b, kind.good(), ""), kind.stored(b), kind.stored(b)
		labelled := copied(old)
		labelled.SetLabels(map[string]string{"a": "b"})
		b.Run(kind.resource+"/create", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := rest.BeforeCreate(kind.store.CreateStrategy, ctx, copied(good)); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(kind.resource+"/update", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if err := rest.BeforeUpdate(kind.store.UpdateStrategy, ctx, copied(labelled), old); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A finalizer without a domain warns when it is added, unless its meaning is known.
func TestFinalizersWithoutDomain(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		ctx := t.Context()
		o := kind.stored(t)
		o.SetFinalizers([]string{kind.finalizer, metav1.FinalizerDeleteDependents, "example.com/mine", "mine"})
		want := []string{`metadata.finalizers[3]: "mine" has no domain, and another writer may use the same name: prefer one such as example.com/mine`}
		if diff := cmp.Diff(want, kind.store.CreateStrategy.WarningsOnCreate(ctx, o)); diff != "" {
			t.Errorf("created (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(want, kind.store.UpdateStrategy.WarningsOnUpdate(ctx, o, kind.stored(t))); diff != "" {
			t.Errorf("added (-want +got):\n%s", diff)
		}
		if got := kind.store.UpdateStrategy.WarningsOnUpdate(ctx, o, o); len(got) > 0 {
			t.Errorf("kept: %q", got)
		}
	})
}

// What a client gets wrong is no fault of the server, and no error in its log.
func TestChangeOfUID(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		old := kind.stored(t)
		old.SetUID("old")
		o := copied(old)
		o.SetUID("new")
		var logged []string
		logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})
		ctx := klog.NewContext(kind.request(t, o, ""), logger)
		if err := rest.BeforeUpdate(kind.store.UpdateStrategy, ctx, o, old); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "metadata.uid") {
			t.Errorf("%v, want that metadata.uid is invalid", err)
		}
		if len(logged) > 0 {
			t.Errorf("logged: %q", logged)
		}
	})
}
