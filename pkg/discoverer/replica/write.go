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
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/guard"
	"groundskeeper.io/groundskeeper/pkg/discoverer/plan"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// carryOut does operations in their order. Deletions for which only a listing speaks wait for the guard. After an error the rest is
// left: without its Service a copy has no slices, and what is stale is not removed before what is new is there.
func (r *Replica) carryOut(ctx context.Context, key types.NamespacedName, operations []plan.Operation) error {
	held := false
	for _, operation := range operations {
		ref := refOf(operation.Object)
		if operation.Verb == plan.Delete && operation.Vanished && !r.isSure(ref) {
			held = true
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if operation.Verb == plan.Delete {
			r.removing(key, operation.Object)
		}
		if err := r.do(ctx, key, operation); err != nil {
			r.isDeleted(key, operation.Object)
			if _, isSlice := operation.Object.(*discoveryv1.EndpointSlice); isSlice {
				r.Meters.EndpointsError(key, errorType(err))
			}
			return err
		}
		if operation.Verb == plan.Delete {
			r.deleted(key, ref)
		}
	}
	if held {
		r.poke()
		return errHeld
	}
	return nil
}

// deleted discards what was remembered of a copy for its deletion.
func (r *Replica) deleted(key types.NamespacedName, ref guard.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sure.Delete(ref)
	if ref.Kind == guard.Service {
		delete(r.legacy, key)
	}
}

// do does one operation. What is rejected permanently comes back as an obstacle.
func (r *Replica) do(ctx context.Context, key types.NamespacedName, operation plan.Operation) error {
	// A write that has begun is finished: the client has a timeout.
	ctx = context.WithoutCancel(ctx)
	defer r.writing(refOf(operation.Object))()
	var err error
	switch object := operation.Object.(type) {
	case *corev1.Service:
		err = r.doService(ctx, key, object, operation)
	case *discoveryv1.EndpointSlice:
		err = r.doSlice(ctx, key, object, operation)
	default:
		return fmt.Errorf("copies are Services and EndpointSlices, not %T", object)
	}
	if err == nil {
		logr.FromContextOrDiscard(ctx).V(1).Info("Wrote", "verb", string(operation.Verb), "object", refOf(operation.Object).String(), "service", key.String())
		return nil
	}
	if errors.As(err, new(*obstacle)) || isTransient(err) {
		return err
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err) {
		return &obstacle{report.Problem{Type: gimbalv1.ErrorInvalidService, Message: fmt.Sprintf(
			"service %s: this cluster rejects to %s its copy: %s", key, operation.Verb, err)}}
	}
	return fmt.Errorf("%s %s: %w", operation.Verb, refOf(operation.Object), err)
}

func (r *Replica) doService(ctx context.Context, key types.NamespacedName, service *corev1.Service, operation plan.Operation) error {
	client := r.Client.Services(service.Namespace)
	var response *corev1.Service
	var err error
	switch operation.Verb {
	case plan.Create:
		if response, err = client.Create(ctx, service, metav1.CreateOptions{FieldManager: desired.Manager}); apierrors.IsAlreadyExists(err) {
			return r.adoptService(ctx, key, service)
		}
	case plan.Update:
		response, err = client.Patch(ctx, service.Name, types.MergePatchType, operation.Patch, metav1.PatchOptions{FieldManager: desired.Manager})
	case plan.Delete:
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
		return taken(key, live, r.Backend)
	}
	operations, err := plan.Compute(&desired.Objects{Service: want}, plan.Existing{Service: r.trimService(live)}, r.Annotations, false)
	if err != nil {
		return err
	}
	return r.again(ctx, key, operations)
}

func (r *Replica) doSlice(ctx context.Context, key types.NamespacedName, slice *discoveryv1.EndpointSlice, operation plan.Operation) error {
	client := r.Client.EndpointSlices(slice.Namespace)
	var response *discoveryv1.EndpointSlice
	var err error
	switch operation.Verb {
	case plan.Create:
		if response, err = client.Create(ctx, slice, metav1.CreateOptions{FieldManager: desired.Manager}); apierrors.IsAlreadyExists(err) {
			return r.adoptSlice(ctx, key, slice)
		}
	case plan.Update:
		response, err = client.Patch(ctx, slice.Name, types.MergePatchType, operation.Patch, metav1.PatchOptions{FieldManager: desired.Manager})
	case plan.Delete:
		err = deletedAlready(client.Delete(ctx, slice.Name, asRead(slice)))
	}
	if err == nil && response != nil {
		r.wrote(key, trimSlice(response))
	}
	return err
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
	operations, err := plan.Slice(want, have)
	if err != nil {
		return err
	}
	return r.again(ctx, key, operations)
}

// again does operations on what was read live. When one of them is a creation once more, the cache has to catch up
// first.
func (r *Replica) again(ctx context.Context, key types.NamespacedName, operations []plan.Operation) error {
	for _, operation := range operations {
		if operation.Verb == plan.Create {
			r.queue.AddRateLimited(key)
			return nil
		}
		if err := r.do(ctx, key, operation); err != nil {
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

// asRead is the condition of a deletion: the very object, in the state in which it was read.
func asRead(object metav1.Object) metav1.DeleteOptions {
	return metav1.DeleteOptions{Preconditions: new(kit.AsRead(object))}
}

func deletedAlready(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

func refOf(object metav1.Object) guard.Ref {
	kind := guard.Service
	if _, ok := object.(*discoveryv1.EndpointSlice); ok {
		kind = guard.Slice
	}
	return guard.Ref{Kind: kind, NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()}}
}
