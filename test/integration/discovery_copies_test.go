// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// TestDiscoverer runs discoverers between two clusters.
func TestDiscoverer(t *testing.T) {
	t.Parallel()
	d := newClusters(t)
	t.Run("everything", d.everything)
	t.Run("together", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"life": d.life, "deleted while it is down": d.down, "many endpoints": d.many, "external names": d.external, "drift": d.drift,
			"namespaces": d.namespaces, "names": d.names, "collisions": d.collisions,
			"expired credentials": d.expired, "another cluster": d.another, "missing permissions": d.forbidden, "suspicious listing": d.suspicious,
			"two of them": d.pair, "kills": d.kills, "confined": d.confined, "metrics": d.metrics, "exported Services": d.exported,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("no backend", d.outage)
	t.Run("rights", d.permissions)
}

// everything: a discoverer without a list of namespaces copies what is in those that are here, except for what Kubernetes has for
// itself and what is itself a copy.
func (d *clusters) everything(t *testing.T) {
	v := d.discover(t, false)
	system := v.service("dns")
	system.Namespace = metav1.NamespaceSystem
	copied := v.service("copy")
	copied.Labels[gimbalv1.LabelBackend] = "elsewhere"
	v.create(v.b, system, copied, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	c := v.runAs(discoverer)
	v.copied()
	v.leads(c)
	if found := v.versions(); len(found) != 2 {
		t.Errorf("copies: %v", found)
	}
	object := v.status("Synced")
	if *object.Status.Services != 1 || *object.Status.Endpoints != 1 || object.Status.LastSyncTime == nil {
		t.Errorf("status: %+v", object.Status)
	}
	v.delete(v.b, system, copied)
	c.terminate()
}

// life: services are created, changed and deleted.
func (d *clusters) life(t *testing.T) {
	v := d.discover(t, false)
	v.run("--num-threads=2")
	web, ports := v.service("web"), []corev1.ServicePort{
		{Name: "dns", Protocol: corev1.ProtocolTCP, Port: 53, TargetPort: intstr.FromString("dns"), AppProtocol: new("example.com/dns")},
		{Name: "dns-udp", Protocol: corev1.ProtocolUDP, Port: 53},
	}
	web.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/a": "b"}
	four, six := v.slice("web", "four", "10.1.0.1", "10.1.0.2"), v.slice("web", "six", "fd00::1")
	v.create(v.b, web, four, six, v.service("other"))
	v.copied()
	v.status("Synced")
	uid := v.versions()["*v1.Service "+v.ns+"/"+v.name+"-web"]

	editIn(v, v.b, web, func(s *corev1.Service) { s.Spec.Ports, s.Labels = ports, map[string]string{"tier": "front"} })
	v.copied()
	editIn(v, v.b, four, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: new(false), Serving: new(true), Terminating: new(true)}
		s.Endpoints[1].Zone, s.Endpoints[1].Hints = new("b"), &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}, {Name: "b"}}}
		s.Endpoints = append(s.Endpoints, v.slice("", "", "10.1.0.3").Endpoints...)
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: new("dns-udp"), Protocol: new(corev1.ProtocolUDP), Port: new(int32(53))})
	})
	v.copied()
	if now := v.versions()["*v1.Service "+v.ns+"/"+v.name+"-web"]; strings.Split(now, "@")[0] != strings.Split(uid, "@")[0] {
		t.Errorf("the Service was recreated: %s, then %s", uid, now)
	}
	v.delete(v.b, six)
	v.copied()
	v.delete(v.b, web, four)
	v.copied()
	if found := v.versions(); len(found) != 1 {
		t.Errorf("copies: %v", found)
	}
}

// down: what was deleted while no discoverer ran is deleted when one starts, and nothing else is written.
func (d *clusters) down(t *testing.T) {
	v := d.discover(t, false)
	for i := range 5 {
		name := fmt.Sprintf("s%d", i)
		part := v.slice(name, "a", "10.1.0.1")
		part.Endpoints[0].Zone, part.Endpoints[0].Hints = new("a"), &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}
		v.create(v.b, v.service(name), part)
	}
	first := v.run()
	v.copied()
	v.leads(first)
	first.terminate()
	before := v.versions()
	mine := v.service(v.name + "-mine")
	v.create(v.c, mine)
	v.delete(v.b, v.service("s0"), v.slice("s0", "a"))
	v.run()
	v.copied()
	maps.DeleteFunc(before, func(key, _ string) bool { return strings.Contains(key, v.name+"-s0") })
	if err := diffError(before, v.versions()); err != nil {
		t.Error(err)
	}
	if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(mine), mine); err != nil {
		t.Error(err)
	}
}

