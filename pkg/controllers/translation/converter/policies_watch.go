// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// policiesAcross is the index that finds, by acrossKey, the NetworkPolicies that name Pods of several namespaces.
const (
	policiesAcross = ControllerName + "/across"
	acrossKey      = "true"
)

func isAcross(object client.Object) bool {
	policy, ok := object.(*networkingv1.NetworkPolicy)
	return ok && convert.ReadPolicy(policy).Across()
}

func indexAcross(object client.Object) []string {
	if isAcross(object) {
		return []string{acrossKey}
	}
	return nil
}

func ofNamespace(_ context.Context, namespace client.Object) []unit {
	return []unit{{kind: convert.KindNamespace, name: namespace.GetName()}}
}

func ofPolicy(_ context.Context, policy client.Object) []unit {
	return []unit{{kind: convert.KindNetworkPolicy, namespace: policy.GetNamespace(), name: policy.GetName()}}
}

// watchPolicies adds the watches of a backend that has NetworkPolicies. A policy decides about Pods, and what it becomes depends on the
// labels of namespaces and on the named ports of Pods.
func (m mapper) watchPolicies(watches *builder.TypedBuilder[unit]) *builder.TypedBuilder[unit] {
	return watches.
		Watches(&networkingv1.NetworkPolicy{}, enqueue(ofPolicy), builder.WithPredicates(changed())).
		Watches(&networkingv1.NetworkPolicy{}, enqueue(m.podsOfPolicy), builder.WithPredicates(later(changed()))).
		Watches(&corev1.Namespace{}, enqueue(ofNamespace), builder.WithPredicates(predicate.Or(appearsOrDisappears(), loggingChanged()))).
		Watches(&corev1.Namespace{}, enqueue(m.policiesIn), builder.WithPredicates(later(loggingChanged()))).
		Watches(&corev1.Namespace{}, enqueue(m.policiesOfNamespace), builder.WithPredicates(later(labelsChanged()))).
		Watches(&corev1.Namespace{}, enqueue(m.podsOfNamespace), builder.WithPredicates(onlyUpdates(labelsChanged()))).
		Watches(&corev1.Pod{}, enqueue(m.policiesOfPod), builder.WithPredicates(later(changed()))).
		Watches(&midonetv1.Translation{}, enqueue(m.podsOfGroup), builder.WithPredicates(later(appearsOrDisappears())))
}

// quietly logs an error of a mapping function, which cannot return one.
func quietly(ctx context.Context, what string, found []unit, err error) []unit {
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to find "+what)
		return nil
	}
	return found
}

// podsOfPolicy finds the Pods that a NetworkPolicy names. One that is changed arrives in its previous state, too.
func (m mapper) podsOfPolicy(ctx context.Context, object client.Object) []unit {
	policy, ok := object.(*networkingv1.NetworkPolicy)
	if !ok {
		return nil
	}
	read := convert.ReadPolicy(policy)
	namespaces := []string{policy.Namespace}
	if read.Across() {
		list := &corev1.NamespaceList{}
		if err := m.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return quietly(ctx, "the pods of a network policy", nil, err)
		}
		namespaces = nil
		for i := range list.Items {
			namespaces = append(namespaces, list.Items[i].Name)
		}
	}
	var units []unit
	for _, name := range namespaces {
		found, err := m.podsIn(ctx, name, read.Concerns)
		if err != nil {
			return quietly(ctx, "the pods of a network policy", nil, err)
		}
		units = append(units, found...)
	}
	return units
}

// podsIn finds the Pods of a namespace that something concerns.
func (m mapper) podsIn(ctx context.Context, name string, concerns func(*corev1.Pod, labels.Set) bool) ([]unit, error) {
	set, err := labelsOf(ctx, m.cache, name)
	if err != nil {
		return nil, err
	}
	pods := &corev1.PodList{}
	if err := m.cache.List(ctx, pods, client.InNamespace(name), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the pods of namespace %s: %w", name, err)
	}
	var units []unit
	for i := range pods.Items {
		if concerns(&pods.Items[i], set) {
			units = append(units, ofPod(ctx, &pods.Items[i])...)
		}
	}
	return units, nil
}

