// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	gimbalapply "groundskeeper.io/groundskeeper/pkg/generated/applyconfiguration/gimbal/v1"
	"groundskeeper.io/groundskeeper/test/plane/faults"
)

// TestDeorbitTwins checks that a cluster is not touched while another Kluster leads to it: with the same Secret or another one, in another
// namespace, by another name of its API server, paused, and when it appears in the middle; that one that is detached leaves a cluster that is
// not frozen; and that the last one takes it down.
func TestDeorbitTwins(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	if err := d.Managers[0].Restart(t.Context(), "--config="+write(t, deorbitConfig)); err != nil {
		t.Fatal(err)
	}
	workload := newWorkloadPlane(t)
	o := newOrbit(t, workload)
	byAddress, err := os.ReadFile(kubeconfigFor(t, workload, "groundskeeper-kluster", "kluster/workload/nodes.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(workload.Config().Host)
	if err != nil {
		t.Fatal(err)
	}
	byName := bytes.ReplaceAll(byAddress, []byte(u.Host), []byte("localhost:"+u.Port()))
	if bytes.Equal(byName, byAddress) {
		t.Fatal("the kubeconfig does not contain the address")
	}
	proxy, byProxy := proxied(t, workload.Config())
	if err := d.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}}); err != nil {
		t.Fatal(err)
	}
	o.space("db")
	o.class("fast", cinderDriver)
	volume, claim := o.bound("db", "data", cinderDriver, corev1.PersistentVolumeReclaimDelete)
	web := balancer("db", "web")
	o.create(web)
	register := func(namespace, name, secret string, kubeconfig []byte, annotations map[string]string) *kubernikusv1.Kluster {
		t.Helper()
		k := klusterIn(namespace, name, strings.TrimPrefix(d.version(t), "v"))
		k.Spec.NoCloud, k.Spec.SecretRef.Name, k.Annotations = true, secret, annotations
		data := map[string][]byte{"kubeconfig": kubeconfig}
		if name == "in-cloud" {
			k.Spec.NoCloud, data["clouds.yaml"] = false, []byte(`{clouds: {cloud: {auth: {auth_url: "`+d.cloud.AuthURL()+
				`", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`)
		}
		if err := d.c.Create(t.Context(), k); err != nil {
			t.Fatal(err)
		}
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: secret}, Data: data}
		if err := client.IgnoreAlreadyExists(d.c.Create(t.Context(), s)); err != nil {
			t.Fatal(err)
		}
		return k
	}
	remove := func(k *kubernikusv1.Kluster) {
		t.Helper()
		if err := confirm(t.Context(), d.c, k); err != nil {
			t.Fatal(err)
		}
		if err := d.c.Delete(t.Context(), k); err != nil {
			t.Fatal(err)
		}
	}
	// warns checks that a dry run of the deletion names the other Kluster, and the annotation that deletes this one only.
	warns := func(k *kubernikusv1.Kluster, other string) {
		t.Helper()
		if err := confirm(t.Context(), d.c, k); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "delete", "kluster", "--dry-run=server",
			"--namespace", k.Namespace, k.Name).CombinedOutput()
		for _, part := range []string{"Warning: the Deorbit of Kluster " + k.Name + " will wait: ", "Kluster " + other + ": it leads to the same cluster", kubernikusv1.DetachAnnotation + "=true"} {
			if err != nil || !strings.Contains(string(out), part) {
				t.Fatalf("error = %v, output = %s, want %q in it", err, out, part)
			}
		}
	}
	detach := func(k *kubernikusv1.Kluster) {
		t.Helper()
		d.edit(t, k, func() { k.Annotations[kubernikusv1.DetachAnnotation] = "true" })
		eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, k) })
	}
	untouched := func() {
		t.Helper()
		o.stays(volume, claim, web)
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "groundskeeper-deorbit"}}
		if err := client.IgnoreNotFound(o.c.Get(t.Context(), client.ObjectKeyFromObject(binding), binding)); err != nil || binding.UID != "" {
			t.Fatalf("the cluster is frozen: %v", err)
		}
	}
	for _, c := range []struct {
		name, namespace, secret string
		kubeconfig              []byte
		annotations             map[string]string
	}{
		{"same-secret", d.namespace, "web-secret", byAddress, nil},
		{"paused", "garden", "paused-secret", byAddress, map[string]string{"groundskeeper.io/paused": "true"}},
		{"in-cloud", "garden", "in-cloud-secret", byAddress, nil},
		{"unreachable", "garden", "unreachable-secret", byProxy, nil},
		{"by-name", "garden", "by-name-secret", byName, nil},
	} {
		twin := register(c.namespace, c.name, c.secret, c.kubeconfig, c.annotations)
		k := register(d.namespace, "web-old", "web-secret", byAddress, nil)
		d.is(t, k, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
		warns(k, c.namespace+"/"+c.name)
		if c.name == "unreachable" {
			proxy.Close()
		}
		remove(k)
		d.is(t, k, kubernikusv1.ConditionDeorbited, "Unknown/SameCluster")
		untouched()
		detach(k)
		if c.annotations != nil {
			d.edit(t, twin, func() { delete(twin.Annotations, "groundskeeper.io/paused") })
		}
		if c.name == "by-name" {
			continue // the last one
		}
		remove(twin)
		detach(twin)
	}
	d.heldByBackend(t, byAddress, register, remove, untouched, detach)

	// One that is being torn down alone, and a twin that appears then.
	twin := &kubernikusv1.Kluster{}
	if err := d.c.Get(t.Context(), client.ObjectKey{Namespace: "garden", Name: "by-name"}, twin); err != nil {
		t.Fatal(err)
	}
	o.patch(claim, `{"metadata":{"finalizers":["example.com/keep"]}}`)
	remove(twin)
	d.is(t, twin, kubernikusv1.ConditionDeorbited, "False/Claims")
	d.heldByUnknownBackend(t, twin, byName)
	d.is(t, twin, kubernikusv1.ConditionDeorbited, "False/Claims")
	twin = d.detachedBeside(t, o, twin, func() *kubernikusv1.Kluster { return register(d.namespace, "stays", "web-secret", byAddress, nil) })
	remove(twin)
	d.is(t, twin, kubernikusv1.ConditionDeorbited, "False/Claims")
	late := register(d.namespace, "late", "web-secret", byAddress, nil)
	d.is(t, twin, kubernikusv1.ConditionDeorbited, "Unknown/SameCluster")
	eventually(t, func(ctx context.Context) error {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		if err := o.c.Get(ctx, client.ObjectKey{Name: "groundskeeper-deorbit"}, binding); err == nil {
			return fmt.Errorf("the cluster is still frozen by %s", binding.Name)
		} else if client.IgnoreNotFound(err) != nil {
			return err
		}
		return nil
	})
	// All of them are deleted: the oldest does the work, then the other one.
	o.patch(claim, `{"metadata":{"finalizers":null}}`)
	remove(late)
	o.reclaim(volume)
	for _, k := range []*kubernikusv1.Kluster{twin, late} {
		eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, k) })
	}
}

