// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// drainPlane is a plane with the real definitions of routes, and no discoverer: Services and EndpointSlices of backends
// are written by the tests.
type drainPlane struct {
	*plane.Plane
	c     client.WithWatch
	audit string
}

// newDrainPlane starts one. The definitions come after the controller manager.
func newDrainPlane(t *testing.T) *drainPlane {
	t.Helper()
	dir := t.TempDir()
	d := &drainPlane{audit: filepath.Join(dir, "audit.log")}
	started, err := startAudited(t.Context(), t, plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + d.audit},
		ManagerConfig:      write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\nlog: {level: debug}\nleaderElection: {leaseDuration: 12s, renewDeadline: 10s, retryPeriod: 500ms}\n"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := checkPermissions(d.audit); err != nil {
			t.Error(err)
		}
	})
	config := rest.CopyConfig(started.Config())
	d.Plane, d.c = started, clientOf(t, config)
	d.kubectl(t, "apply", "--server-side", "-f", "testdata/crds", "--field-manager=installer")
	d.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
	return d
}

// kubectl runs kubectl as an administrator.
func (d *drainPlane) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), d.Kubectl(), append([]string{"--kubeconfig", d.AdminKubeconfig()}, args...)...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// shop is a namespace with routes, and two backends that have Services there.
type shop struct {
	*drainPlane
	*testing.T
	namespace string
	us, eu    *gimbalv1.DiscoveryBackend
}

// newShop makes one. Its backends are in the namespace whose backends reach every namespace.
func (d *drainPlane) newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{drainPlane: d, T: t, namespace: name(t, "shop")}
	if err := d.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.namespace}}); err != nil {
		t.Fatal(err)
	}
	s.us, s.eu = s.backend("gimbal-discovery", "us"), s.backend("gimbal-discovery", "eu")
	s.service(s.us, "us-web")
	s.service(s.eu, "eu-web")
	return s
}

// backend creates a backend that is Enabled.
func (s *shop) backend(namespace, prefix string) *gimbalv1.DiscoveryBackend {
	s.Helper()
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: prefix + strings.TrimPrefix(s.namespace, "shop")}}
	backend.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}
	s.create(backend)
	return backend
}

func (s *shop) create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		if err := s.c.Create(s.Context(), object); err != nil {
			s.Fatal(err)
		}
	}
}

// service makes a Service of a backend, as its discoverer would.
func (s *shop) service(backend *gimbalv1.DiscoveryBackend, name string) {
	s.Helper()
	labels := map[string]string{gimbalv1.LabelBackend: backend.Name, "app.kubernetes.io/managed-by": discoverer}
	s.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name, Labels: labels},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "a", Port: 80}, {Name: "b", Port: 81}}},
	})
	s.endpoints(backend, name, name+"-0", true)
}

// parse reads a manifest of a route, in the namespace of the shop.
func (s *shop) parse(manifest string) *unstructured.Unstructured {
	s.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(manifest), &object.Object); err != nil {
		s.Fatalf("%v in:\n%s", err, manifest)
	}
	object.SetNamespace(s.namespace)
	return object
}

// apply returns a user's server-side apply, without force: a conflict fails the test.
func (s *shop) apply(manager, manifest string) *unstructured.Unstructured {
	s.Helper()
	object := s.parse(manifest)
	if err := s.c.Apply(s.Context(), client.ApplyConfigurationFromUnstructured(object), client.FieldOwner(manager)); err != nil {
		s.Fatalf("apply by %s: %v", manager, err)
	}
	return object
}

// read reads a route again.
func (s *shop) read(route *unstructured.Unstructured) *unstructured.Unstructured {
	s.Helper()
	current := &unstructured.Unstructured{}
	current.SetGroupVersionKind(route.GroupVersionKind())
	if err := s.c.Get(s.Context(), client.ObjectKeyFromObject(route), current); err != nil {
		s.Fatal(err)
	}
	return current
}

// edit changes a route as a user who updates it.
func (s *shop) edit(route *unstructured.Unstructured, how func(*unstructured.Unstructured)) {
	s.Helper()
	eventually(s.T, func(ctx context.Context) error {
		current := s.read(route)
		how(current)
		return s.c.Update(ctx, current, client.FieldOwner("editor"))
	})
}

