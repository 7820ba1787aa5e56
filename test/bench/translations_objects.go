// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

const (
	translatedNodes     = 20
	endpointsPerService = 10
	// nodeBits is the length of a node's range of pod addresses.
	nodeBits = 20
)

// translatedObjects makes the objects of a network, and counts what they are to become.
type translatedObjects struct {
	kube kubernetes.Interface
	fake *fakePages
	// services is also how many pods there are.
	services int
	config   convert.Config

	mu    sync.Mutex
	count tally
}

// tally is a number of Translations, and of the backend resources that they list.
type tally struct{ translations, resources int }

// defaultConversion is how objects are converted by default.
func defaultConversion() convert.Config {
	var defaults configv1alpha1.TranslationConfiguration
	configv1alpha1.SetDefaults_TranslationConfiguration(&defaults)
	return convert.Config{Tenant: defaults.Tenant, TunnelZoneName: defaults.TunnelZoneName, ServiceTypes: defaults.ServiceTypes,
		NodeAddressTypes: defaults.OVN.NodeAddressTypes}
}

// present counts what every cluster has: what there is once, and the Service of its API server.
func (o *translatedObjects) present(ctx context.Context) (tally, error) {
	var service *corev1.Service
	err := wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (_ bool, err error) {
		service, err = o.kube.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, "kubernetes", metav1.GetOptions{})
		return err == nil, client.IgnoreNotFound(err) // kube-apiserver makes it a moment after its start
	})
	if err != nil {
		return tally{}, err
	}
	err = errors.Join(o.wants("the cluster", convert.Globals(o.config)), o.wants("service kubernetes", convert.Service(service, o.config)))
	return o.taken(), err
}

// taken returns what was counted since the last time.
func (o *translatedObjects) taken() tally {
	o.mu.Lock()
	defer o.mu.Unlock()
	count := o.count
	o.count = tally{}
	return count
}

// create makes nodes, services with endpoints, and pods.
func (o *translatedObjects) create(ctx context.Context) (tally, error) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchNamespace}}
	if _, err := o.kube.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
		return tally{}, err
	}
	nodes := make([]*corev1.Node, translatedNodes)
	err := each(len(nodes), func(i int) (err error) {
		nodes[i], err = o.node(ctx, i)
		return err
	})
	if err != nil {
		return tally{}, err
	}
	if err := each(o.services, func(i int) error { return o.service(ctx, i) }); err != nil {
		return tally{}, err
	}
	err = each(o.services, func(i int) error { return o.pod(ctx, i, nodes[i%translatedNodes]) })
	return o.taken(), err
}

// wants counts what an object becomes. Each of a benchmark becomes something.
func (o *translatedObjects) wants(name string, result convert.Result) error {
	if result.Waiting != nil || len(result.Skipped) > 0 || len(result.Translations) == 0 {
		return fmt.Errorf("%s has no translation: %+v", name, result)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count.translations += len(result.Translations)
	for i := range result.Translations {
		o.count.resources += len(result.Translations[i].Resources)
	}
	return nil
}

// node makes a node and its host, and returns it as it will be when it is annotated.
func (o *translatedObjects) node(ctx context.Context, i int) (*corev1.Node, error) {
	name := nodeName(i)
	var host struct {
		ID string `json:"id"`
	}
	if err := o.fake.request(ctx, http.MethodPut, "hosts/"+name, nil, &host); err != nil {
		return nil, err
	}
	node, err := createNode(ctx, o.kube, i)
	if err != nil {
		return nil, err
	}
	node.Annotations = map[string]string{midonetv1.AnnotationHostID: host.ID, midonetv1.AnnotationTunnelEndpointIP: node.Status.Addresses[0].Address}
	return node, o.wants("node "+name, convert.Node(node, o.config))
}

// createNode makes the i-th node.
func createNode(ctx context.Context, kube kubernetes.Interface, i int) (*corev1.Node, error) {
	pods := netip.PrefixFrom(podAddress(i, 0), nodeBits).String()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName(i)}, Spec: corev1.NodeSpec{PodCIDR: pods, PodCIDRs: []string{pods}}}
	node, err := kube.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("192.0.2.%d", i+1)}}
	return kube.CoreV1().Nodes().UpdateStatus(ctx, node, metav1.UpdateOptions{})
}

// service makes a service of one port, and a slice with pods as its endpoints.
func (o *translatedObjects) service(ctx context.Context, i int) error {
	service, slice, err := createService(ctx, o.kube, i, o.services)
	if err != nil {
		return err
	}
	return o.wants("service "+service.Name,
		convert.Join(convert.Service(service, o.config), convert.Endpoints(service, []*discoveryv1.EndpointSlice{slice}, o.config)))
}

// createService makes the i-th service of a network with that many pods.
func createService(ctx context.Context, kube kubernetes.Interface, i, pods int) (*corev1.Service, *discoveryv1.EndpointSlice, error) {
	service, slice := benchService(i, pods)
	service, err := kube.CoreV1().Services(benchNamespace).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return nil, nil, err
	}
	slice, err = kube.DiscoveryV1().EndpointSlices(benchNamespace).Create(ctx, slice, metav1.CreateOptions{})
	return service, slice, err
}

// benchService returns the i-th service of a network with that many pods, and a slice with some of the pods.
func benchService(i, pods int) (*corev1.Service, *discoveryv1.EndpointSlice) {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "service-" + strconv.Itoa(i)}}
	service.Spec.Type = corev1.ServiceTypeClusterIP
	service.Spec.Ports = []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}}
	slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	slice.Namespace, slice.Name = service.Namespace, service.Name
	slice.Labels = map[string]string{discoveryv1.LabelServiceName: service.Name}
	slice.Ports = []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}}
	for k := range endpointsPerService {
		pod := (i*endpointsPerService + k) % max(pods, endpointsPerService)
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{podIP(pod)},
			Conditions: discoveryv1.EndpointConditions{Ready: new(true)},
		})
	}
	return service, slice
}

// pod makes a pod that runs on a node.
func (o *translatedObjects) pod(ctx context.Context, i int, node *corev1.Node) error {
	pod, err := createPod(ctx, o.kube, i, node.Name)
	if err != nil {
		return err
	}
	return o.wants("pod "+pod.Name, convert.Pod(pod, node, o.config))
}

// createPod makes the i-th pod, which runs on a node.
func createPod(ctx context.Context, kube kubernetes.Interface, i int, node string) (*corev1.Pod, error) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "pod-" + strconv.Itoa(i)}}
	pod.Spec = corev1.PodSpec{
		NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}}, AutomountServiceAccountToken: new(false),
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
	pod, err := kube.CoreV1().Pods(benchNamespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return nil, err
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, podIP(i), []corev1.PodIP{{IP: podIP(i)}}
	return kube.CoreV1().Pods(benchNamespace).UpdateStatus(ctx, pod, metav1.UpdateOptions{})
}

// podIP returns the address of the i-th pod, which runs on the node i modulo their number. The first few of a node's range
// are taken.
func podIP(i int) string { return podAddress(i%translatedNodes, i/translatedNodes+10).String() }

// podAddress returns an address in a node's range of pod addresses.
func podAddress(node, n int) netip.Addr {
	const first = 100<<24 | 64<<16 // 100.64.0.0/10
	var address [4]byte
	binary.BigEndian.PutUint32(address[:], uint32(first+node<<(32-nodeBits)+n))
	return netip.AddrFrom4(address)
}