// many: a service with more endpoints than one slice may have.
func (d *clusters) many(t *testing.T) {
	v := d.discover(t, false)
	addresses := func(from, to int) (all []string) {
		for i := from; i < to; i++ {
			all = append(all, fmt.Sprintf("10.2.%d.%d", i/250, i%250+1))
		}
		return all
	}
	v.create(v.b, v.service("big"), v.slice("big", "a", addresses(0, 1000)...), v.slice("big", "b", addresses(1000, 2000)...), v.slice("big", "c", addresses(2000, 2500)...))
	v.run()
	v.copied()
	if found := v.versions(); len(found) != 4 {
		t.Errorf("copies: %v", found)
	}
	object := v.status("Synced")
	if *object.Status.Endpoints != 2500 {
		t.Errorf("status: %+v", object.Status)
	}
}

// external: Services that are names are copied when that is requested, without a cluster IP.
func (d *clusters) external(t *testing.T) {
	v := d.discover(t, false)
	db := v.service("db")
	db.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "db.example.com", Ports: db.Spec.Ports}
	v.create(v.b, v.service("web"), db)
	for _, v.externalNames = range []bool{false, true, false} {
		var flags []string
		if v.externalNames {
			flags = append(flags, "--external-names")
		}
		c := v.run(flags...)
		v.leads(c)
		v.copied()
		if v.externalNames { // one becomes the other, and returns
			editIn(v, v.b, db, func(s *corev1.Service) { s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeClusterIP, "" })
			v.copied()
			editIn(v, v.b, db, func(s *corev1.Service) {
				s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP, s.Spec.ClusterIPs = corev1.ServiceTypeExternalName, "db2.example.com", "", nil
			})
			v.copied()
		}
		c.terminate()
	}
}

// drift: every change of a copy is reverted.
func (d *clusters) drift(t *testing.T) {
	v := d.discover(t, false)
	v.create(v.b, v.service("web"), v.slice("web", "a", "10.1.0.1"))
	v.run()
	v.copied()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: v.name + "-web"}}
	list := &discoveryv1.EndpointSliceList{}
	if err := v.c.List(t.Context(), list, client.InNamespace(v.ns), client.MatchingLabels{gimbalv1.LabelBackend: v.name}); err != nil || len(list.Items) != 1 {
		t.Fatal(err, len(list.Items))
	}
	slice := &list.Items[0]
	editService := func(how func(*corev1.Service)) func() { return func() { editIn(v, v.c, service, how) } }
	editSlice := func(how func(*discoveryv1.EndpointSlice)) func() { return func() { editIn(v, v.c, slice, how) } }
	for _, tc := range []struct {
		what string
		do   func()
	}{
		{"ports", editService(func(s *corev1.Service) { s.Spec.Ports[0].Port = 81 })},
		{"selector", editService(func(s *corev1.Service) {
			s.Spec.Selector = map[string]string{"a": "b"}
			// Without a selector it has both families on any cluster, with one it may have those of the cluster.
			s.Spec.IPFamilies, s.Spec.IPFamilyPolicy = s.Spec.IPFamilies[:1], new(corev1.IPFamilyPolicySingleStack)
		})},
		{"a label more", editService(func(s *corev1.Service) { s.Labels["mine"] = "x" })},
		{"no backend label", editService(func(s *corev1.Service) { delete(s.Labels, gimbalv1.LabelBackend) })},
		{"no service label", editService(func(s *corev1.Service) { delete(s.Labels, gimbalv1.LabelService) })},
		{"another service label", editService(func(s *corev1.Service) { s.Labels[gimbalv1.LabelService] = "other" })},
		{"endpoints", editSlice(func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil })},
		{"slice without backend label", editSlice(func(s *discoveryv1.EndpointSlice) { delete(s.Labels, gimbalv1.LabelBackend) })},
		{"slice without manager", editSlice(func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelManagedBy) })},
		{"slice of another service", editSlice(func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "other" })},
		{"slice deleted", func() { v.delete(v.c, slice.DeepCopy()) }},
		{"Service deleted", func() { v.delete(v.c, service.DeepCopy()) }},
	} {
		written := len(v.requests(v.user(discoverer)))
		tc.do()
		eventually(t, func(ctx context.Context) error {
			err := v.differs(ctx, v.ns)
			if current := (&discoveryv1.EndpointSlice{}); err == nil {
				err = v.c.Get(ctx, client.ObjectKeyFromObject(slice), current)
				if err == nil && current.Labels[discoveryv1.LabelManagedBy] != discoverer {
					err = errors.New("the slice is not managed by Groundskeeper")
				}
			}
			if err == nil && len(v.requests(v.user(discoverer))) == written {
				err = errors.New("the discoverer did nothing")
			}
			if err != nil {
				return fmt.Errorf("%s: %w", tc.what, err)
			}
			return nil
		})
	}
}
