// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	corev1 "k8s.io/api/core/v1"

	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// Kinds of the Translations of a Pod, in addition to its own.
const (
	kindPodMAC = "Pod-MAC"
	kindPodARP = "Pod-ARP"
)

// hasOwnNetwork reports whether a Pod has an interface: it runs somewhere, has not ended, and does not use that of its host.
func hasOwnNetwork(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return pod.Spec.NodeName != "" && !pod.Spec.HostNetwork && !ended
}

// Pod returns what a Pod becomes: a port on the bridge of its Node, bound to its interface. Node is the one that the
// Pod runs on, nil when it is not known. A Pod that runs nowhere, has ended, or uses the network of its host becomes
// nothing. It waits for its Node's host-id; an event of the Node has to bring it back.
func Pod(pod *corev1.Pod, node *corev1.Node, config Config) Result {
	if !hasOwnNetwork(pod) {
		return Result{}
	}
	if node == nil || node.Name != pod.Spec.NodeName {
		return Result{Waiting: problem(ReasonNodeMissing, "node %s is not known", pod.Spec.NodeName)}
	}
	host, missing := hostOf(node)
	if missing != nil {
		return Result{Waiting: missing}
	}
	ids := NewIDs(config.Tenant)
	at, own := ids.bridge(node.Name), ids.ForKey("Pod", pod.Namespace+"/"+pod.Name)
	c := newCollector(OwnerOf(KindPod, pod))
	c.add(KindPod, pod.Name,
		resource("Port", at, &midonet.Port{ID: own.String(), Type: midonet.BridgePort}),
		binding(host, own, InterfaceName(pod.Namespace, pod.Name)))

	address, failed := macOf(pod.Annotations)
	if failed != nil {
		c.skip(*failed)
	}
	if address == nil {
		return c.done()
	}
	c.add(kindPodMAC, pod.Name+"/mac/"+address.key(), macPort(at, *address, own))
	if pod.Status.PodIP == "" {
		return c.done()
	}
	var all []string
	for _, listed := range pod.Status.PodIPs {
		all = append(all, listed.IP)
	}
	ip, failed := firstIPv4("status.podIP", pod.Status.PodIP, all)
	if failed != nil {
		c.skip(*failed)
		return c.done()
	}
	c.add(kindPodARP, pod.Name+"/ip/"+ip.String()+"/"+address.key(), arpEntry(at, ip, *address))
	return c.done()
}
