// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// subject is an object with what it becomes.
type subject struct {
	// object takes the events. It is from the cache, so nothing in it may be changed.
	object client.Object
	owner  convert.Owner
	result convert.Result
	// shared are the problems of a Node that has something that another one has, too.
	shared []convert.Problem
	// inPlace: its Translations were found as they should be.
	inPlace bool
}

// creates reports whether Translations of the owner may be created, or given back to it. Not for a Node that is being
// deleted, whose network is about to be deleted with it, and not while garbage collection deletes or orphans what an
// object owns: the two controllers would undo each other's work.
func (s *subject) creates() bool {
	if s.object.GetDeletionTimestamp().IsZero() {
		return true
	}
	return s.owner.Kind != convert.KindNode && !slices.ContainsFunc(s.object.GetFinalizers(), isGarbageCollectors)
}

// read reads the object of a unit, with all that its Translations depend on, and converts it. It is nil for one that has
// been deleted: garbage collection deletes what it leaves. One that is being deleted is converted until then, which may
// take as long as the finalizers of other controllers do.
func (r *reconciler) read(ctx context.Context, u unit) (*subject, error) {
	switch u.kind {
	case convert.KindNode:
		node := &corev1.Node{}
		if there, err := r.find(ctx, u, node); !there {
			return nil, err
		}
		occupied, err := r.occupiedOf(ctx, node)
		if err != nil {
			return nil, err
		}
		return &subject{object: node, owner: convert.OwnerOf(u.kind, node), result: r.emitter.Node(node, occupied)}, nil
	case convert.KindPod:
		pod := &corev1.Pod{}
		if there, err := r.find(ctx, u, pod); !there {
			return nil, err
		}
		node, err := r.nodeOf(ctx, pod)
		if err != nil {
			return nil, err
		}
		scope, err := r.scopeOf(ctx, pod)
		if err != nil {
			return nil, err
		}
		return &subject{object: pod, owner: convert.OwnerOf(u.kind, pod), result: r.emitter.Pod(pod, node, scope)}, nil
	case convert.KindNamespace, convert.KindNetworkPolicy:
		return r.readIsolation(ctx, u)
	case convert.KindService:
		service := &corev1.Service{}
		if there, err := r.find(ctx, u, service); !there {
			return nil, err
		}
		endpoints, err := r.slicesOf(ctx, service)
		if err != nil {
			return nil, err
		}
		occupied, err := r.occupied(ctx, service)
		if err != nil {
			return nil, err
		}
		return &subject{object: service, owner: convert.OwnerOf(u.kind, service), result: r.emitter.Service(service, endpoints, occupied)}, nil
	default:
		result := r.emitter.Globals()
		return &subject{object: result.Translations[0].DeepCopy(), result: result}, nil
	}
}

// readIsolation reads what a backend has that has NetworkPolicies. Without them, there is nothing to reconcile: the Translations of
// another backend's policies are left to their owners.
func (r *reconciler) readIsolation(ctx context.Context, u unit) (*subject, error) {
	if r.isolator == nil {
		return nil, nil
	}
	if u.kind == convert.KindNamespace {
		namespace := &corev1.Namespace{}
		if there, err := r.find(ctx, u, namespace); !there {
			return nil, err
		}
		return &subject{object: namespace, owner: convert.OwnerOf(u.kind, namespace), result: r.isolator.Namespace(namespace)}, nil
	}
	policy := &networkingv1.NetworkPolicy{}
	if there, err := r.find(ctx, u, policy); !there {
		return nil, err
	}
	result, err := r.translatePolicy(ctx, policy)
	if err != nil {
		return nil, err
	}
	return &subject{object: policy, owner: convert.OwnerOf(u.kind, policy), result: result}, nil
}

// find reads the object of a unit and reports whether it exists.
func (r *reconciler) find(ctx context.Context, u unit, into client.Object) (bool, error) {
	if err := r.client.Get(ctx, u.key(), into, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("get %s: %w", u, err)
	}
	return true, nil
}

