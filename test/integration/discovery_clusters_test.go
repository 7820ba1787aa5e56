// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

const (
	discoverer         = "groundskeeper-discoverer"
	discoveryNamespace = "gimbal-discovery"
)

// discovererPolicy records what discoverers request, and the marks that report that the log is complete.
const discovererPolicy = `
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- {level: None, userGroups: ["system:serviceaccounts:kube-system"]}
- {level: Metadata, userGroups: ["system:serviceaccounts"]}
- {level: Metadata, resources: [{group: "", resources: [configmaps]}]}
`

// clusters are a cluster that discovers, which has Groundskeeper's API server, and a backend, which has nothing owned by
// Groundskeeper.
type clusters struct {
	here, backend *plane.Plane
	// reads and announced are kubeconfigs for the backend: that of backends, and that of Klusters.
	reads, announced string
	c, b             client.WithWatch // an administrator's clients of the two
	audit            string
}

func newClusters(t *testing.T) *clusters {
	t.Helper()
	dir := t.TempDir()
	d := &clusters{audit: filepath.Join(dir, "audit.log")}
	room := "--service-cluster-ip-range=10.96.0.0/16"
	begin := func(options plane.Options) *plane.Plane {
		t.Helper()
		options.SharedEtcd, options.UnsafeNoFsync = true, true
		started, err := startAudited(t.Context(), t, options)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := started.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
		return started
	}
	d.here = begin(plane.Options{Dir: filepath.Join(dir, "here"), APIServers: 1, KubeAPIServerFlags: []string{
		room, "--audit-policy-file=" + write(t, discovererPolicy), "--audit-log-path=" + d.audit,
	}})
	d.backend = begin(plane.Options{Dir: filepath.Join(dir, "backend"), KubeAPIServerFlags: []string{room}})
	d.c, d.b = clientOf(t, d.here.Config()), clientOf(t, d.backend.Config())
	d.reads = kubeconfigFor(t, d.backend, "discoverer", "discovery/backend")
	d.announced = kubeconfigFor(t, d.backend, "groundskeeper-kluster", "kluster/workload/account.yaml", "kluster/workload/announce.yaml")
	apply := exec.CommandContext(t.Context(), d.here.Kubectl(), "--kubeconfig", d.here.AdminKubeconfig(), "apply", "-f", "../../artifacts/discovery/discoverer.yaml")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return d
}

// discovered is a backend of one test: its DiscoveryBackend, and a namespace that both clusters have.
type discovered struct {
	*clusters
	t             *testing.T
	name, ns      string
	admin         string // the namespace of the DiscoveryBackend
	kubeconfig    string // for the backend
	externalNames bool
}

// discover makes a DiscoveryBackend with the permissions of its discoverer: in the namespace of administrators, or, confined, in
// the one that is discovered.
func (d *clusters) discover(t *testing.T, confined bool) *discovered {
	t.Helper()
	v := &discovered{clusters: d, t: t, name: name(t, "be"), ns: name(t, "shop"), admin: discoveryNamespace, kubeconfig: d.reads}
	if confined {
		v.admin, v.kubeconfig = v.ns, d.announced
	}
	v.makeNamespace(d.c, v.ns)
	v.makeNamespace(d.b, v.ns)
	object := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: v.admin, Name: v.name}}
	object.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Credentials: "none"}
	v.create(d.c, object)
	v.authorize(discoverer)
	return v
}

// authorize gives an account what the operator would give it.
func (v *discovered) authorize(account string) {
	v.t.Helper()
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: v.admin, Name: v.name + "-" + account}}
	bind := func(role string, everywhere bool) {
		meta := metav1.ObjectMeta{Namespace: v.admin, Name: role + "-" + subjects[0].Name}
		ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
		if everywhere {
			meta.Namespace = ""
			v.create(v.c, &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		} else {
			v.create(v.c, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
		}
	}
	bind("groundskeeper-discoverer-backend", false)
	bind("groundskeeper-discoverer-services", v.admin == discoveryNamespace)
	if v.admin == discoveryNamespace {
		bind("groundskeeper-discoverer-namespaces", true)
	}
}

// user returns the account of a discoverer.
func (v *discovered) user(account string) string {
	return "system:serviceaccount:" + v.admin + ":" + v.name + "-" + account
}

// run starts a discoverer of the test's namespace, which hears soon of a backend that does not respond.
func (v *discovered) run(flags ...string) *cleaner {
	v.t.Helper()
	return v.runAs(discoverer, append([]string{"--namespaces-allow=" + v.ns}, flags...)...)
}

func (v *discovered) runAs(account string, flags ...string) *cleaner {
	v.t.Helper()
	kubeconfig := filepath.Join(v.t.TempDir(), "kubeconfig")
	if err := v.here.KubeconfigFor(kubeconfig, v.user(account), "system:serviceaccounts", "system:serviceaccounts:"+v.admin); err != nil {
		v.t.Fatal(err)
	}
	address := "127.0.0.1:" + freePort(v.t)
	return &cleaner{child: start(v.t, v.t.Context(), discoverer, append(v.args(kubeconfig, address), flags...)...), t: v.t, address: address}
}

// includedLabels are the labels that discoverers copy.
var includedLabels = []string{"app", "tier", bornLabel}

// args returns the arguments of a discoverer that has a kubeconfig for this cluster.
func (v *discovered) args(kubeconfig, address string) []string {
	return []string{"kubernetes", "--gimbal-kubecfg-file=" + kubeconfig, "--discover-kubecfg-file=" + v.kubeconfig, "--backend-name=" + v.name,
		"--backend-namespace=" + v.admin, "--labels-include=" + strings.Join(includedLabels, ","), "--prometheus-listen-address=" + address, "--reconciliation-period=1s", "--http-client-timeout=2s"}
}

// release deletes the Lease of a discoverer that was killed, so that the next one need not wait until it is over.
func (v *discovered) release() {
	v.t.Helper()
	v.delete(v.c, lease(v))
}

func (v *discovered) create(c client.Client, objects ...client.Object) {
	v.t.Helper()
	for _, object := range objects {
		if err := c.Create(v.t.Context(), object); err != nil {
			v.t.Fatal(err)
		}
	}
}

func (v *discovered) delete(c client.Client, objects ...client.Object) {
	v.t.Helper()
	for _, object := range objects {
		if err := c.Delete(v.t.Context(), object); client.IgnoreNotFound(err) != nil {
			v.t.Fatal(err)
		}
	}
}

// editIn reads an object, changes it and writes it, until no other client writes it meanwhile.
func editIn[T client.Object](v *discovered, c client.Client, object T, how func(T)) {
	v.t.Helper()
	eventually(v.t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		return c.Update(ctx, object)
	})
}

func (v *discovered) makeNamespace(c client.Client, name string) {
	v.t.Helper()
	v.create(c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
}

// service returns a Service with a port, as users make them.
func (v *discovered) service(name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.ns, Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.ServiceSpec{Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{
			{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)},
		}},
	}
}

// slice returns a part of the endpoints of a Service.
func (v *discovered) slice(service, id string, addresses ...string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: v.ns, Name: service + "-" + id, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}},
	}
	for _, address := range addresses {
		if strings.Contains(address, ":") {
			slice.AddressType = discoveryv1.AddressTypeIPv6
		}
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}})
	}
	return slice
}

// finally waits longer than eventually: for what is tried again at times only, or waits for a lease that is over.
func finally(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, 3*time.Minute, true, func(ctx context.Context) (bool, error) {
		last = condition(ctx)
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("%v: %v", err, last)
	}
}
