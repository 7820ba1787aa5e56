// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// podsByAddress is the index that finds Pods by their Node with an address or MAC address.
const podsByAddress = ControllerName + "/podAddress"

func podAddressKeys(object client.Object) []string {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return nil
	}
	keys := convert.PodKeys(pod)
	for i := range keys {
		keys[i] = onNode(pod, keys[i])
	}
	return keys
}

// onNode returns the key of an address on the switch of a Pod's Node.
func onNode(pod *corev1.Pod, address string) string { return pod.Spec.NodeName + "/" + address }

// takenFrom returns the addresses and MAC addresses of a Pod that an older one on its Node has, with the name of that.
func (r *reconciler) takenFrom(ctx context.Context, pod *corev1.Pod) (map[string]string, error) {
	var taken map[string]string
	for _, address := range convert.PodKeys(pod) {
		others, err := podsWith(ctx, r.client, onNode(pod, address))
		if err != nil {
			return nil, err
		}
		if owner := holderOf(pod, others); owner != nil {
			if taken == nil {
				taken = map[string]string{}
			}
			taken[address] = "the older pod " + owner.Namespace + "/" + owner.Name
		}
	}
	return taken, nil
}

// holderOf returns the oldest of the Pods with an address of a Pod if it is older than that; nil if there is none. A Pod that has ended
// has no address any more, and one that is being deleted keeps it until then.
func holderOf(pod *corev1.Pod, others []corev1.Pod) *corev1.Pod {
	holder := pod
	for i := range others {
		if other := &others[i]; convert.HasInterface(other) && isOlder(other, holder) {
			holder = other
		}
	}
	if holder.Namespace == pod.Namespace && holder.Name == pod.Name {
		return nil
	}
	return holder
}

// podsWith finds Pods in a cache by a key of podsByAddress.
func podsWith(ctx context.Context, cache client.Reader, key string) ([]corev1.Pod, error) {
	found := &corev1.PodList{}
	if err := cache.List(ctx, found, client.MatchingFields{podsByAddress: key}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the pods with address %s: %w", key, err)
	}
	return found.Items, nil
}

// podsAt finds the other Pods that have an address of a Pod. One that is changed arrives in its previous state, too.
func (m mapper) podsAt(ctx context.Context, object client.Object) []unit {
	var units []unit
	for _, key := range podAddressKeys(object) {
		found, err := podsWith(ctx, m.cache, key)
		for i := range found {
			if other := &found[i]; other.Namespace != object.GetNamespace() || other.Name != object.GetName() {
				units = append(units, ofPod(ctx, other)...)
			}
		}
		units = quietly(ctx, "pods with the address of a pod", units, err)
	}
	return units
}
