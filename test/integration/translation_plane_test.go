// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/midonet"
	fakemidonet "groundskeeper.io/groundskeeper/test/fakes/midonet"
	"groundskeeper.io/groundskeeper/test/plane"
)

// network is a plane whose objects are translated to a fake of MidoNet. It has no kubelet, so nodes and pods are
// objects only; endpoints are written by the tests.
type network struct {
	*plane.Plane
	t *testing.T
	c client.WithWatch
}

// newNetwork starts one. The drift pass runs every two seconds, and a node may be without its host for as long.
func newNetwork(t *testing.T, change ...func(*plane.Options)) *network {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "manager.yaml")
	if err := os.WriteFile(config, []byte(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
log: {level: debug}
leaderElection: {leaseDuration: 15s, renewDeadline: 10s, retryPeriod: 500ms}
controllers:
  translation:
    nodeGracePeriod: 2s
    push: {driftInterval: 2s}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	options := plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true, MidoNet: true, ManagerConfig: config,
	}
	for _, c := range change {
		c(&options)
	}
	started, err := startAudited(t.Context(), t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &network{Plane: started, t: t, c: clientOf(t, started.Config())}
}

// on returns the network for a subtest.
func (n *network) on(t *testing.T) *network { return &network{Plane: n.Plane, t: t, c: n.c} }

// page queries one of the fake's own pages; out may be nil.
func (n *network) page(method, path string, in, out any) {
	n.t.Helper()
	if err := n.request(n.t.Context(), method, path, in, out); err != nil {
		n.t.Fatal(err)
	}
}

func (n *network) request(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, n.MidoNetPages()+path, body)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = errors.New(string(data))
	}
	if err == nil && out != nil {
		err = json.Unmarshal(data, out)
	}
	if err != nil {
		return fmt.Errorf("%s %s of the fake: %w", method, path, err)
	}
	return nil
}

// traffic is what the fake was requested.
type traffic struct {
	Counts []struct {
		fakemidonet.Count
		Requests int `json:"requests"`
	} `json:"counts"`
	Rejected []fakemidonet.Rejection `json:"refused"`
}

// requests returns what the fake was requested since the last discard.
func (n *network) requests() traffic {
	n.t.Helper()
	var seen traffic
	n.page(http.MethodGet, "requests", nil, &seen)
	return seen
}

func (n *network) clearRequests() { n.t.Helper(); n.page(http.MethodDelete, "requests", nil, nil) }

// by counts the requests with a method; logins are none.
func (t traffic) by(methods ...string) int {
	total := 0
	for _, c := range t.Counts {
		for _, method := range methods {
			if c.Method == method && c.Path != "/login" {
				total += c.Requests
			}
		}
	}
	return total
}

// manually returns a client of the fake, for changes that no Translation requests.
func (n *network) manually() *midonet.Client {
	n.t.Helper()
	username, file := n.MidoNetLogin()
	password, err := os.ReadFile(file)
	if err != nil {
		n.t.Fatal(err)
	}
	c, err := midonet.New(midonet.Options{URL: n.MidoNetURL(), Credentials: midonet.Credentials{Username: username, Password: string(bytes.TrimSpace(password))}})
	if err != nil {
		n.t.Fatal(err)
	}
	return c
}

func (n *network) create(objects ...client.Object) {
	n.t.Helper()
	for _, object := range objects {
		if err := n.c.Create(n.t.Context(), object); err != nil {
			n.t.Fatal(err)
		}
	}
}

// edit reads an object, changes it and writes it.
func edit[T client.Object](n *network, object T, how func(T)) {
	n.t.Helper()
	eventually(n.t, func(ctx context.Context) error {
		if err := n.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		return n.c.Update(ctx, object)
	})
}

// editStatus does the same to its status.
func editStatus[T client.Object](n *network, object T, how func(T)) {
	n.t.Helper()
	eventually(n.t, func(ctx context.Context) error {
		if err := n.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		return n.c.Status().Update(ctx, object)
	})
}

func (n *network) delete(objects ...client.Object) {
	n.t.Helper()
	for _, object := range objects {
		if err := n.c.Delete(n.t.Context(), object, client.GracePeriodSeconds(0)); client.IgnoreNotFound(err) != nil {
			n.t.Fatal(err)
		}
	}
}

// namespace makes a namespace of a test's own. It needs no service account: nothing runs in it.
func (n *network) namespace(prefix string) string {
	n.t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: prefix + "-"}}
	n.create(ns)
	return ns.Name
}

// node makes a Node with a range of pod addresses, or several, and an internal address, where they are not empty; the
// fake gets a host of its name.
func (n *network) node(name, podCIDR, address string, more ...string) *corev1.Node {
	n.t.Helper()
	n.page(http.MethodPut, "hosts/"+name, nil, nil)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDR: podCIDR}}
	if podCIDR != "" {
		node.Spec.PodCIDRs = append([]string{podCIDR}, more...)
	}
	n.create(node)
	if address == "" {
		return node
	}
	editStatus(n, node, func(node *corev1.Node) {
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
	})
	return node
}

// pod makes a Pod that runs on a node.
func (n *network) pod(namespace, name, node, ip string) *corev1.Pod {
	n.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "none"}}, AutomountServiceAccountToken: new(false),
			Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
		},
	}
	n.create(pod)
	editStatus(n, pod, func(pod *corev1.Pod) {
		pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	})
	return pod
}

// service makes a Service; endpoints are written manually.
func (n *network) service(namespace, name string, ports ...corev1.ServicePort) *corev1.Service {
	n.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: ports}}
	n.create(service)
	return service
}

func tcp(name string, port int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: port, TargetPort: intstr.FromInt32(port)}
}

// slice makes an EndpointSlice of a Service that has all its ports.
func (n *network) slice(service *corev1.Service, name string, addresses ...string) *discoveryv1.EndpointSlice {
	n.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: service.Namespace, Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for _, port := range service.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &port.Name, Protocol: &port.Protocol, Port: &port.Port})
	}
	for _, address := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	n.create(slice)
	return slice
}

// translations returns all Translations.
func (n *network) translations(ctx context.Context) ([]midonetv1.Translation, error) {
	list := &midonetv1.TranslationList{}
	err := n.c.List(ctx, list)
	return list.Items, err
}

// notSynced complains about a Translation that the backend does not have at present.
func notSynced(t *midonetv1.Translation) error {
	condition := meta.FindStatusCondition(t.Status.Conditions, midonetv1.ConditionSynced)
	switch {
	case !t.DeletionTimestamp.IsZero():
		return fmt.Errorf("translation %s/%s is still on its way out: %+v", t.Namespace, t.Name, t.Status)
	case t.Status.ObservedGeneration != t.Generation || condition == nil || condition.Status != metav1.ConditionTrue:
		return fmt.Errorf("translation %s/%s, generation %d, is not synced: %+v", t.Namespace, t.Name, t.Generation, t.Status)
	}
	return nil
}