// nodeOf reads the Node that a Pod runs on, nil when there is none.
func (r *reconciler) nodeOf(ctx context.Context, pod *corev1.Pod) (*corev1.Node, error) {
	if pod.Spec.NodeName == "" {
		return nil, nil
	}
	node := &corev1.Node{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: pod.Spec.NodeName}, node, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get node %s: %w", pod.Spec.NodeName, err)
	}
	return node, nil
}

func (r *reconciler) slicesOf(ctx context.Context, service *corev1.Service) ([]*discoveryv1.EndpointSlice, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := r.client.List(ctx, list, client.InNamespace(service.Namespace), client.MatchingFields{slicesByService: service.Name},
		client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list the endpoint slices of service %s/%s: %w", service.Namespace, service.Name, err)
	}
	found := make([]*discoveryv1.EndpointSlice, len(list.Items))
	for i := range list.Items {
		found[i] = &list.Items[i]
	}
	return found, nil
}

// existing reads the Translations of an owner and those that have the name of a wanted one, by name.
func (r *reconciler) existing(
	ctx context.Context, owner convert.Owner, wanted []midonetv1.Translation,
) (map[string]*midonetv1.Translation, error) {
	found := map[string]*midonetv1.Translation{}
	for _, key := range keysOf(owner) {
		// The cache may lack the last writes of this controller. An object is read again by name before it is written.
		translations, err := r.owned(key)
		if err != nil {
			return nil, fmt.Errorf("list the translations of %s: %w", describe(owner), err)
		}
		for _, translation := range translations {
			if translation.Namespace == owner.TranslationNamespace() {
				found[translation.Name] = translation
			}
		}
	}
	for i := range wanted {
		if found[wanted[i].Name] == nil {
			if err := r.reread(ctx, owner, wanted[i].Name, found); err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// reread reads a Translation in its state after the controller's own writes.
func (r *reconciler) reread(ctx context.Context, owner convert.Owner, name string, into map[string]*midonetv1.Translation) error {
	translation := &midonetv1.Translation{}
	key := client.ObjectKey{Namespace: owner.TranslationNamespace(), Name: name}
	err := r.client.Get(ctx, key, translation)
	switch {
	case err == nil:
		into[name] = translation
	case apierrors.IsNotFound(err):
		delete(into, name)
	default:
		return fmt.Errorf("get translation %s: %w", key, err)
	}
	return nil
}

// confirm reads the owner once more, from the API server. A cache that is behind would give a Translation back to an
// owner that has been deleted, and garbage collection would delete it; or that began to be deleted since.
func (r *reconciler) confirm(ctx context.Context, s *subject) error {
	current := &metav1.PartialObjectMetadata{}
	current.SetGroupVersionKind(convert.GroupVersionOf(s.owner.Kind).WithKind(s.owner.Kind))
	err := r.live.Get(ctx, client.ObjectKeyFromObject(s.object), current)
	switch {
	case client.IgnoreNotFound(err) != nil:
		return fmt.Errorf("get %s: %w", describe(s.owner), err)
	case err != nil, current.UID != s.owner.UID, current.DeletionTimestamp.IsZero() != s.object.GetDeletionTimestamp().IsZero():
		return fmt.Errorf("%s: %w", describe(s.owner), kit.ErrChanged)
	default:
		return nil
	}
}

// confirmLoss reads the Node once more, from the API server, before its network is deleted.
func (r *reconciler) confirmLoss(ctx context.Context, s *subject) error {
	node := &corev1.Node{}
	err := r.live.Get(ctx, client.ObjectKey{Name: s.owner.Name}, node)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get %s: %w", describe(s.owner), err)
	}
	waiting := r.emitter.Node(node, nil).Waiting
	if apierrors.IsNotFound(err) || node.UID != s.owner.UID || node.DeletionTimestamp.IsZero() != s.object.GetDeletionTimestamp().IsZero() ||
		waiting == nil || waiting.Reason != convert.ReasonHostIDMissing {
		return fmt.Errorf("%s: %w", describe(s.owner), kit.ErrChanged)
	}
	return nil
}

func describe(owner convert.Owner) string {
	return unit{kind: owner.Kind, namespace: owner.Namespace, name: owner.Name}.String()
}
