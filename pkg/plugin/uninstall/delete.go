// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// parallel is how many objects are changed at the same time.
const parallel = 8

// deletion is how the objects of a kind are deleted.
type deletion struct {
	// title is the kind in the plural.
	title string
	// list returns all that are there.
	list func(context.Context) ([]client.Object, error)
	// always is done first, and also for an object that is being deleted already. nil: nothing.
	always func(context.Context, client.Object) error
	// prepare makes an object ready to be deleted, such as by the confirmation that the API server requires. nil: nothing.
	prepare func(context.Context, client.Object) error
	// abandon are finalizers that are removed from objects that are being deleted.
	abandon []string
	// name is what is waited for of an object; it changes when there is progress. nil: its name.
	name func(client.Object) string
}

// deleteAll deletes all objects of a kind and waits until they have been deleted. Each check lists again, so that objects
// created meanwhile are deleted as well.
func (u *Uninstaller) deleteAll(ctx context.Context, d deletion) (string, error) {
	var seen sync.Map
	err := u.until(ctx, d.title, func(ctx context.Context) (left, error) {
		objects, err := d.list(ctx)
		if err != nil || len(objects) == 0 {
			return left{}, err
		}
		errs := each(objects, func(object client.Object) error {
			seen.Store(object.GetUID(), nil)
			return u.delete(ctx, d, object)
		})
		l := left{why: u.Why(ctx, objects[0])}
		for _, object := range objects {
			if d.name != nil {
				l.names = append(l.names, d.name(object))
				continue
			}
			l.names = append(l.names, nameOf(object))
		}
		if failed := errors.Join(errs...); failed != nil {
			l.why = failed.Error()
			if !slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, errDenied) }) {
				return l, failed // nothing else is under way
			}
		}
		return l, nil
	})
	count := 0
	seen.Range(func(any, any) bool { count++; return true })
	return done(count, d.title+" have been deleted", err)
}

// delete does the next step of the deletion of an object: prepare, delete, and remove the finalizers that no controller removes.
func (u *Uninstaller) delete(ctx context.Context, d deletion, object client.Object) error {
	if d.always != nil {
		if err := d.always(ctx, object); err != nil {
			return rejection(object, err)
		}
	}
	if !object.GetDeletionTimestamp().IsZero() {
		return u.removeFinalizers(ctx, object, d.abandon)
	}
	if d.prepare != nil {
		if err := d.prepare(ctx, object); err != nil {
			return rejection(object, err)
		}
	}
	uid := object.GetUID()
	err := u.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if apierrors.IsConflict(err) {
		return nil // it is another one by now
	}
	return rejection(object, client.IgnoreNotFound(err))
}

// removeFinalizers takes finalizers off an object that is being deleted.
func (u *Uninstaller) removeFinalizers(ctx context.Context, object client.Object, finalizers []string) error {
	rest := slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return slices.Contains(finalizers, name) })
	if len(rest) == len(object.GetFinalizers()) {
		return nil
	}
	before := object.DeepCopyObject().(client.Object)
	object.SetFinalizers(rest)
	return rejection(object, client.IgnoreNotFound(u.Client.Patch(ctx, object, optimistic(before))))
}

// optimistic returns a patch that fails when another client wrote the object meanwhile, or it was recreated.
func optimistic(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// rejection names the object of an error, and reports whether waiting helps.
func rejection(object client.Object, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return fmt.Errorf("%w: %s: %w", errDenied, nameOf(object), err)
	}
	return fmt.Errorf("%s: %w", nameOf(object), err)
}

// each calls a function for all objects, several concurrently, and returns an error or nil for each.
func each(objects []client.Object, do func(client.Object) error) []error {
	errs := make([]error, len(objects))
	var group errgroup.Group
	group.SetLimit(parallel)
	for i, object := range objects {
		group.Go(func() error {
			errs[i] = do(object)
			return nil
		})
	}
	_ = group.Wait() // the errors are those of the objects
	return errs
}

// annotate sets annotations of an object to "true", if they are not.
func (u *Uninstaller) annotate(ctx context.Context, object client.Object, annotations ...string) error {
	before := object.DeepCopyObject().(client.Object)
	set := map[string]string{}
	maps.Copy(set, object.GetAnnotations())
	changed := false
	for _, key := range annotations {
		changed = changed || set[key] != "true"
		set[key] = "true"
	}
	if !changed {
		return nil
	}
	object.SetAnnotations(set)
	return u.Client.Patch(ctx, object, optimistic(before))
}

func nameOf(object client.Object) string {
	return strings.TrimPrefix(object.GetNamespace()+"/"+object.GetName(), "/")
}

func all[T client.Object](ctx context.Context, c client.Reader, list client.ObjectList) ([]T, error) {
	objects, err := report.All(ctx, c, list, metav1.NamespaceAll)
	typed := make([]T, len(objects))
	for i := range objects {
		typed[i] = objects[i].(T) //nolint:forcetypeassert // the caller names the type of the items
	}
	return typed, err
}

// metadataOf lists the metadata of a resource. A resource that the cluster does not have has no objects.
func (u *Uninstaller) metadataOf(
	ctx context.Context, resource schema.GroupVersionResource, namespace, selector string,
) ([]metav1.PartialObjectMetadata, error) {
	found, err := lists.Metadata(ctx, u.Metadata, resource, namespace, selector)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}
