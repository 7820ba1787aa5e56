// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"

	"groundskeeper.io/groundskeeper/test/ovnserver"
)

// node is one with a chassis.
type node struct {
	name    string
	podCIDR netip.Prefix
	// address is that of its end of the tunnels.
	address string
}

var nodes = []node{
	{"node-a", netip.MustParsePrefix("10.1.0.0/24"), "172.31.0.1"},
	{"node-b", netip.MustParsePrefix("10.1.1.0/24"), "172.31.0.2"},
}

// The networks of all Pods, and of the cluster IPs of Services.
const (
	podNetwork     = "10.1.0.0/16"
	serviceNetwork = "10.0.0.0/24"
)

// firstHost and lastHost are the last byte of the first and of the last address of a podCIDR that Pods get.
const firstHost, lastHost = 10, 250

// kubelets play those of the nodes.
type kubelets struct {
	t         testing.TB
	clients   kubernetes.Interface
	directory string
	// reason is why there are no namespaces, nil if there are.
	reason  error
	chassis map[string]*ovnserver.Chassis
	guests  guests
}

// guests are the Pods that run, by their uid.
type guests map[types.UID]*guest

type guest struct {
	namespace, name, node string
	address               netip.Addr
	behind                *ovnserver.Interface
	// link is the file that leads to the namespace.
	link string
}

// connectNode connects a node to its switch.
func (k *kubelets) connectNode(n node, chassis *ovnserver.Chassis) error {
	if k.chassis == nil {
		k.chassis = map[string]*ovnserver.Chassis{}
	}
	k.chassis[n.name] = chassis
	router := n.podCIDR.Addr().Next()
	own := router.Next()
	chassis.ConnectSelf(k.t, "k8s-"+n.name, mac(own), netip.PrefixFrom(own, n.podCIDR.Bits()).String(), router.String(), podNetwork, serviceNetwork)
	return k.link(filepath.Join("nodes", n.name), chassis.Path())
}

// link makes a file that leads to a namespace.
func (k *kubelets) link(name, namespace string) error {
	path := filepath.Join(k.directory, name)
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(namespace, path))
}

// mac derives the MAC address of a port.
func mac(address netip.Addr) string {
	octets := address.As4()
	return fmt.Sprintf("0a:58:%02x:%02x:%02x:%02x", octets[0], octets[1], octets[2], octets[3])
}

// registerNodes creates the Nodes unless they exist, and reports that they are ready.
func (k *kubelets) registerNodes(ctx context.Context) error {
	client := k.clients.CoreV1().Nodes()
	for _, n := range nodes {
		cidr := n.podCIDR.String()
		created := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Spec: corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}}}
		if _, err := client.Create(ctx, created, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		status := corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: n.address}, {Type: corev1.NodeHostName, Address: n.name}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Played", LastTransitionTime: metav1.Now()}},
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}, Status: status}
		if _, err := client.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// reconcile runs the Pods of the nodes, and ends those that are deleted.
func (k *kubelets) reconcile(ctx context.Context, lister listers.PodLister) error {
	pods, err := lister.List(labels.Everything())
	if err != nil {
		return err
	}
	pods = slices.DeleteFunc(pods, func(pod *corev1.Pod) bool {
		return pod.Spec.HostNetwork || !slices.ContainsFunc(nodes, func(n node) bool { return n.name == pod.Spec.NodeName })
	})
	for uid := range maps.Keys(k.guests) {
		if !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool { return pod.UID == uid && running(pod) }) {
			k.end(uid)
		}
	}
	var failures []error
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil:
			options := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}
			if err := k.clients.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, options); !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
				failures = append(failures, err)
			}
		case running(pod):
			failures = append(failures, k.run(ctx, pod, pods))
		}
	}
	return errors.Join(failures...)
}