// set puts a backend into maintenance, or takes it out.
func (s *shop) set(backend *gimbalv1.DiscoveryBackend, status gimbalv1.ClusterStatus) {
	s.Helper()
	patch := fmt.Appendf(nil, `{"cluster":{"clusterStatus":%q}}`, status)
	if err := s.c.Patch(s.Context(), backend, client.RawPatch(types.MergePatchType, patch)); err != nil {
		s.Fatal(err)
	}
}

// drain puts a backend into maintenance and waits until it is drained; enable is the opposite.
func (s *shop) drain(backend *gimbalv1.DiscoveryBackend) {
	s.Helper()
	s.set(backend, gimbalv1.ClusterMaintenance)
	s.is(backend, "True/Drained")
}

func (s *shop) enable(backend *gimbalv1.DiscoveryBackend) {
	s.Helper()
	s.set(backend, gimbalv1.ClusterEnabled)
	s.is(backend, "False/Enabled")
}

// is waits until the condition Drained of a backend, at present, is Status/Reason.
func (s *shop) is(backend *gimbalv1.DiscoveryBackend, want string) {
	s.Helper()
	eventually(s.T, func(ctx context.Context) error {
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return err
		}
		c := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionDrained)
		if c == nil || c.ObservedGeneration != backend.Generation || string(c.Status)+"/"+c.Reason != want {
			return fmt.Errorf("DiscoveryBackend %s, generation %d, is not %s: %+v", backend.Name, backend.Generation, want, backend.Status)
		}
		return nil
	})
}

// Waits until the status of a backend is as it should be. The first one that reports Drained may be older than the news of the last
// route.
func (s *shop) reports(backend *gimbalv1.DiscoveryBackend, is func(*gimbalv1.DiscoveryBackendStatus) bool) {
	s.Helper()
	eventually(s.T, func(ctx context.Context) error {
		if err := s.c.Get(ctx, client.ObjectKeyFromObject(backend), backend); err != nil {
			return err
		}
		if backend.Status.Routes == nil || !is(&backend.Status) {
			return fmt.Errorf("the status of DiscoveryBackend %s is %+v, its routes are %+v", backend.Name, backend.Status, backend.Status.Routes)
		}
		return nil
	})
}

// weights waits until the weights of a route are as wanted. They are those of the lists of the paths, each list in
// brackets, "-" for one that is not set.
func (s *shop) weights(route *unstructured.Unstructured, want string) {
	s.Helper()
	eventually(s.T, func(context.Context) error {
		if got := weightsOf(s.read(route)); got != want {
			return fmt.Errorf("%s %s has the weights %s, not %s", route.GetKind(), route.GetName(), got, want)
		}
		return nil
	})
}

// weightsOf returns the weights of a route: rule by rule, then those of its tcpproxy.
func weightsOf(route *unstructured.Unstructured) string {
	var rules []any
	for _, path := range [][]string{{"spec", "routes"}, {"spec", "rules"}} {
		found, _, _ := unstructured.NestedSlice(route.Object, path...)
		rules = append(rules, found...)
	}
	if proxy, found, _ := unstructured.NestedMap(route.Object, "spec", "tcpproxy"); found {
		rules = append(rules, proxy)
	}
	var all []string
	for _, rule := range rules {
		fields, _ := rule.(map[string]any)
		references, _ := fields["services"].([]any)
		if references == nil {
			references, _ = fields["backendRefs"].([]any)
		}
		var weights []string
		for _, reference := range references {
			fields, _ := reference.(map[string]any)
			weight, mirror := "-", ""
			if value, set := fields["weight"]; set {
				weight = fmt.Sprint(value)
			}
			if fields["mirror"] == true {
				mirror = "m"
			}
			weights = append(weights, weight+mirror)
		}
		all = append(all, "["+strings.Join(weights, " ")+"]")
	}
	return strings.Join(all, "")
}

// shape returns a route as stored, except for what every write changes.
func shape(t *testing.T, route *unstructured.Unstructured) string {
	t.Helper()
	route = route.DeepCopy()
	route.SetResourceVersion("")
	route.SetGeneration(0)
	out, err := json.MarshalIndent(route.Object, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// unchanged waits until a route is what it was, byte for byte: what is left to hand back comes after the values.
func (s *shop) unchanged(before *unstructured.Unstructured) {
	s.Helper()
	want := shape(s.T, before)
	eventually(s.T, func(context.Context) error {
		if got := shape(s.T, s.read(before)); got != want {
			return errors.New("before:\n" + want + "\nafter:\n" + got)
		}
		return nil
	})
}

// since lets a watch begin after a version.
func since(version string) client.ListOption {
	return &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}}
}
