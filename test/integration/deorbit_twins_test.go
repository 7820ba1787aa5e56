// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDeorbitTwins checks that a cluster is not touched while another Kluster leads to it: with the same Secret or another one, in another
// namespace, by another name of its API server, paused, and when it appears in the middle; and that the last one takes it down.
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
		for _, part := range []string{"Warning: Kluster " + other + " leads to the same cluster", kubernikusv1.DetachAnnotation + "=true"} {
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
		want                    string
	}{
		{"same-secret", d.namespace, "web-secret", byAddress, nil, "Unknown/SameCluster"},
		{"paused", "garden", "paused-secret", byAddress, map[string]string{"groundskeeper.io/paused": "true"}, "Unknown/SameCluster"},
		{"by-name", "garden", "by-name-secret", byName, nil, "Unknown/SameCluster"},
	} {
		twin := register(c.namespace, c.name, c.secret, c.kubeconfig, c.annotations)
		k := register(d.namespace, "web-old", "web-secret", byAddress, nil)
		d.is(t, k, kubernikusv1.ConditionClusterUnique, "False/SameCluster")
		warns(k, c.namespace+"/"+c.name)
		remove(k)
		d.is(t, k, kubernikusv1.ConditionDeorbited, c.want)
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
	// One that is being torn down alone, and a twin that appears then.
	twin := &kubernikusv1.Kluster{}
	if err := d.c.Get(t.Context(), client.ObjectKey{Namespace: "garden", Name: "by-name"}, twin); err != nil {
		t.Fatal(err)
	}
	o.patch(claim, `{"metadata":{"finalizers":["example.com/keep"]}}`)
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
