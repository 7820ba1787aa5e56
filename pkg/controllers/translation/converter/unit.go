// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// unit is what one reconciliation is about: an owner with all its Translations. The zero unit is that of the globals.
type unit struct {
	// kind is one of convert's.
	kind string
	// namespace is empty for a Node.
	namespace, name string
}

// String names the unit in logs.
func (u unit) String() string {
	switch {
	case u.kind == "":
		return "globals"
	case u.namespace == "":
		return u.kind + " " + u.name
	default:
		return u.kind + " " + u.namespace + "/" + u.name
	}
}

func (u unit) key() client.ObjectKey {
	return client.ObjectKey{Namespace: u.namespace, Name: u.name}
}

// useQueue requests the one reconciliation over the globals that no event requests, and keeps the queue for those that a
// reconciliation requests. The controller calls it before its first reconciliation.
func (r *reconciler) useQueue(_ context.Context, queue workqueue.TypedRateLimitingInterface[unit]) error {
	r.enqueue = queue.Add
	queue.Add(unit{})
	return nil
}

func ofNode(_ context.Context, node client.Object) []unit {
	return []unit{{kind: convert.KindNode, name: node.GetName()}}
}

func ofPod(_ context.Context, pod client.Object) []unit {
	return []unit{{kind: convert.KindPod, namespace: pod.GetNamespace(), name: pod.GetName()}}
}

func ofService(_ context.Context, service client.Object) []unit {
	return []unit{{kind: convert.KindService, namespace: service.GetNamespace(), name: service.GetName()}}
}

// ofSlice finds the Service of an EndpointSlice. One that moved to another Service arrives in its previous state, too.
func ofSlice(_ context.Context, slice client.Object) []unit {
	if name := slice.GetLabels()[discoveryv1.LabelServiceName]; name != "" {
		return []unit{{kind: convert.KindService, namespace: slice.GetNamespace(), name: name}}
	}
	return nil
}

// ofTranslation finds the owner of a Translation, and the Service of one that Endpoints own. One that lost its owner arrives in its
// previous state, too.
func ofTranslation(_ context.Context, translation client.Object) []unit {
	if _, global := translation.GetLabels()[midonetv1.LabelGlobal]; global {
		return []unit{{}}
	}
	var units []unit
	for _, ref := range translation.GetOwnerReferences() {
		if ref.APIVersion != convert.GroupVersionOf(ref.Kind).String() {
			continue
		}
		switch ref.Kind {
		case convert.KindNode, convert.KindNamespace:
			units = append(units, unit{kind: ref.Kind, name: ref.Name})
		case convert.KindPod, convert.KindService, convert.KindNetworkPolicy:
			units = append(units, unit{kind: ref.Kind, namespace: translation.GetNamespace(), name: ref.Name})
		case kindEndpoints:
			units = append(units, unit{kind: convert.KindService, namespace: translation.GetNamespace(), name: ref.Name})
		}
	}
	return units
}

// mapper finds what an object does not name.
type mapper struct {
	cache  client.Reader
	memory *memory
}

// podsOf finds the Pods that run on a Node: they wait for its host-id.
func (m mapper) podsOf(ctx context.Context, node client.Object) []unit {
	pods := &corev1.PodList{}
	if err := m.cache.List(ctx, pods, client.MatchingFields{podsByNode: node.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "cannot find the pods of a node", "node", node.GetName())
		return nil
	}
	units := make([]unit, 0, len(pods.Items))
	for i := range pods.Items {
		units = append(units, ofPod(ctx, &pods.Items[i])...)
	}
	return units
}

// ownsAs reports whether a reference is to an object of that kind and name, whatever its uid.
func ownsAs(ref metav1.OwnerReference, kind, name string) bool {
	return ref.APIVersion == convert.GroupVersionOf(kind).String() && ref.Kind == kind && ref.Name == name
}
