// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capi

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	"groundskeeper.io/groundskeeper/test/support/capitest"
)

// topology creates a control plane, and returns the fields of a Cluster with a topology that has it.
func (w *world) topology(name string) string {
	w.Helper()
	w.Create(w.Object(`
apiVersion: controlplane.cluster.x-k8s.io/v1beta1
kind: StandInControlPlane
metadata: {name: %s, namespace: %s}
spec: {version: v1.36.3}
`, name, capitest.Namespace))
	return `topology: {classRef: {name: class}, version: v1.36.3}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: StandInControlPlane, name: ` + name + `}`
}

// extension registers the Runtime Extension as artifacts/capi/runtime-extension does, besides its address, and creates a ClusterClass. Its
// templates do not exist: the topology controller creates nothing, and calls the hooks.
func (w *world) extension() {
	w.Helper()
	text, err := os.ReadFile("../../artifacts/capi/runtime-extension/extensionconfig.yaml")
	if err != nil {
		w.Fatal(err)
	}
	config := w.Object("%s", text)
	// The webhooks and the extension have the same address.
	webhooks := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	if err := w.Client.Get(w.Context(), client.ObjectKey{Name: "groundskeeper"}, webhooks); err != nil {
		w.Fatal(err)
	}
	address := strings.TrimSuffix(*webhooks.Webhooks[0].ClientConfig.URL, "/webhooks/validate-namespace-deletion")
	if err := unstructured.SetNestedMap(config.Object, map[string]any{"url": address}, "spec", "clientConfig"); err != nil {
		w.Fatal(err)
	}
	w.Create(config)
	w.Kubectl("", "wait", "--for=condition=Discovered", "--timeout=2m", "extensionconfig/groundskeeper")
	w.Create(w.Object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: ClusterClass
metadata: {name: class, namespace: %s}
spec:
  infrastructure: {templateRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: OpenStackClusterTemplate, name: none}}
  controlPlane: {templateRef: {apiVersion: controlplane.cluster.x-k8s.io/v1beta2, kind: KubeadmControlPlaneTemplate, name: none}}
`, capitest.Namespace))
}

// ends waits until a Cluster that is being deleted and its Kluster have been deleted, and checks that its Machine is retained for that.
func (w *world) ends(cluster *unstructured.Unstructured, k *kubernikusv1.Kluster, machine *unstructured.Unstructured) {
	w.Helper()
	retained := false
	w.Eventually("the deletion of the Cluster", func(ctx context.Context) error {
		now := &kubernikusv1.Kluster{}
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(k), now); err == nil && now.Status.Deorbit != nil {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(machine), machine); err == nil && machine.GetDeletionTimestamp().IsZero() {
				retained = true
			} else if at := now.Status.Deorbit.Stage; err == nil && slices.Contains([]kubernikusv1.DeorbitStage{kubernikusv1.DeorbitFreeze, kubernikusv1.DeorbitPods, kubernikusv1.DeorbitClaims}, at) {
				w.Errorf("the Machine is deleted in stage %s", at)
			}
		}
		return w.Deleted(ctx, cluster)
	})
	if !retained {
		w.Error("the Machine was never retained")
	}
	w.Eventually("the deletion of the Kluster", func(ctx context.Context) error { return w.Deleted(ctx, k) })
}

// The Runtime Extension retains a Cluster with a topology, and its Machines have no hooks.
func TestRuntimeExtension(t *testing.T) {
	w := newWorld(t, ", runtimeExtension: true")
	w.extension()
	l := w.Workload()
	cluster := w.Cluster(capitest.Namespace, "web", w.topology("web"), l.Kubeconfig(), "web-cp")
	k := w.Kluster(capitest.Namespace, "web")
	w.fill(l, k)
	check := w.neighbors()
	machine := capitest.NewMachine("web-cp")
	if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil || machine.GetAnnotations()[desired.AnnotationHook] != "" {
		t.Errorf("%v, the Machine has annotations %v", err, machine.GetAnnotations())
	}
	if err := w.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	w.ends(cluster, k, machine)
	check()

	// A Cluster that is not selected is deleted without delay.
	other := w.Cluster(capitest.Namespace, "other", w.topology("other"), l.Kubeconfig(), "other-cp")
	w.Eventually("the deselection", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(other), other); err != nil {
			return err
		}
		if err := unstructured.SetNestedField(other.Object, "false", "metadata", "labels", "groundskeeper.io/deorbit"); err != nil {
			return err
		}
		return w.Client.Update(ctx, other)
	})
	if err := w.Client.Delete(t.Context(), other); err != nil {
		t.Fatal(err)
	}
	w.Eventually("the deletion of a Cluster that is not selected", func(ctx context.Context) error { return w.Deleted(ctx, other) })
}

// While the Runtime Extension does not respond, Cluster API deletes nothing, and the Cluster has the reason, also when Cluster API itself is
// started meanwhile. It deletes the Cluster when the extension is back, whatever its CA is then.
func TestRuntimeExtensionIsUnavailable(t *testing.T) {
	w := newWorld(t, ", runtimeExtension: true")
	w.extension()
	l := w.Workload()
	cluster := w.Cluster(capitest.Namespace, "web", w.topology("web"), l.Kubeconfig(), "web-cp")
	k := w.Kluster(capitest.Namespace, "web")
	w.fill(l, k)
	check := w.neighbors()
	machine := capitest.NewMachine("web-cp")
	// The deletion takes as long as this protects the Kluster.
	w.Kubectl("", "annotate", "kluster", "--namespace="+capitest.Namespace, "web", kubernikusv1.TerminationProtectionAnnotation+"=true")
	before := w.resources(k.RouterID())
	// says waits until the Cluster reports a text about the hook, and checks that everything is there.
	says := func(text string) {
		t.Helper()
		w.Eventually("the report of the Cluster", func(ctx context.Context) error {
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(cluster), cluster); err != nil {
				return err
			}
			if message := conditionOf(cluster, "TopologyReconciled"); !strings.Contains(message, text) {
				return fmt.Errorf("it reports %q, want %q", message, text)
			}
			return nil
		})
		if err := w.Client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine); err != nil || !machine.GetDeletionTimestamp().IsZero() {
			t.Errorf("%v, the Machine is deleted at %v", err, machine.GetDeletionTimestamp())
		}
		if _, passed := cluster.GetAnnotations()["runtime.cluster.x-k8s.io/ok-to-delete"]; passed || w.resources(k.RouterID()) != before {
			t.Errorf("the hook was passed: %t, left are\n%s\nwant\n%s", passed, w.resources(k.RouterID()), before)
		}
	}
	replaced := w.anotherCA()

	if err := w.Plane.Managers[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Client.Delete(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	says("connection refused")
	w.Kubectl("", "delete", "secret", "--namespace="+certificate.Namespace, certificate.Name)
	w.StopClusterAPI()
	w.StartClusterAPI()
	w.Logged(w.ClusterAPILog(), "registry warmup failed")
	says("connection refused")
	if err := w.StartManager(t.Context()); err != nil {
		t.Fatal(err)
	}
	replaced()
	says("TerminationProtected")
	w.Kubectl("", "delete", "secret", "--namespace="+certificate.Namespace, certificate.Name)
	replaced()
	says("TerminationProtected")
	w.Kubectl("", "annotate", "kluster", "--namespace="+capitest.Namespace, "web", kubernikusv1.TerminationProtectionAnnotation+"-")
	w.ends(cluster, k, machine)
	check()
}

// certificate is the Secret with the certificate of the Runtime Extension.
var certificate = client.ObjectKey{Namespace: "groundskeeper-system", Name: "groundskeeper-controller-manager-tls"}

// anotherCA returns a function that waits until Cluster API has discovered the Runtime Extension with another CA than at the last call.
func (w *world) anotherCA() (replaced func()) {
	read := func(ctx context.Context) (ca string, err error) {
		config := capitest.NewObject("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig", "", "groundskeeper")
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(config), config); err != nil {
			return "", err
		}
		ca, _, _ = unstructured.NestedString(config.Object, "spec", "clientConfig", "caBundle")
		return ca, nil
	}
	last, err := read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return func() {
		w.Helper()
		w.Eventually("another CA", func(ctx context.Context) error {
			now, err := read(ctx)
			if err == nil && now == last {
				err = errors.New("Cluster API has the same CA as before")
			}
			if err == nil {
				last = now
			}
			return err
		})
		w.Kubectl("", "wait", "--for=condition=Discovered", "--timeout=2m", "extensionconfig/groundskeeper")
	}
}

// conditionOf returns the message of a condition of a Cluster, "" for none.
func conditionOf(cluster *unstructured.Unstructured, kind string) (message string) {
	conditions, _, _ := unstructured.NestedSlice(cluster.Object, "status", "conditions")
	for _, each := range conditions {
		if c, _ := each.(map[string]any); c["type"] == kind {
			message, _ = c["message"].(string)
		}
	}
	return message
}
