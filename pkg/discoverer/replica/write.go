// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// carryOut performs operations in order. Deletions that are based on a list only wait for the guard, and those that the backend does
// not confirm are left out. After an error the rest is skipped: a copy has no slices without its Service, and stale slices are not
// removed before the new ones exist.
func (r *Replica) carryOut(ctx context.Context, key types.NamespacedName, have existing, operations []operation) error {
	permitted := slices.DeleteFunc(slices.Clone(operations), func(op operation) bool {
		return op.Verb == verbDelete && op.Vanished && !r.isSure(refOf(op.Object))
	})
	held := len(permitted) < len(operations)
	operations, doubt := r.confirmed(ctx, key, have, permitted)
	for _, op := range operations {
		ref := refOf(op.Object)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if op.Verb == verbDelete {
			r.removing(key, op.Object)
		}
		if err := r.do(ctx, key, op); err != nil {
			r.isDeleted(key, op.Object)
			if _, isSlice := op.Object.(*discoveryv1.EndpointSlice); isSlice {
				r.Meters.EndpointsError(key, errorType(err))
			}
			return err
		}
		if op.Verb == verbDelete {
			r.deleted(key, ref)
		}
	}
	if doubt != nil {
		return doubt
	}
	if held {
		r.poke()
		return errHeld
	}
	return nil
}

// deleted discards what was remembered of a copy for its deletion.
func (r *Replica) deleted(key types.NamespacedName, ref desired.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sure.Delete(ref)
	if ref.Kind == desired.KindService {
		delete(r.legacy, key)
	}
}

// do does one operation. What is rejected permanently comes back as an obstacle.
func (r *Replica) do(ctx context.Context, key types.NamespacedName, op operation) error {
	// A write that has begun is finished: the client has a timeout.
	ctx = context.WithoutCancel(ctx)
	defer r.writing(refOf(op.Object))()
	var err error
	switch object := op.Object.(type) {
	case *corev1.Service:
		err = r.doService(ctx, key, object, op)
	case *discoveryv1.EndpointSlice:
		err = r.doSlice(ctx, key, object, op)
	default:
		return fmt.Errorf("copies are Services and EndpointSlices, not %T", object)
	}
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("Wrote", "verb", string(op.Verb), "object", refOf(op.Object).String(), "service", key.String())
		return nil
	}
	if errors.As(err, new(*obstacle)) || isTransient(err) {
		return err
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &obstacle{report.Problem{Type: gimbalv1.ErrorInvalidService, Message: fmt.Sprintf(
			"service %s: this cluster rejects to %s its copy: %s", key, op.Verb, err)}}
	}
	return fmt.Errorf("%s %s: %w", op.Verb, refOf(op.Object), err)
}

func (r *Replica) doService(ctx context.Context, key types.NamespacedName, service *corev1.Service, op operation) error {
	client := r.Client.Services(service.Namespace)
	var response *corev1.Service
	var err error
	switch op.Verb {
	case verbCreate:
		if response, err = client.Create(ctx, service, metav1.CreateOptions{FieldManager: desired.Manager}); apierrors.IsAlreadyExists(err) {
			return r.adoptService(ctx, key, service)
		}
	case verbUpdate:
		response, err = client.Patch(ctx, service.Name, types.MergePatchType, op.Patch, metav1.PatchOptions{FieldManager: desired.Manager})
	case verbDelete:
		err = deletedAlready(client.Delete(ctx, service.Name, asRead(service)))
	}
	if err == nil && response != nil {
		r.wrote(key, r.trimService(response))
	}
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		r.dropLegacy(ctx, key, service)
	}
	return err
}

