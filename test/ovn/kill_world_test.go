// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/ovnbackend"
	"groundskeeper.io/groundskeeper/pkg/ovn"
	"groundskeeper.io/groundskeeper/pkg/ovsdb"
	"groundskeeper.io/groundskeeper/test/ovnserver"
	"groundskeeper.io/groundskeeper/test/plane"
	"groundskeeper.io/groundskeeper/test/support/planetest"
)

// storm is a control plane whose controller manager translates to a real OVN.
type storm struct {
	t       *testing.T
	c       client.Client
	manager *plane.Process
	server  *ovnserver.Server
	// northbound is a client of the database, and undisturbed one of the database of twin.
	northbound, undisturbed *ovsdb.Client
	// twin has what the same objects become without a control plane and without failures.
	twin *world
	// writes counts the rows of Groundskeeper's tables that changed.
	writes atomic.Int64
	// foreign are the rows of another client.
	foreign map[string]string
}

// newStorm starts a plane without objects. The manager takes over quickly from one that was killed, yet keeps its Lease on a busy
// machine, and gives up on the database quickly.
func newStorm(t *testing.T, o ovnserver.Options) *storm {
	t.Helper()
	s := &storm{t: t, server: ovnserver.Start(t, o), twin: newWorldWith(t, ovnserver.Options{})}
	s.northbound, s.undisturbed = clientOf(t, s.server), clientOf(t, s.twin.server)
	w := planetest.New(t, plane.Options{APIServers: 1, Managers: 1, SharedEtcd: true, ManagerConfig: write(t, fmt.Sprintf(`
apiVersion: config.groundskeeper.io/v1alpha1
kind: ControllerManagerConfiguration
log: {level: debug}
leaderElection: {leaseDuration: 8s, renewDeadline: 6s, retryPeriod: 250ms}
controllers:
  translation:
    tenant: %s
    backend: ovn
    push: {driftInterval: 2s}
    ovn: {timeout: 1500ms, endpoints: [%s]}
`, tenant, "'"+strings.Join(s.server.Endpoints(), "','")+"'"))})
	s.c, s.manager = w.Client, w.Plane.Managers[0]
	watched := ovsdb.Watched{}
	for _, kind := range ovn.Kinds() {
		watched[kind.Table] = kind.Stored()
	}
	w.Go(func() {
		_ = s.northbound.Monitor(t.Context(), watched, func(changes []ovsdb.Change) { s.writes.Add(int64(len(changes))) }, func() {})
	})
	return s
}

// clientOf returns a client of a Northbound database.
func clientOf(t *testing.T, server *ovnserver.Server) *ovsdb.Client {
	t.Helper()
	c, err := ovnbackend.NewClient(configv1alpha1.OVNConfiguration{Endpoints: server.Endpoints(), Timeout: &metav1.Duration{Duration: 10 * time.Second}}, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// steps are the changes after which the plane has the objects, in any order.
func (s *storm) steps(objects cluster) []func() {
	s.t.Helper()
	var steps []func()
	wanted := map[string]bool{}
	put := func(object client.Object, put func()) {
		wanted[keyOf(object)] = true
		steps = append(steps, put)
	}
	for _, want := range objects.nodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: want.Name}}
		spec, status := *want.Spec.DeepCopy(), *want.Status.DeepCopy()
		put(node, func() {
			s.put(node, func() { node.Spec.PodCIDR, node.Spec.PodCIDRs = spec.PodCIDR, spec.PodCIDRs })
			s.putStatus(node, func() { node.Status.Addresses = status.Addresses })
		})
	}
	for _, want := range objects.pods {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
		labels, on, status := maps.Clone(want.Labels), want.Spec.NodeName, *want.Status.DeepCopy()
		put(pod, func() {
			if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(pod), pod); err == nil && pod.Spec.NodeName != on {
				s.delete(pod) // another one of the same name
				pod = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
			}
			s.put(pod, func() {
				pod.Labels = labels
				if pod.UID == "" {
					pod.Spec = corev1.PodSpec{
						NodeName: on, Containers: []corev1.Container{{Name: "c", Image: "none"}}, AutomountServiceAccountToken: new(false),
						Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					}
				}
			})
			s.putStatus(pod, func() {
				pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = status.Phase, status.PodIP, status.PodIPs
			})
		})
	}
	for want, slices := range objects.services {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
		spec := *want.Spec.DeepCopy()
		put(service, func() {
			s.put(service, func() { service.Spec.ClusterIP, service.Spec.Ports = spec.ClusterIP, spec.Ports })
		})
		for _, of := range slices {
			slice := of.DeepCopy()
			slice.Name = want.Name + "-" + strings.ToLower(of.Name)
			slice.Labels = map[string]string{discoveryv1.LabelServiceName: want.Name}
			ports, endpoints := slice.Ports, slice.Endpoints
			put(slice, func() { s.put(slice, func() { slice.Ports, slice.Endpoints = ports, endpoints }) })
		}
	}
	for _, want := range objects.policies {
		policy := &networkingv1.NetworkPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: want.Namespace, Name: want.Name}}
		spec := *want.Spec.DeepCopy()
		put(policy, func() { s.put(policy, func() { policy.Spec = spec }) })
	}
	for _, object := range s.objects() {
		if !wanted[keyOf(object)] {
			steps = append(steps, func() { s.delete(object) })
		}
	}
	return steps
}

func keyOf(object client.Object) string {
	return fmt.Sprintf("%s %s", reflect.TypeOf(object), client.ObjectKeyFromObject(object))
}

// lists reads all objects that are translated.
func (s *storm) lists() (nodes corev1.NodeList, pods corev1.PodList, services corev1.ServiceList, endpoints discoveryv1.EndpointSliceList, policies networkingv1.NetworkPolicyList) {
	s.t.Helper()
	for _, list := range []client.ObjectList{&nodes, &pods, &services, &endpoints, &policies} {
		s.must(s.c.List(s.t.Context(), list))
	}
	return nodes, pods, services, endpoints, policies
}

// objects are those of the test that exist: every plane has the Services kubernetes and of Groundskeeper.
func (s *storm) objects() []client.Object {
	s.t.Helper()
	nodes, pods, services, endpoints, policies := s.lists()
	var all []client.Object
	for _, o := range pointersTo(nodes.Items) {
		all = append(all, o)
	}
	for _, o := range pointersTo(pods.Items) {
		all = append(all, o)
	}
	for _, o := range pointersTo(services.Items) {
		all = append(all, o)
	}
	for _, o := range pointersTo(endpoints.Items) {
		all = append(all, o)
	}
	for _, o := range pointersTo(policies.Items) {
		all = append(all, o)
	}
	return slices.DeleteFunc(all, func(o client.Object) bool {
		return o.GetName() == "kubernetes" || o.GetNamespace() != "" && o.GetNamespace() != metav1.NamespaceDefault
	})
}

func pointersTo[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// put creates an object, or changes it.
func (s *storm) put(object client.Object, change func()) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := controllerutil.CreateOrUpdate(s.t.Context(), s.c, object, func() error { change(); return nil })
		return err
	}))
}

// putStatus changes the status of an object.
func (s *storm) putStatus(object client.Object, change func()) {
	s.t.Helper()
	s.must(retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		if err := s.c.Get(s.t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		before := object.DeepCopyObject()
		if change(); reflect.DeepEqual(before, object) {
			return nil
		}
		return s.c.Status().Update(s.t.Context(), object)
	}))
}

func (s *storm) delete(object client.Object) {
	s.t.Helper()
	s.must(client.IgnoreNotFound(s.c.Delete(s.t.Context(), object, client.GracePeriodSeconds(0))))
}
