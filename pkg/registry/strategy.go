// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage/names"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// strategy is what happens around the creation and the update of any kind.
type strategy[T Object] struct {
	rest.DeclarativeValidation
	names.NameGenerator
	kind Kind[T]
}

func (s strategy[T]) NamespaceScoped() bool                       { return s.kind.Namespaced }
func (strategy[T]) AllowCreateOnUpdate(context.Context) bool      { return false }
func (strategy[T]) AllowUnconditionalUpdate(context.Context) bool { return true }
func (strategy[T]) Canonicalize(runtime.Object)                   {}

// WarningsOnCreate is queried after the object was prepared and found valid.
func (s strategy[T]) WarningsOnCreate(_ context.Context, obj runtime.Object) []string {
	return s.finalizersWithoutDomain(obj.(T), nil)
}

// WarningsOnUpdate is queried after the change was prepared and found valid. A change of the status never warns: what users wrote
// has been reverted by then.
func (s strategy[T]) WarningsOnUpdate(_ context.Context, obj, old runtime.Object) []string {
	o, before := obj.(T), old.(T)
	warnings := s.finalizersWithoutDomain(o, before.GetFinalizers())
	if s.kind.Warn != nil {
		warnings = append(warnings, s.kind.Warn(o, before)...)
	}
	return warnings
}

// finalizersWithoutDomain returns warnings of added finalizers whose name another writer may choose, too, as kube-apiserver has them
// for custom resources.
func (s strategy[T]) finalizersWithoutDomain(o T, known []string) (warnings []string) {
	for i, finalizer := range o.GetFinalizers() {
		switch {
		case strings.Contains(finalizer, "/"), slices.Contains(known, finalizer), finalizer == s.kind.Finalizer,
			finalizer == metav1.FinalizerOrphanDependents, finalizer == metav1.FinalizerDeleteDependents:
		default:
			warnings = append(warnings, fmt.Sprintf("metadata.finalizers[%d]: %q has no domain, and another writer may use the same name: "+
				"prefer one such as example.com/%[2]s", i, finalizer))
		}
	}
	return warnings
}

// PrepareForCreate gives a new object what the server decides: no status but that it is not
// ready, generation 1, the finalizer.
func (s strategy[T]) PrepareForCreate(_ context.Context, obj runtime.Object) {
	o := obj.(T)
	s.kind.CopyStatus(o, s.kind.New())
	o.SetGeneration(1)
	s.addFinalizer(o)
	if s.kind.PrepareForCreate != nil {
		s.kind.PrepareForCreate(o)
	}
	s.normalize(o)
	// Prepared again, as for a retried apply, the object is the same.
	s.summarize(o, s.kind.New(), o.GetCreationTimestamp().Time)
}

// PrepareForUpdate keeps the status and, until the object is being deleted, the finalizer: a manifest that is replaced as written
// must not lose them.
func (s strategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	o, before := obj.(T), old.(T)
	s.kind.CopyStatus(o, before)
	if before.GetDeletionTimestamp() == nil {
		s.addFinalizer(o)
	}
	if s.kind.PrepareForUpdate != nil {
		s.kind.PrepareForUpdate(o, before)
	}
	s.normalize(o)
	if !apiequality.Semantic.DeepEqual(s.kind.Desired(o), s.kind.Desired(before)) {
		o.SetGeneration(before.GetGeneration() + 1)
	}
	s.summarize(o, before, time.Now())
	keepTimes(o, before)
}

func (s strategy[T]) Validate(_ context.Context, obj runtime.Object) field.ErrorList {
	return s.kind.Validate(obj.(T))
}

func (s strategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.ValidateUpdate(obj.(T), old.(T))
}