// adoptService checks what has the name of a Service that was to be created: one that Groundskeeper wrote a moment ago and the
// cache has not, one of the original's, one that lost its labels. Anything else is not touched.
func (r *Replica) adoptService(ctx context.Context, key types.NamespacedName, want *corev1.Service) error {
	live, err := r.Client.Services(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if owner, own := desired.ServiceSource(r.Backend, live); own && owner != key || !own && !desired.LostLabels(r.Backend, live) {
		return errors.Join(taken(key, live, r.Backend), r.detach(ctx, key))
	}
	operations, err := planCopy(&desired.Objects{Service: want}, existing{Service: r.trimService(live)}, r.Annotations, false)
	if err != nil {
		return err
	}
	return r.again(ctx, key, operations)
}

func (r *Replica) doSlice(ctx context.Context, key types.NamespacedName, slice *discoveryv1.EndpointSlice, op operation) error {
	client := r.Client.EndpointSlices(slice.Namespace)
	var response *discoveryv1.EndpointSlice
	var err error
	switch op.Verb {
	case verbCreate:
		if response, err = client.Create(ctx, slice, metav1.CreateOptions{FieldManager: desired.Manager}); apierrors.IsAlreadyExists(err) {
			return r.adoptSlice(ctx, key, slice)
		}
	case verbUpdate:
		response, err = client.Patch(ctx, slice.Name, types.MergePatchType, op.Patch, metav1.PatchOptions{FieldManager: desired.Manager})
	case verbDelete:
		err = deletedAlready(client.Delete(ctx, slice.Name, asRead(slice)))
	}
	if err == nil && response != nil {
		r.wrote(key, trimSlice(response))
	}
	return err
}

// detach deletes the slices of a copy whose name another Service has by now: they would be endpoints of that one.
func (r *Replica) detach(ctx context.Context, key types.NamespacedName) error {
	var errs []error
	for _, slice := range r.existing(key).Slices {
		r.removing(key, slice)
		if err := r.do(ctx, key, operation{Verb: verbDelete, Object: slice}); err != nil {
			r.isDeleted(key, slice)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// adoptSlice does for an EndpointSlice what adoptService does for a Service.
func (r *Replica) adoptSlice(ctx context.Context, key types.NamespacedName, want *discoveryv1.EndpointSlice) error {
	live, err := r.Client.EndpointSlices(want.Namespace).Get(ctx, want.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if owner, own := desired.SliceSource(r.Backend, live); own && owner != key || !own && !desired.LostLabels(r.Backend, live) {
		return taken(key, live, r.Backend)
	}
	have := trimSlice(live)
	operations, err := planSlice(want, have)
	if err != nil {
		return err
	}
	return r.again(ctx, key, operations)
}

// again does operations on what was read live. When one of them is a creation once more, the cache has to catch up
// first.
func (r *Replica) again(ctx context.Context, key types.NamespacedName, operations []operation) error {
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

// dropLegacy discards a Service of the original that was dealt with. When the write failed, it is read again.
func (r *Replica) dropLegacy(ctx context.Context, key types.NamespacedName, service *corev1.Service) {
	r.mu.Lock()
	before := r.legacy[key]
	delete(r.legacy, key)
	r.mu.Unlock()
	if before == nil {
		return
	}
	live, err := r.Client.Services(service.Namespace).Get(ctx, service.Name, metav1.GetOptions{})
	if err == nil {
		r.addLegacy(live)
	}
}

// addLegacy remembers a Service that has the labels of the original and not yet Groundskeeper's.
func (r *Replica) addLegacy(service *corev1.Service) {
	key, ok := desired.ServiceSource(r.Backend, service)
	if _, current := service.Labels[gimbalv1.LabelBackend]; !ok || current {
		return
	}
	r.mu.Lock()
	r.legacy[key] = r.trimService(service)
	r.mu.Unlock()
}

// asRead returns the condition of a deletion: the very object, in the state in which it was read.
func asRead(object metav1.Object) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: new(kit.AsRead(object))}
}

func deletedAlready(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func refOf(object metav1.Object) desired.Ref {
	kind := desired.KindService
	if _, ok := object.(*discoveryv1.EndpointSlice); ok {
		kind = desired.KindSlice
	}
	return desired.Ref{Kind: kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}