// running reports whether a Pod has to run.
func running(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// run gives a Pod an address and an interface, and then reports it.
func (k *kubelets) run(ctx context.Context, pod *corev1.Pod, others []*corev1.Pod) error {
	g := k.guests[pod.UID]
	if g == nil {
		var err error
		if g, err = k.begin(pod, others); err != nil {
			return fmt.Errorf("pod %s/%s: %w", pod.Namespace, pod.Name, err)
		}
		k.guests[pod.UID] = g
	}
	if pod.Status.PodIP == g.address.String() {
		return nil
	}
	pod = pod.DeepCopy()
	pod.Status = statusOf(pod, g)
	_, err := k.clients.CoreV1().Pods(pod.Namespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil // a newer one is on its way
	}
	return err
}

// begin connects a Pod.
func (k *kubelets) begin(pod *corev1.Pod, others []*corev1.Pod) (*guest, error) {
	address, err := k.assign(pod, others)
	if err != nil {
		return nil, err
	}
	g := &guest{namespace: pod.Namespace, name: pod.Name, node: pod.Spec.NodeName, address: address}
	chassis := k.chassis[g.node]
	if chassis == nil {
		return g, nil
	}
	network := netip.PrefixFrom(address, 24)
	g.behind = chassis.Connect(k.t, pod.Namespace+"_"+pod.Name, mac(address), []string{network.String()}, []string{network.Masked().Addr().Next().String()})
	var ports []string
	for _, c := range pod.Spec.Containers {
		for _, port := range c.Ports {
			if port.Protocol == corev1.ProtocolTCP {
				ports = append(ports, strconv.Itoa(int(port.ContainerPort)))
			}
		}
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	g.behind.Start(k.t, program, append([]string{serveCommand, pod.Name}, ports...)...)
	g.link = filepath.Join("pods", pod.Namespace, pod.Name)
	return g, k.link(g.link, g.behind.Path())
}

// assign returns the address of a Pod: the one that it has, or one that no other Pod has.
func (k *kubelets) assign(pod *corev1.Pod, others []*corev1.Pod) (netip.Addr, error) {
	if address, err := netip.ParseAddr(pod.Status.PodIP); err == nil && address.Is4() {
		return address, nil
	}
	taken := map[string]bool{}
	for _, other := range others {
		taken[other.Status.PodIP] = true
	}
	for _, g := range k.guests {
		taken[g.address.String()] = true
	}
	i := slices.IndexFunc(nodes, func(n node) bool { return n.name == pod.Spec.NodeName })
	octets := nodes[i].podCIDR.Addr().As4()
	for last := byte(firstHost); last <= lastHost; last++ {
		octets[3] = last
		if address := netip.AddrFrom4(octets); !taken[address.String()] {
			return address, nil
		}
	}
	return netip.Addr{}, fmt.Errorf("no address of %s is free", nodes[i].podCIDR)
}

// statusOf is the status of a Pod that runs.
func statusOf(pod *corev1.Pod, g *guest) corev1.PodStatus {
	status, now := *pod.Status.DeepCopy(), metav1.Now()
	status.Phase, status.StartTime = corev1.PodRunning, &now
	status.PodIP, status.PodIPs = g.address.String(), []corev1.PodIP{{IP: g.address.String()}}
	status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
		{Type: corev1.ContainersReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
	}
	status.ContainerStatuses = nil
	for _, c := range pod.Spec.Containers {
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: true, Started: new(true),
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		})
	}
	return status
}

// end disconnects a Pod.
func (k *kubelets) end(uid types.UID) {
	g := k.guests[uid]
	delete(k.guests, uid)
	if g.behind != nil {
		g.behind.Disconnect(k.t)
		_ = os.Remove(filepath.Join(k.directory, g.link)) // another Pod of that name replaces it
	}
}

// page describes what runs.
func (k *kubelets) page(server *ovnserver.Server) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Northbound database  %s\nSouthbound database  %s\n", server.Endpoint(), server.SouthboundEndpoints()[0])
	if k.reason != nil {
		fmt.Fprintf(&b, "\nThe chassis have no datapath, and Pods no namespaces: %v. ovn-trace shows the way of packets.\n", k.reason)
	}
	fmt.Fprintf(&b, "\nNodes\n")
	for _, n := range nodes {
		fmt.Fprintf(&b, "  %-30s %-12s %s\n", n.name, n.podCIDR, k.enter(k.chassis[n.name] != nil, filepath.Join("nodes", n.name)))
	}
	fmt.Fprintf(&b, "\nPods\n")
	for _, g := range slices.SortedFunc(maps.Values(k.guests), func(a, b *guest) int { return a.address.Compare(b.address) }) {
		fmt.Fprintf(&b, "  %-30s %-12s %s\n", g.namespace+"/"+g.name, g.address, k.enter(g.behind != nil, g.link))
	}
	return b.String()
}

// enter is how a command is run in a namespace.
func (k *kubelets) enter(exists bool, link string) string {
	if !exists {
		return ""
	}
	return "nsenter --net=" + filepath.Join(k.directory, link) + " COMMAND"
}
