// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// realDiscoverers checks with discoverers what other tests do with identities that they write: two backends of one cluster, and two of one
// project of OpenStack, are drained together only.
func (d *drainPlane) realDiscoverers(t *testing.T) {
	apply := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "apply", "-f", "../../artifacts/discovery/discoverer.yaml")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Run("kubernetes", func(t *testing.T) { d.newShop(t).oneCluster() })
	t.Run("openstack", func(t *testing.T) { d.newShop(t).oneProject() })
}

// oneCluster discovers a cluster twice: directly, and by another address, which can be made not to respond.
func (s *shop) oneCluster() {
	backend, err := plane.Start(s.Context(), plane.Options{Dir: filepath.Join(s.TempDir(), "backend"), SharedEtcd: true, UnsafeNoFsync: true})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := backend.Stop(context.Background()); err != nil {
			s.Error(err)
		}
	})
	v := &discovered{clusters: &clusters{here: s.Plane, backend: backend, c: s.c, b: clientOf(s.T, backend.Config())}, t: s.T, ns: s.namespace, admin: discoveryNamespace}
	v.makeNamespace(v.b, v.ns)
	v.create(v.b, v.service("web"), v.slice("web", "0", "10.1.2.3"))
	proxy, byProxy := proxied(s.T, backend.Config())
	direct := v.asBackend("direct", gimbalv1.BackendKubernetes)
	direct.kubeconfig = kubeconfigFor(s.T, backend, "discoverer", "discovery/backend")
	s.logs(direct.run())
	other := v.asBackend("other", gimbalv1.BackendKubernetes)
	other.kubeconfig = write(s.T, string(byProxy))
	s.logs(other.run())
	one, two := s.discoveredBackend(other.name), s.discoveredBackend(direct.name)
	s.automatically(one)
	s.automatic(one, "False/Reachable")
	s.together(one, two, s.copyOf(one), s.copyOf(two), func() {
		proxy.Close()
		if testing.Short() {
			return // it takes a minute and a half
		}
		finally(s.T, func(ctx context.Context) error { // after three probes of a discoverer
			if err := s.c.Get(ctx, client.ObjectKeyFromObject(one), one); err != nil {
				return err
			}
			c := meta.FindStatusCondition(one.Status.Conditions, gimbalv1.ConditionAutomaticMaintenance)
			if c == nil || c.Reason == "Reachable" || c.Reason == "Unreachable" && c.Status == metav1.ConditionFalse {
				return fmt.Errorf("automatic maintenance is not decided: %+v", c)
			}
			return nil
		})
		s.automatic(one, "False/Held") // only another cluster would take over
	})
}

// oneProject discovers a project of a cloud twice.
func (s *shop) oneProject() {
	first := (&discovered{clusters: &clusters{here: s.Plane, c: s.c}, t: s.T, ns: s.namespace, admin: discoveryNamespace}).inCloud()
	first.balancer(first.ns, "10.1.0.1")
	first.run(cloudPassword)
	second := &clouded{first.asBackend("again", gimbalv1.BackendOpenStack), first.cloud}
	second.run(cloudPassword)
	one, two := s.discoveredBackend(first.name), s.discoveredBackend(second.name)
	s.together(one, two, s.copyOf(one), s.copyOf(two), func() {})
}

// logs prints the log of a discoverer when the test fails.
func (s *shop) logs(c *cleaner) {
	s.Cleanup(func() {
		if s.Failed() {
			s.Log("the discoverer's log:\n" + c.stderrText())
		}
	})
}

// asBackend returns another backend of the same cluster or cloud, whose discoverer has its permissions.
func (v *discovered) asBackend(prefix string, kind gimbalv1.BackendType) *discovered {
	v.t.Helper()
	w := *v
	w.name = name(v.t, prefix)
	object := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: w.admin, Name: w.name}}
	object.Cluster = gimbalv1.Cluster{Type: kind, Credentials: "none"}
	w.create(w.c, object)
	w.authorize(discoverer)
	return &w
}

func (s *shop) discoveredBackend(name string) *gimbalv1.DiscoveryBackend {
	return &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: name}}
}