// podsOfGroup finds the Pods that the Translation of a NetworkPolicy is about: their ports are in its groups while it exists.
func (m mapper) podsOfGroup(ctx context.Context, translation client.Object) []unit {
	var units []unit
	for _, u := range ofTranslation(ctx, translation) {
		if u.kind != convert.KindNetworkPolicy {
			continue
		}
		policy := &networkingv1.NetworkPolicy{}
		if err := m.cache.Get(ctx, u.key(), policy, client.UnsafeDisableDeepCopy); err != nil {
			// Without the policy, the Pods are reconciled by its deletion.
			return quietly(ctx, "the pods of a network policy", units, client.IgnoreNotFound(err))
		}
		units = append(units, m.podsOfPolicy(ctx, policy)...)
	}
	return units
}

// podsOfNamespace finds the Pods of a namespace whose labels changed.
func (m mapper) podsOfNamespace(ctx context.Context, namespace client.Object) []unit {
	units, err := m.podsIn(ctx, namespace.GetName(), func(*corev1.Pod, labels.Set) bool { return true })
	return quietly(ctx, "the pods of a namespace", units, err)
}

// policiesOfNamespace finds the NetworkPolicies that select namespaces.
func (m mapper) policiesOfNamespace(ctx context.Context, _ client.Object) []unit {
	list := &networkingv1.NetworkPolicyList{}
	if err := m.cache.List(ctx, list, client.MatchingFields{policiesAcross: acrossKey}, client.UnsafeDisableDeepCopy); err != nil {
		return quietly(ctx, "the network policies that select namespaces", nil, err)
	}
	var units []unit
	for i := range list.Items {
		if convert.ReadPolicy(&list.Items[i]).SelectsNamespaces() {
			units = append(units, ofPolicy(ctx, &list.Items[i])...)
		}
	}
	return units
}

// policiesIn finds the NetworkPolicies of a namespace.
func (m mapper) policiesIn(ctx context.Context, namespace client.Object) []unit {
	list := &networkingv1.NetworkPolicyList{}
	err := m.cache.List(ctx, list, client.InNamespace(namespace.GetName()), client.UnsafeDisableDeepCopy)
	var units []unit
	for i := range list.Items {
		units = append(units, ofPolicy(ctx, &list.Items[i])...)
	}
	return quietly(ctx, "the network policies of a namespace", units, err)
}

// policiesOfPod finds the NetworkPolicies that name a port of a Pod.
func (m mapper) policiesOfPod(ctx context.Context, object client.Object) []unit {
	pod, ok := object.(*corev1.Pod)
	if !ok || !namesPorts(pod) {
		return nil
	}
	set, err := labelsOf(ctx, m.cache, pod.Namespace)
	if err != nil {
		return quietly(ctx, "the network policies of a pod", nil, err)
	}
	found, err := policiesFor(ctx, m.cache, pod.Namespace)
	var units []unit
	for _, policy := range found {
		if m.memory.policyOf(policy).NamesPorts(pod, set) {
			units = append(units, ofPolicy(ctx, policy)...)
		}
	}
	return quietly(ctx, "the network policies of a pod", units, err)
}

func namesPorts(pod *corev1.Pod) bool {
	return len(pod.Spec.Containers)+len(pod.Spec.InitContainers) > 0
}

func labelsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return !maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) }}
}

// loggingChanged admits namespaces whose annotation about logging has changed, and those that appear.
func loggingChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetAnnotations()[midonetv1.AnnotationACLLogging] != e.ObjectNew.GetAnnotations()[midonetv1.AnnotationACLLogging]
	}}
}

// appearsOrDisappears admits objects that are created, that begin to be deleted, or have been.
func appearsOrDisappears() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero()
	}}
}

// later admits what the predicate admits and is not of the first list: those come automatically.
func later(admits predicate.Predicate) predicate.Predicate {
	return predicate.And(admits, predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }})
}

func onlyUpdates(admits predicate.Predicate) predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, UpdateFunc: admits.Update,
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}