// detachedBeside detaches a Kluster that has frozen its cluster, beside another one that stays, and checks that the freeze is lifted before
// the Kluster is released. It is paused while the other one appears: otherwise the next check of its Deorbit would lift it.
func (d *klusterPlane) detachedBeside(t *testing.T, o *orbit, k *kubernikusv1.Kluster, appears func() *kubernikusv1.Kluster) *kubernikusv1.Kluster {
	t.Helper()
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "groundskeeper-deorbit"}}
	d.edit(t, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "groundskeeper.io/paused", "true") })
	d.is(t, k, kubernikusv1.ConditionDeorbited, "Unknown/Paused")
	twin := appears()
	d.is(t, twin, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
	if err := o.c.Get(t.Context(), client.ObjectKeyFromObject(binding), binding); err != nil {
		t.Fatalf("the cluster is not frozen: %v", err)
	}
	err := o.c.Create(t.Context(), pending("db", "rejected", "fast"), client.DryRunAll)
	if err == nil || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'groundskeeper-deorbit'") {
		t.Fatalf("error of a new claim = %v, want that of the freeze", err)
	}
	d.edit(t, k, func() {
		delete(k.Annotations, "groundskeeper.io/paused")
		k.Annotations[kubernikusv1.DetachAnnotation] = "true"
	})
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, k) })
	if err := confirmDeleted(t.Context(), o.c, binding); err != nil {
		t.Errorf("the Kluster was released with a frozen cluster: %v", err)
	}
	o.slips("db")
	if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(twin), twin); err != nil || !twin.DeletionTimestamp.IsZero() {
		t.Fatalf("the other Kluster is being deleted: %v", err)
	}
	return twin
}

