// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

func TestPodTranslations(t *testing.T) {
	const arp, mac, main = "pod-arp.4.web-0-ip-10.1.0.5-0a580a010005", "pod-mac.4.web-0-mac-0a580a010005", "pod.4.web-0"
	whole := []string{arp, mac, main}
	for name, test := range map[string]struct {
		pod      func(*corev1.Pod)
		node     func(*corev1.Node)
		want     []string
		problems []string
	}{
		"unchanged":    {nil, nil, whole, nil},
		"pending":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending }, nil, whole, nil},
		"unknown":      {func(p *corev1.Pod) { p.Status.Phase = corev1.PodUnknown }, nil, whole, nil},
		"no phase yet": {func(p *corev1.Pod) { p.Status.Phase = "" }, nil, whole, nil},
		"succeeded":    {func(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }, nil, nil, nil},
		"failed":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, nil, nil, nil},
		"host network": {func(p *corev1.Pod) { p.Spec.HostNetwork = true }, nil, nil, nil},
		"no node":      {func(p *corev1.Pod) { p.Spec.NodeName = "" }, nil, nil, nil},
		// A Pod that has terminated needs no host, so that it is deleted immediately.
		"failed, no host-id": {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, func(n *corev1.Node) { n.Annotations = nil }, nil, nil},

		"node without host-id": {nil, func(n *corev1.Node) { n.Annotations = nil }, nil, []string{"waiting: HostIDMissing"}},
		"node without podCIDR": {nil, func(n *corev1.Node) { n.Spec.PodCIDR = "" }, whole, nil},
		"another node":         {nil, func(n *corev1.Node) { n.Name = "node-b" }, nil, []string{"waiting: NodeMissing"}},

		"no MAC address":        {func(p *corev1.Pod) { p.Annotations = nil }, nil, []string{main}, nil},
		"MAC address is broken": {func(p *corev1.Pod) { p.Annotations[midonetv1.AnnotationMACAddress] = "x" }, nil, []string{main}, []string{"InvalidAddress"}},
		"no IP":                 {func(p *corev1.Pod) { p.Status.PodIP = "" }, nil, []string{mac, main}, nil},
		"IPv6":                  {func(p *corev1.Pod) { p.Status.PodIP = "fd00::5" }, nil, []string{mac, main}, []string{"IPv6NotSupported"}},
		"IPv6 first": {func(p *corev1.Pod) {
			p.Status.PodIP, p.Status.PodIPs = "fd00::5", []corev1.PodIP{{IP: "fd00::5"}, {IP: "10.1.0.5"}}
		}, nil, whole, nil},
		"IP is broken":             {func(p *corev1.Pod) { p.Status.PodIP = "10.1.0" }, nil, []string{mac, main}, []string{"InvalidAddress"}},
		"IPv6 without MAC address": {func(p *corev1.Pod) { p.Status.PodIP, p.Annotations = "fd00::5", nil }, nil, []string{main}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			pair := load(t, "pod")
			result := Pod(edited(pair.Pod, test.pod), edited(pair.Node, test.node), settings())
			expect(t, names(result), test.want)
			expect(t, problems(result), test.problems)
		})
	}
	t.Run("node is not known", func(t *testing.T) {
		result := Pod(load(t, "pod").Pod, nil, settings())
		expect(t, names(result), nil)
		expect(t, problems(result), []string{"waiting: NodeMissing"})
	})
}

// TestPodOfAnotherNamespace is another port with another interface, in Translations of its namespace.
func TestPodOfAnotherNamespace(t *testing.T) {
	pair := load(t, "pod")
	pair.Pod.Namespace = "shop"
	result := Pod(pair.Pod, pair.Node, settings())
	expect(t, result.Translations[2].Namespace, "shop")
	ports := resources(t, result, "pod.4.web-0")
	id := NewIDs("midonetkube").ForKey("Pod", "shop/web-0").String()
	expect(t, fields(t, ports[0])["id"], any(id))
	expect(t, fields(t, ports[1])["interfaceName"], any("mido"+sha1Hex("shop/web-0")[:11]))
	expect(t, fields(t, resources(t, result, "pod-mac.4.")[0])["portId"], any(id))
}
