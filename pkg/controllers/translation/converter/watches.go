// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/predicates"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/packed"
)

// Indexes of the caches.
const (
	// podsByNode finds the Pods on a Node.
	podsByNode = ControllerName + "/node"
	// slicesByService finds the EndpointSlices of a Service, within its namespace.
	slicesByService = ControllerName + "/service"
)

// addIndexes adds the indexes to the caches, and for a backend with NetworkPolicies those that only it needs.
func addIndexes(ctx context.Context, indexer client.FieldIndexer, policies bool) error {
	type index struct {
		object client.Object
		name   string
		keys   client.IndexerFunc
	}
	indexes := []index{{&corev1.Pod{}, podsByNode, nodeKey}, {&discoveryv1.EndpointSlice{}, slicesByService, serviceKey}}
	if policies {
		indexes = append(indexes, index{&networkingv1.NetworkPolicy{}, policiesAcross, indexAcross},
			index{&corev1.Service{}, servicesByAddress, addressKeys},
			index{&corev1.Node{}, nodesByAddress, nodeAddressKeys}, index{&corev1.Pod{}, podsByAddress, podAddressKeys})
	}
	for _, index := range indexes {
		if err := indexer.IndexField(ctx, index.object, index.name, index.keys); err != nil {
			return fmt.Errorf("index %T for controller %s: %w", index.object, ControllerName, err)
		}
	}
	return nil
}

func nodeKey(object client.Object) []string {
	if pod, ok := object.(*corev1.Pod); ok && pod.Spec.NodeName != "" && !pod.Spec.HostNetwork {
		return []string{pod.Spec.NodeName}
	}
	return nil
}

func serviceKey(object client.Object) []string {
	if name := object.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []string{name}
	}
	return nil
}

// changed drops updates of what is not read here, such as the heartbeats of a Node.
func changed() predicate.Predicate {
	return predicates.Changed(func(before, after client.Object) bool {
		return !equality.Semantic.DeepEqual(content(before), content(after))
	})
}

// content returns what is read of an object. Of a Pod, a cache has its labels and ports only if they are read.
func content(object client.Object) client.Object {
	kept := trimmed(object)
	if pod, ok := object.(*corev1.Pod); ok {
		kept = selectedPod(pod)
	}
	kept.SetResourceVersion("")
	return kept
}

// switchChanged admits Nodes whose Pods must be reconciled, because what their ports depend on has changed. At startup, Pods are
// reconciled by their own events, and the deletion of a Node does not affect its Pods.
func switchChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool { return !slices.Equal(switchOf(e.ObjectOld), switchOf(e.ObjectNew)) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// switchOf returns what the ports of Pods on a Node depend on.
func switchOf(object client.Object) []string {
	var all []string
	for _, name := range []string{
		midonetv1.AnnotationHostID, midonetv1.AnnotationOVNChassis, midonetv1.AnnotationOVNGatewayNetwork, midonetv1.AnnotationMACAddress,
	} {
		all = append(all, object.GetAnnotations()[name])
	}
	if node, ok := object.(*corev1.Node); ok {
		all = append(all, node.Spec.PodCIDR)
		all = append(all, node.Spec.PodCIDRs...)
	}
	return all
}

// translationChanged drops status updates, which the pusher writes. At startup, Translations are reconciled by the events of their
// owners.
func translationChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := packed.Metadata(e.ObjectOld), packed.Metadata(e.ObjectNew)
			return before == nil || after == nil ||
				before.GetResourceVersion() == after.GetResourceVersion() ||
				before.GetUID() != after.GetUID() ||
				before.GetGeneration() != after.GetGeneration() ||
				before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() ||
				!maps.Equal(before.GetLabels(), after.GetLabels()) ||
				!slices.Equal(before.GetFinalizers(), after.GetFinalizers()) ||
				!equality.Semantic.DeepEqual(before.GetOwnerReferences(), after.GetOwnerReferences())
		},
	}
}

// atStart lets every object through, and notes the owners among those of the first list.
func (r *reconciler) atStart(of func(context.Context, client.Object) []unit) predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool {
		if e.IsInInitialList {
			r.memory.expect(of(context.Background(), e.Object))
		}
		return true
	}}
}