// proxied starts a proxy to an API server, and returns a kubeconfig that leads to it.
func proxied(t *testing.T, config *rest.Config) (proxy *faults.Proxy, kubeconfig []byte) {
	t.Helper()
	proxy, err := faults.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	path := filepath.Join(t.TempDir(), "proxy")
	if err := proxy.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	found, err := clientcmd.LoadFromFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range found.AuthInfos {
		user.Token = "unused" // credentials are required, and the proxy has its own
	}
	if kubeconfig, err = clientcmd.Write(*found); err != nil {
		t.Fatal(err)
	}
	return proxy, kubeconfig
}

// heldByUnknownBackend checks that a Deorbit stops when a DiscoveryBackend appears whose cluster is unknown, and whose Secret, a copy in another
// namespace, leads to the same API server.
func (d *klusterPlane) heldByUnknownBackend(t *testing.T, k *kubernikusv1.Kluster, kubeconfig []byte) {
	t.Helper()
	named := metav1.ObjectMeta{Namespace: "garden", Name: "unknown"}
	secret := &corev1.Secret{ObjectMeta: named, Data: map[string][]byte{"config": kubeconfig, "backend-name": []byte(named.Name)}}
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: named, Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: secret.Name}}
	if err := errors.Join(d.c.Create(t.Context(), secret), d.c.Create(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	d.is(t, k, kubernikusv1.ConditionDeorbited, "Unknown/IdentityUnknown")
	const want = "DiscoveryBackend garden/unknown, which has the same API server"
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); !strings.Contains(c.Message, want) {
		t.Errorf("message = %q, want %q in it", c.Message, want)
	}
	if err := errors.Join(confirm(t.Context(), d.c, b), d.c.Delete(t.Context(), b), d.c.Delete(t.Context(), secret)); err != nil {
		t.Fatal(err)
	}
}

// heldByBackend checks that a cluster is not touched while a DiscoveryBackend leads to it that a user created.
func (d *klusterPlane) heldByBackend(t *testing.T, kubeconfig []byte, register func(namespace, name, secret string, kubeconfig []byte, annotations map[string]string) *kubernikusv1.Kluster,
	remove func(*kubernikusv1.Kluster), untouched func(), detach func(*kubernikusv1.Kluster)) {
	t.Helper()
	b := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "manual"}}
	b.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}
	if err := d.c.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	by := &kubernikusv1.Kluster{}
	if err := d.c.Get(t.Context(), client.ObjectKey{Namespace: "garden", Name: "by-name"}, by); err != nil {
		t.Fatal(err)
	}
	status := gimbalapply.DiscoveryBackendStatus().WithIdentity(gimbalapply.ClusterIdentity().WithObject(clusterid.NamespaceSystem).WithID(by.ClusterID()))
	if err := d.c.Status().Apply(t.Context(), gimbalapply.DiscoveryBackend(b.Name, b.Namespace).WithStatus(status), client.FieldOwner("groundskeeper-discoverer-identity")); err != nil {
		t.Fatal(err)
	}
	d.is(t, by, kubernikusv1.ConditionClusterUnique, "False/SameClusterBackend")
	if ready := meta.FindStatusCondition(by.Status.Conditions, "Ready"); ready == nil || ready.Reason == kubernikusv1.ReasonSameClusterBackend {
		t.Errorf("Ready = %+v, want no dependence on the backend", ready)
	}
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		c := meta.FindStatusCondition(b.Status.Conditions, gimbalv1.ConditionClusterUnique)
		if c == nil || c.Reason != gimbalv1.ReasonSameClusterKluster || !strings.Contains(c.Message, "Kluster garden/by-name") {
			return fmt.Errorf("ClusterUnique = %+v, want the Kluster garden/by-name in it", c)
		}
		return nil
	})
	k := register(d.namespace, "beside-backend", "web-secret", kubeconfig, nil)
	d.is(t, k, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return err
		}
		c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique)
		for _, part := range []string{"Kluster garden/by-name", "DiscoveryBackend garden/manual"} {
			if c == nil || !strings.Contains(c.Message, part) {
				return fmt.Errorf("ClusterUnique = %+v, want %s in it", c, part)
			}
		}
		return nil
	})
	remove(k)
	d.is(t, k, kubernikusv1.ConditionDeorbited, "Unknown/SameCluster")
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionDeorbited); !strings.Contains(c.Message, "DiscoveryBackend garden/manual") {
		t.Errorf("message = %q, want the name of the backend in it", c.Message)
	}
	untouched()
	detach(k)
	if err := errors.Join(confirm(t.Context(), d.c, b), d.c.Delete(t.Context(), b)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(by), by); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(by.Status.Conditions, kubernikusv1.ConditionClusterUnique); c != nil {
			return fmt.Errorf("ClusterUnique = %+v, want none", c)
		}
		return nil
	})
}