// copyOf waits for the Service that a discoverer copied, and for the identity that it learnt, and returns its name.
func (s *shop) copyOf(backend *gimbalv1.DiscoveryBackend) (name string) {
	s.Helper()
	finally(s.T, func(ctx context.Context) error {
		services := &corev1.ServiceList{}
		if err := errors.Join(s.c.List(ctx, services, client.InNamespace(s.namespace), client.MatchingLabels{gimbalv1.LabelBackend: backend.Name}),
			s.c.Get(ctx, client.ObjectKeyFromObject(backend), backend)); err != nil {
			return err
		}
		if len(services.Items) != 1 || len(backend.Status.Identity) == 0 {
			return fmt.Errorf("backend %s has %d Services and the identity %v", backend.Name, len(services.Items), backend.Status.Identity)
		}
		name = services.Items[0].Name
		return nil
	})
	return name
}

const togetherManifest = `
apiVersion: projectcontour.io/v1
kind: HTTPProxy
metadata: {name: together}
spec:
  virtualhost: {fqdn: together.example.com}
  routes:
  - services: [{name: %s, port: 80, weight: 50}, {name: %s, port: 80, weight: 50}]
`

// together drains two backends that lead to the same, first one of them, while nothing moves, and names a backend of unknown identity.
func (s *shop) together(one, two *gimbalv1.DiscoveryBackend, first, second string, meanwhile func()) {
	s.Helper()
	s.unique(one, two)
	s.unique(two, one)
	route := s.read(s.apply("user", fmt.Sprintf(togetherManifest, first, second)))
	unknown := s.read(s.apply("user", proxyManifest)) // of backends that no discoverer has identified
	alone := func(count int32) {
		s.reports(one, func(status *gimbalv1.DiscoveryBackendStatus) bool {
			return status.Routes.WithoutAlternative != nil && status.Routes.WithoutAlternative.Count == count
		})
	}
	alone(1)
	meanwhile()
	s.unchanged(route)
	gradually := func(duration string) {
		s.Helper()
		patch := client.RawPatch(types.MergePatchType, []byte(`{"cluster":{"drainDuration":`+duration+`}}`))
		if err := s.c.Patch(s.Context(), one, patch); err != nil {
			s.Fatal(err)
		}
	}
	gradually(`"1h"`)
	preview, err := s.plugin("", "drain", "discoverybackend/"+one.Name, "-n", one.Namespace, "--dry-run")
	for _, part := range []string{"DiscoveryBackend " + two.Namespace + "/" + two.Name + " leads to the same cluster", "1 of them have no other backend", s.namespace + "/together"} {
		if err != nil || !strings.Contains(preview, part) {
			s.Errorf("preview = %s, error = %v, want %q in it", preview, err, part)
		}
	}
	s.set(one, gimbalv1.ClusterMaintenance)
	s.is(one, "False/Draining")
	s.unchanged(route)
	gradually("null")
	s.is(one, "False/"+gimbalv1.ReasonSameCluster)
	s.unchanged(route)
	if err := s.c.Patch(s.Context(), s.us, client.RawPatch(types.MergePatchType, []byte(`{"cluster":{"secret":"of-us"}}`))); err != nil {
		s.Fatal(err)
	}
	preview, err = s.plugin("", "drain", "discoverybackend/"+s.us.Name, "-n", s.us.Namespace, "--dry-run")
	if err != nil || !strings.Contains(preview, "it is unknown whether the backend leads to the same cluster as") {
		s.Errorf("preview = %s, error = %v, want the backends of unknown identity in it", preview, err)
	}
	s.drain(two)
	s.is(one, "True/Drained")
	alone(1)
	s.drain(s.us)
	if c := meta.FindStatusCondition(s.us.Status.Conditions, gimbalv1.ConditionDrained); !strings.Contains(c.Message, "it is unknown whether they lead to the same cluster") {
		s.Errorf("message of Drained = %q, want the backends of unknown identity in it", c.Message)
	}
	for _, backend := range []*gimbalv1.DiscoveryBackend{s.us, one, two} {
		s.enable(backend)
	}
	s.unchanged(route)
	s.unchanged(unknown)
}
