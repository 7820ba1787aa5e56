// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// isolator is an emitter of a backend that has NetworkPolicies.
type isolator interface {
	// Namespace returns what a namespace becomes.
	Namespace(namespace *corev1.Namespace) convert.Result
	// NetworkPolicy returns what a policy becomes, with all namespaces if it selects some, and the Pods that may have its named ports.
	// Logging is that of its namespace.
	NetworkPolicy(policy *convert.Policy, namespaces []*corev1.Namespace, pods []*corev1.Pod, logging convert.Logging) convert.Result
}

// scopeOf returns what is known of NetworkPolicies and of other Pods for a Pod.
func (r *reconciler) scopeOf(ctx context.Context, pod *corev1.Pod) (convert.Scope, error) {
	scope := convert.Scope{Translated: func(*convert.Policy, string) bool { return false }}
	if r.isolator == nil {
		return scope, nil
	}
	var err error
	if scope.Taken, err = r.takenFrom(ctx, pod); err != nil {
		return scope, err
	}
	if scope.Namespace, err = labelsOf(ctx, r.client, pod.Namespace); err != nil {
		return scope, err
	}
	found, err := policiesFor(ctx, r.client, pod.Namespace)
	if err != nil {
		return scope, err
	}
	for _, policy := range found {
		scope.Policies = append(scope.Policies, r.memory.policyOf(policy))
	}
	scope.Translated = func(policy *convert.Policy, name string) bool {
		translation := &midonetv1.Translation{}
		// The cache returns an error only for objects that it does not have, and reports when it has them.
		failed := r.client.Get(ctx, client.ObjectKey{Namespace: policy.Namespace, Name: name}, translation)
		return failed == nil && translation.DeletionTimestamp.IsZero() && claimOf(policy.Owner(), translation) == own
	}
	return scope, nil
}

// labelsOf returns the labels of a namespace, none of one that is not known: no policy names its Pods by them.
func labelsOf(ctx context.Context, cache client.Reader, name string) (labels.Set, error) {
	namespace, err := namespaceNamed(ctx, cache, name)
	return namespace.Labels, err
}

// namespaceNamed returns a namespace, an empty one if it is not known.
func namespaceNamed(ctx context.Context, cache client.Reader, name string) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	if err := cache.Get(ctx, client.ObjectKey{Name: name}, namespace, client.UnsafeDisableDeepCopy); err != nil && !apierrors.IsNotFound(err) {
		return &corev1.Namespace{}, fmt.Errorf("get namespace %s: %w", name, err)
	}
	return namespace, nil
}

// policiesFor returns the NetworkPolicies that may concern the Pods of a namespace: its own, and those that name Pods of several
// namespaces.
func policiesFor(ctx context.Context, cache client.Reader, namespace string) ([]*networkingv1.NetworkPolicy, error) {
	own, across := &networkingv1.NetworkPolicyList{}, &networkingv1.NetworkPolicyList{}
	if err := cache.List(ctx, own, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the network policies of namespace %s: %w", namespace, err)
	}
	if err := cache.List(ctx, across, client.MatchingFields{policiesAcross: acrossKey}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the network policies that select namespaces: %w", err)
	}
	others := slices.DeleteFunc(pointers(across.Items), func(p *networkingv1.NetworkPolicy) bool { return p.Namespace == namespace })
	return append(pointers(own.Items), others...), nil
}

// translatePolicy reads what a NetworkPolicy depends on, and translates it.
func (r *reconciler) translatePolicy(ctx context.Context, policy *networkingv1.NetworkPolicy) (convert.Result, error) {
	read := r.memory.policyOf(policy)
	var namespaces []*corev1.Namespace
	if read.SelectsNamespaces() {
		list := &corev1.NamespaceList{}
		if err := r.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return convert.Result{}, fmt.Errorf("list namespaces: %w", err)
		}
		namespaces = pointers(list.Items)
	}
	var pods []*corev1.Pod
	if named, all := read.NamedPorts(); named {
		options := []client.ListOption{client.InNamespace(policy.Namespace), client.UnsafeDisableDeepCopy}
		if all {
			options = options[1:]
		}
		list := &corev1.PodList{}
		if err := r.client.List(ctx, list, options...); err != nil {
			return convert.Result{}, fmt.Errorf("list the pods with the ports of network policy %s/%s: %w", policy.Namespace, policy.Name, err)
		}
		pods = pointers(list.Items)
	}
	own, err := namespaceNamed(ctx, r.client, policy.Namespace)
	if err != nil {
		return convert.Result{}, err
	}
	logging, _ := convert.LoggingOf(own) // what is not valid is reported with the namespace
	return r.isolator.NetworkPolicy(read, namespaces, pods, logging), nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
