// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cloudfake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func (w *world) create(s *corev1.Service) {
	w.t.Helper()
	if _, err := w.cluster.CoreV1().Services(s.Namespace).Create(w.t.Context(), s, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) update(s *corev1.Service) {
	w.t.Helper()
	if _, err := w.cluster.CoreV1().Services(s.Namespace).Update(w.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// freed waits until a Service is without the finalizer.
func (w *world) freed(name string) {
	w.t.Helper()
	eventually(w.t, name+" may go", func() bool { return !slices.Contains(w.service(name).Finalizers, FinalizerService) })
}

func TestService(t *testing.T) {
	w := newWorld(t, service("web")) // is there already
	s := w.served("web")
	balancers := w.cloud.LoadBalancers("demo")
	if len(balancers) != 1 {
		t.Fatalf("load balancers %+v", balancers)
	}
	b := balancers[0]
	if b.Name != "kube_service_k_default_web" || b.Description != "Kubernetes external service default/web from cluster k" || !slices.Equal(b.Tags, []string{b.Name}) {
		t.Errorf("load balancer %+v", b)
	}
	floating := w.cloud.FloatingIPs("demo")
	if len(floating) != 1 || floating[0].Description != "Floating IP for Kubernetes external service default/web from cluster k" || floating[0].PortID != b.VIPPortID ||
		s.Status.LoadBalancer.Ingress[0].IP != floating[0].Address {
		t.Errorf("floating IPs %+v, and the Service reports %+v", floating, s.Status)
	}
	if g := w.groups(); len(g) != 1 || g[0] != "lb-sg-uid-web-default-web: Security Group for default/web Service LoadBalancer in cluster k" {
		t.Errorf("security groups %q", g)
	}
	if s.Annotations[annotationLoadBalancerID] != b.ID || !slices.Contains(s.Finalizers, FinalizerService) {
		t.Errorf("Service %+v", s.ObjectMeta)
	}
	end(s)
	w.update(s)
	w.freed("web")
	if left := len(w.cloud.LoadBalancers("demo")) + len(w.cloud.FloatingIPs("demo")) + len(w.groups()); left != 0 {
		t.Errorf("%d objects are left in the cloud", left)
	}
	order := w.deletions()
	if len(order) != 3 || !strings.Contains(order[0], "/floatingips/") || !strings.Contains(order[1], "/loadbalancers/") || !strings.Contains(order[2], "/security-groups/") {
		t.Errorf("deleted in this order: %q", order)
	}
}

// groups returns the security groups except for the project's default.
func (w *world) groups() (all []string) {
	for _, g := range w.cloud.SecurityGroups("demo") {
		if g.Name != "default" {
			all = append(all, g.Name+": "+g.Description)
		}
	}
	return all
}

// deletions returns the deletions that the cloud was requested.
func (w *world) deletions() (all []string) {
	for _, r := range w.cloud.Requests() {
		if r.Method == http.MethodDelete {
			all = append(all, r.Path)
		}
	}
	return all
}

func TestServiceKeepsItsFloatingIP(t *testing.T) {
	w := newWorld(t, service("web", func(s *corev1.Service) { s.Annotations = map[string]string{annotationKeepFloatingIP: "true"} }))
	s := w.served("web")
	end(s)
	w.update(s)
	w.freed("web")
	if n := len(w.cloud.FloatingIPs("demo")); n != 1 || len(w.cloud.LoadBalancers("demo")) != 0 {
		t.Errorf("%d floating IPs and %d load balancers are left", n, len(w.cloud.LoadBalancers("demo")))
	}
}

func TestFloatingIPOfAnotherOwner(t *testing.T) {
	w := newWorld(t, service("web"))
	s := w.served("web")
	made := w.cloud.FloatingIPs("demo")[0]
	w.cloud.RemoveFloatingIP(made.ID)
	made.ID, made.Description = "", "manually"
	id := w.cloud.AddFloatingIPFor("demo", made)
	end(s)
	w.update(s)
	w.freed("web")
	if left := w.cloud.FloatingIPs("demo"); len(left) != 1 || left[0].ID != id {
		t.Errorf("floating IPs left: %+v", left)
	}
}

func TestServiceOfAnotherType(t *testing.T) {
	w := newWorld(t, service("web"))
	s := w.served("web")
	s.Spec.Type = corev1.ServiceTypeClusterIP
	w.update(s)
	w.freed("web")
	if n := len(w.cloud.LoadBalancers("demo")); n != 0 {
		t.Errorf("%d load balancers are left", n)
	}
}

func TestForeignServices(t *testing.T) {
	w := newWorld(t, service("classy", func(s *corev1.Service) { s.Spec.LoadBalancerClass = new("example.com/other") }),
		service("inner", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeClusterIP }))
	w.create(service("web"))
	w.served("web")
	if n := len(w.cloud.LoadBalancers("demo")); n != 1 {
		t.Errorf("%d load balancers, want only that of web", n)
	}
}

// TestSharedLoadBalancer lets a Service of another cluster use the load balancer of the first one.
func TestSharedLoadBalancer(t *testing.T) {
	w := newWorld(t, service("web"))
	web := w.served("web")
	id := w.cloud.LoadBalancers("demo")[0].ID
	const other = "kube_service_other_default_api"
	at := w.cloud.AddListener(id, cloudfake.Listener{Protocol: "TCP", Port: 443, Tags: []string{other}})
	w.cloud.ChangeLoadBalancer(id, func(b *cloudfake.LoadBalancer) { b.Tags = append(b.Tags, other) })
	w.create(service("shares", func(s *corev1.Service) {
		s.Annotations, s.Spec.Ports[0].Port = map[string]string{annotationLoadBalancerID: id}, 8080
	}))
	w.create(service("collides", func(s *corev1.Service) { s.Annotations = map[string]string{annotationLoadBalancerID: id} }))
	shares := w.served("shares")
	w.instructed("is another Service's")
	if w.service("collides").Status.LoadBalancer.Ingress != nil {
		t.Error("a Service has the port of another one")
	}
	if err := w.cluster.CoreV1().Services("default").Delete(t.Context(), "collides", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	tags := func() []string { return w.cloud.LoadBalancers("demo")[0].Tags }
	if got := tags(); !slices.Equal(got, []string{"kube_service_k_default_web", other, "kube_service_k_default_shares"}) {
		t.Errorf("tags %q", got)
	}
	for _, s := range []*corev1.Service{shares, web} {
		end(s)
		w.update(s)
		w.freed(s.Name)
	}
	if got := tags(); !slices.Equal(got, []string{other}) {
		t.Errorf("tags %q", got)
	}
	left, err := w.listeners(t.Context(), &loadBalancer{ID: id})
	if err != nil || len(left) != 1 || left[0].ID != at {
		t.Errorf("listeners %+v, %v", left, err)
	}
	if n := len(w.cloud.FloatingIPs("demo")); n != 1 {
		t.Errorf("%d floating IPs, want that of the load balancer", n)
	}
	mine := w.cloud.AddLoadBalancer("demo", cloudfake.LoadBalancer{Name: "manually", VIP: "10.0.0.77", VIPSubnetID: w.config.SubnetID})
	w.create(service("borrows", func(s *corev1.Service) { s.Annotations = map[string]string{annotationLoadBalancerID: mine} }))
	borrows := w.served("borrows")
	end(borrows)
	w.update(borrows)
	w.freed("borrows")
	if n := len(w.cloud.LoadBalancers("demo")); n != 2 {
		t.Errorf("%d load balancers, want the shared one and the one made manually", n)
	}
	if pools, err := find[named](t.Context(), w.Standin.cloud, pathPools, "pools", nil); err != nil || len(pools) != 0 {
		t.Errorf("pools left: %+v, %v", pools, err)
	}
}

func TestGroupIsRetained(t *testing.T) {
	w := newWorld(t, service("web"))
	s := w.served("web")
	w.cloud.RemoveLoadBalancer(w.cloud.LoadBalancers("demo")[0].ID)
	end(s)
	w.update(s)
	w.freed("web")
	if len(w.groups()) != 1 {
		t.Errorf("groups %q, want the one that the real controller discards", w.groups())
	}
}

// TestLoadBalancerThatLingers checks the order behind the load balancer: the group is deleted when that has been deleted.
func TestLoadBalancerThatLingers(t *testing.T) {
	w := newWorld(t, service("web"))
	s := w.served("web")
	w.cloud.FailDeletion(true, w.cloud.LoadBalancers("demo")[0].ID)
	end(s)
	w.update(s)
	eventually(t, "its deletion failed", func() bool { return w.cloud.LoadBalancers("demo")[0].ProvisioningStatus == "ERROR" })
	if len(w.groups()) != 1 || !slices.Contains(w.service("web").Finalizers, FinalizerService) {
		t.Errorf("groups %q and finalizers %q beside a load balancer", w.groups(), w.service("web").Finalizers)
	}
}

func TestLoadBalancerThatIsMissing(t *testing.T) {
	w := newWorld(t, service("web", func(s *corev1.Service) {
		s.Annotations = map[string]string{annotationLoadBalancerID: "8f5e3c1c-2f0e-4d13-9b8e-0d6f7a1b2c3d"}
	}))
	w.instructed("there is no load balancer")
	if made := w.cloud.LoadBalancers("demo"); len(made) != 0 {
		t.Errorf("made %+v", made)
	}
}

func TestLongName(t *testing.T) {
	name := strings.Repeat("x", 250)
	w := newWorld(t, service(name))
	w.served(name)
	if got := w.cloud.LoadBalancers("demo")[0].Name; len(got) != 255 || !strings.HasPrefix(got, "kube_service_k_default_xxx") {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestTokenThatEnds(t *testing.T) {
	w := newWorld(t)
	w.cloud.RevokeTokens()
	w.create(service("web"))
	w.served("web")
}

func TestServiceWithAPendingLoadBalancer(t *testing.T) {
	w := newWorld(t, service("web"))
	s := w.served("web")
	id := w.cloud.LoadBalancers("demo")[0].ID
	w.cloud.Hold(id)
	end(s)
	w.update(s)
	w.instructed("is PENDING_UPDATE")
	w.create(service("other")) // is served meanwhile
	w.served("other")
	if !slices.Contains(w.service("web").Finalizers, FinalizerService) || len(w.deletions()) != 0 {
		t.Errorf("while it is PENDING: deleted %q", w.deletions())
	}
	w.cloud.Release(id)
	w.freed("web")
}

func TestKnobs(t *testing.T) {
	w := newWorld(t)
	w.SetDead(true)
	w.create(service("dead"))
	eventually(t, "it was seen", func() bool { return w.aside("dead") })
	if len(w.service("dead").Finalizers) != 0 {
		t.Error("a dead controller does nothing")
	}
	w.SetDead(false)
	w.served("dead")

	w.SetNever(Services, true)
	w.create(service("never"))
	eventually(t, "it was seen", func() bool { return w.aside("never") })
	c := claim("claim", "cinder")
	for _, err := range []error{second(w.cluster.StorageV1().StorageClasses().Create(t.Context(), class("cinder", Driver), metav1.CreateOptions{})),
		second(w.cluster.CoreV1().PersistentVolumeClaims("default").Create(t.Context(), c, metav1.CreateOptions{}))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.provisioned("claim") // another kind continues
	w.SetNever(Services, false)
	w.served("never")

	w.FailNext(Services, 3)
	w.create(service("fails"))
	w.served("fails")
	w.knobs.mu.Lock()
	if w.knobs.fail[Services] != 0 {
		t.Error("it did not fail as often as configured")
	}
	w.knobs.mu.Unlock()
}

func second[T any](_ T, err error) error { return err }

// aside reports whether it set a Service aside.
func (w *world) aside(name string) bool {
	w.knobs.mu.Lock()
	defer w.knobs.mu.Unlock()
	return w.knobs.aside[key{kind: Services, namespace: "default", name: name}]
}