// ValidateDeclaratively keeps the errors that apimachinery's validation by hand finds in its own types, such as the metadata: it leaves
// them to tags, which the generator cannot read here (hack/update-codegen.sh), and each would be logged as a fault of the server.
func (s strategy[T]) ValidateDeclaratively(
	ctx context.Context, obj, old runtime.Object, errs field.ErrorList, op operation.Type, config rest.DeclarativeValidationConfig,
) field.ErrorList {
	for _, err := range errs {
		err.CoveredByDeclarative = false
	}
	return s.DeclarativeValidation.ValidateDeclaratively(ctx, obj, old, errs, op, config)
}

// GetResetFields excludes the status from what a writer of the object owns.
func (s strategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields("status")
}

func (s strategy[T]) resetFields(names ...string) map[fieldpath.APIVersion]*fieldpath.Set {
	set := fieldpath.NewSet()
	for _, name := range names {
		set.Insert(fieldpath.MakePathOrDie(name))
	}
	return map[fieldpath.APIVersion]*fieldpath.Set{fieldpath.APIVersion(s.kind.GroupVersion.String()): set}
}

func (s strategy[T]) addFinalizer(o T) {
	if s.kind.Finalizer != "" && !slices.Contains(o.GetFinalizers(), s.kind.Finalizer) {
		o.SetFinalizers(append(o.GetFinalizers(), s.kind.Finalizer))
	}
}

func (s strategy[T]) normalize(o T) {
	if s.kind.Normalize != nil {
		s.kind.Normalize(o)
	}
}

// summarize writes Ready, Reconciling and Stalled, whatever the writer of the object reports about them.
func (s strategy[T]) summarize(o, before T, now time.Time) {
	if s.kind.Summarize != nil {
		s.kind.Summarize(o, before, now)
	}
}

// statusStrategy is what happens around an update of the status: nothing but the status changes.
type statusStrategy[T Object] struct{ strategy[T] }

// PrepareForUpdate puts everything but the status, and the record of who owns which field, back.
func (s statusStrategy[T]) PrepareForUpdate(_ context.Context, obj, old runtime.Object) {
	o, before, restored := obj.(T), old.(T), old.DeepCopyObject().(T)
	s.kind.CopyStatus(restored, o)
	restored.SetManagedFields(o.GetManagedFields())
	restored.SetResourceVersion(o.GetResourceVersion())
	s.kind.Assign(o, restored)
	s.normalize(o)
	s.summarize(o, before, time.Now())
	keepTimes(o, before)
}

func (s statusStrategy[T]) ValidateUpdate(_ context.Context, obj, old runtime.Object) field.ErrorList {
	return s.kind.ValidateStatusUpdate(obj.(T), old.(T))
}

// GetResetFields excludes everything else from what an applier of the status owns.
func (s statusStrategy[T]) GetResetFields() map[fieldpath.APIVersion]*fieldpath.Set {
	return s.resetFields(append([]string{"metadata"}, s.kind.DesiredFields...)...)
}

// keepTimes takes back the time of an apply that changes nothing else, so that nothing is written. The library does so
// too, but before an object is normalised: a manifest that spells something its own way would be written each time.
func keepTimes(o, before Object) {
	entries := o.GetManagedFields()
	if !sameManagers(entries, before.GetManagedFields()) {
		return
	}
	o.SetManagedFields(slices.Clone(before.GetManagedFields()))
	// An object from the watch cache names its kind, one from a request need not.
	kind := o.GetObjectKind().GroupVersionKind()
	o.GetObjectKind().SetGroupVersionKind(before.GetObjectKind().GroupVersionKind())
	same := apiequality.Semantic.DeepEqual(o, before)
	o.GetObjectKind().SetGroupVersionKind(kind)
	if !same {
		o.SetManagedFields(entries)
	}
}

// sameManagers reports whether the entries are the same except for their times, by which they are sorted.
func sameManagers(entries, before []metav1.ManagedFieldsEntry) bool {
	if len(entries) != len(before) {
		return false
	}
	for _, entry := range entries {
		if !slices.ContainsFunc(before, func(other metav1.ManagedFieldsEntry) bool {
			other.Time = entry.Time
			return apiequality.Semantic.DeepEqual(entry, other)
		}) {
			return false
		}
	}
	return true
}
