// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/kit"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

// execute performs operations in order. After an error the rest is skipped: a copy has no slices without its Service, and stale
// slices are not removed before the new ones exist.
func (r *Replica) execute(ctx context.Context, key types.NamespacedName, operations []operation) error {
	for _, op := range operations {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := r.do(ctx, key, op); err != nil {
			if _, isSlice := op.Object.(*discoveryv1.EndpointSlice); isSlice {
				r.Meters.EndpointsError(key, errorType(err))
			}
			return err
		}
	}
	return nil
}

// do does one operation. What is rejected permanently comes back as an obstacle.
func (r *Replica) do(ctx context.Context, key types.NamespacedName, op operation) (err error) {
	// A write that has begun is finished: the client has a timeout.
	ctx = context.WithoutCancel(ctx)
	ref := desired.RefOf(op.Object)
	if op.Verb == verbDelete {
		r.memory.removing(key, op.Object)
	}
	defer r.memory.writing(ref)()
	switch object := op.Object.(type) {
	case *corev1.Service:
		err = write(ctx, r, &r.services, key, object, op)
		r.renewLegacy(ctx, key, object, err)
	case *discoveryv1.EndpointSlice:
		err = write(ctx, r, &r.slices, key, object, op)
	default:
		return fmt.Errorf("copies are Services and EndpointSlices, not %T", object)
	}
	switch {
	case err == nil:
		if op.Verb == verbDelete {
			r.memory.revoke(ref)
		}
		logr.FromContextOrDiscard(ctx).V(1).Info("Wrote", "verb", string(op.Verb), "object", ref.String(), "service", key.String())
		return nil
	case errors.As(err, new(*obstacle)), isTransient(err):
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		err = obstructed(gimbalv1.ErrorInvalidService, "service %s: this cluster rejects to %s its copy: %s", key, op.Verb, err)
	default:
		err = fmt.Errorf("%s %s: %w", op.Verb, ref, err)
	}
	r.memory.notRemoved(key, op.Object)
	return err
}

// write does one operation on an object of a kind, and notes what the API server has then.
func write[T remote.Object, L runtime.Object](
	ctx context.Context, r *Replica, c *copies[T, L], key types.NamespacedName, object T, op operation,
) error {
	client := c.client(object.GetNamespace())
	var response T
	var err error
	switch op.Verb {
	case verbCreate:
		response, err = client.Create(ctx, object, metav1.CreateOptions{FieldManager: desired.Manager})
		if apierrors.IsAlreadyExists(err) {
			return adopt(ctx, r, c, key, object)
		}
	case verbUpdate:
		response, err = client.Patch(ctx, object.GetName(), types.MergePatchType, op.Patch, metav1.PatchOptions{FieldManager: desired.Manager})
	case verbDelete:
		// The very object, in the state in which it was read.
		err = client.Delete(ctx, object.GetName(), metav1.DeleteOptions{Preconditions: new(kit.AsRead(object))})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	}
	if err != nil {
		return err
	}
	r.memory.wrote(key, c.trim(response))
	// The event may have been handled before.
	if cached, ok := c.Get(object.GetNamespace(), object.GetName()); ok {
		r.memory.caughtUp(key, cached)
	}
	return nil
}

// adopt checks what has the name of an object that was to be created: one that Groundskeeper wrote a moment ago and the cache does not
// have, one of the original's, one that lost its labels. Anything else is not touched. When what was read live has to be created once
// more, the cache has to catch up first.
func adopt[T remote.Object, L runtime.Object](ctx context.Context, r *Replica, c *copies[T, L], key types.NamespacedName, want T) error {
	live, err := c.client(want.GetNamespace()).Get(ctx, want.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := collision(r.Backend, key, live, c.sourceOf); err != nil {
		if desired.RefOf(want).Kind == desired.KindService {
			err = errors.Join(err, r.detach(ctx, key))
		}
		return err
	}
	operations, err := c.plan(want, c.trim(live))
	if err != nil {
		return err
	}
	for _, op := range operations {
		if op.Verb == verbCreate {
			r.queue.AddRateLimited(key)
			return nil
		}
		if err := r.do(ctx, key, op); err != nil {
			return err
		}
	}
	return nil
}

// detach deletes the slices of a copy whose name another Service has by now: they would be endpoints of that one.
func (r *Replica) detach(ctx context.Context, key types.NamespacedName) error {
	var errs []error
	for _, slice := range r.observe(key).have.Slices {
		errs = append(errs, r.do(ctx, key, operation{Verb: verbDelete, Object: slice}))
	}
	return errors.Join(errs...)
}

func (r *Replica) createNamespace(ctx context.Context, name string) error {
	labels := map[string]string{desired.LabelManagedBy: desired.Manager}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	_, err := r.Client.Namespaces().Create(ctx, namespace, metav1.CreateOptions{FieldManager: desired.Manager})
	switch {
	case err == nil, apierrors.IsAlreadyExists(err):
		return nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		return obstructed(gimbalv1.ErrorNamespaceMissing, "namespace %s cannot be created, create it yourself: %s", name, err)
	default:
		return fmt.Errorf("create namespace %s: %w", name, err)
	}
}
