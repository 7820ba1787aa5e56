// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/audit"
	"groundskeeper.io/groundskeeper/test/plane"
)

// newAggregatedGardener returns a cluster whose Projects another aggregated server serves. It takes a server of Groundskeeper,
// which runs standalone without the cluster, in place of Gardener's.
func newAggregatedGardener(t *testing.T) *gardener {
	t.Helper()
	g := &gardener{log: filepath.Join(t.TempDir(), "audit.log")}
	g.Plane = startPlane(t, plane.Options{Dir: t.TempDir(), KubeAPIServerFlags: []string{
		"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + g.log}})
	g.c = clientOf(t, g.Config())
	port := freePort(t)
	start(t, t.Context(), apiserver, append(onLoopback(port), "--standalone", "--embedded-etcd-dir="+t.TempDir(), "--embedded-etcd-unsafe-no-fsync",
		"--tls-cert-file="+pki(g.Plane, "kube-apiserver.crt"), "--tls-private-key-file="+pki(g.Plane, "kube-apiserver.key"))...)
	var number int64
	if _, err := fmt.Sscan(port, &number); err != nil {
		t.Fatal(err)
	}
	service := g.registration(gardenerv1beta1.SchemeGroupVersion.Version, gardenerv1beta1.GroupName)
	service.Object["spec"] = map[string]any{
		"group": gardenerv1beta1.GroupName, "version": gardenerv1beta1.SchemeGroupVersion.Version,
		"groupPriorityMinimum": int64(10000), "versionPriority": int64(20), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": "garden", "name": "gardener-apiserver", "port": number},
	}
	for _, object := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "garden"}},
		&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "gardener-apiserver"}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "localhost"}},
		service,
	} {
		if err := g.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	awaitServed(t, g.Plane)
	return g
}

func (g *gardener) registration(version, group string) *unstructured.Unstructured {
	service := &unstructured.Unstructured{Object: map[string]any{}}
	service.SetAPIVersion("apiregistration.k8s.io/v1")
	service.SetKind("APIService")
	service.SetName(version + "." + group)
	return service
}

// serve runs the API server of an installation with its identity, on a port to which the installation is changed.
func (g *gardener) serve(t *testing.T, all manifests) *child {
	t.Helper()
	port := freePort(t)
	for _, name := range all.names("APIService") {
		var number int64
		if _, err := fmt.Sscan(port, &number); err != nil {
			t.Fatal(err)
		}
		if err := unstructured.SetNestedField(all["APIService "+name].Object, number, "spec", "service", "port"); err != nil {
			t.Fatal(err)
		}
	}
	all["Service "+apiserver].Object["spec"] = map[string]any{"type": "ExternalName", "externalName": "localhost"}
	// Its pods do not run here.
	delete(all, "ValidatingWebhookConfiguration groundskeeper")
	g.install(t, all)
	args := slices.DeleteFunc(all.args(t, apiserver), func(arg string) bool {
		return strings.HasPrefix(arg, "--secure-port") || strings.HasPrefix(arg, "--embedded-etcd-dir") || strings.HasPrefix(arg, "--shutdown")
	})
	return start(t, t.Context(), apiserver, append(append(args, onLoopback(port)...), "--kubeconfig="+g.account(t, audit.APIServer),
		"--embedded-etcd-dir="+t.TempDir(), "--embedded-etcd-unsafe-no-fsync")...)
}

// TestBesideGardener checks that Groundskeeper's API server serves only the resources that Gardener does not, and that
// Groundskeeper's controllers work with both API servers.
func TestBesideGardener(t *testing.T) {
	rare(t)
	t.Parallel()
	for name, cluster := range map[string]func(*testing.T) *gardener{"aggregated": newAggregatedGardener, "custom resources": newGardener} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := cluster(t)
			role := g.role(t)
			before := g.registration(gardenerv1beta1.SchemeGroupVersion.Version, gardenerv1beta1.GroupName)
			if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(before), before); err != nil {
				t.Fatal(err)
			}
			used, idle := g.unobserved(t, "used"), g.unobserved(t, "idle")
			// Their namespaces belong to Projects that the store of Groundskeeper's server lacks; it is not taken for a lost one.
			installation := rendered(t, "install/single-replica", "install/beside-gardener")
			server := g.serve(t, installation)
			kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: used.NamespaceName(), Name: "web"}}
			eventually(t, func(ctx context.Context) error {
				if err := g.c.Create(ctx, kluster.DeepCopy()); err != nil {
					return fmt.Errorf("%w; the server logged: %s", err, server.stderr.last())
				}
				return nil
			})
			g.observe(t, used)
			g.observe(t, idle)
			child := g.manage(t, installation, "--webhook-address=127.0.0.1:0")
			g.until(t, child, idle, isDeleted)
			g.until(t, child, used, isActive)
			if isDeleted(used) || used.Status.StaleSinceTimestamp != nil {
				t.Errorf("a project with a Kluster is marked: %+v", used.Status)
			}
			eventually(t, func(ctx context.Context) error { return g.reported(ctx, "v1.kubernikus.sap.cc") })
			after := before.DeepCopy()
			if err := g.c.Get(t.Context(), client.ObjectKeyFromObject(before), after); err != nil {
				t.Fatal(err)
			}
			if after.GetGeneration() != before.GetGeneration() || fmt.Sprint(after.Object["spec"]) != fmt.Sprint(before.Object["spec"]) {
				t.Errorf("Gardener's APIService is %v, was %v", after.Object["spec"], before.Object["spec"])
			}
			g.untouched(t, role)
			for _, resource := range g.written(t, audit.APIServer, audit.Manager) {
				if slices.Contains([]string{"namespaces", "clusterroles", "clusterrolebindings", "rolebindings"}, resource) {
					t.Errorf("Groundskeeper's processes write %s, as Gardener's do", resource)
				}
			}
		})
	}
}

// Reports whether clients of an APIService know the CA of Groundskeeper's server.
func (g *gardener) reported(ctx context.Context, name string) error {
	version, group, _ := strings.Cut(name, ".")
	service := g.registration(version, group)
	if err := g.c.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil {
		return err
	}
	encoded, _, _ := unstructured.NestedString(service.Object, "spec", "caBundle")
	if bundle, err := base64.StdEncoding.DecodeString(encoded); err != nil || len(bundle) == 0 {
		return fmt.Errorf("%s has no caBundle", name)
	}
	return nil
}
