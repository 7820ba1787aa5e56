// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package capitest

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
)

// Object returns the object of a manifest.
func (w *World) Object(text string, values ...any) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(fmt.Appendf(nil, text, values...), &o.Object); err != nil {
		w.Fatal(err)
	}
	return o
}

// NewObject returns an object that names one.
func NewObject(apiVersion, kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// NewMachine returns an object that names a Machine.
func NewMachine(name string) *unstructured.Unstructured {
	return NewObject("cluster.x-k8s.io/v1beta2", "Machine", Namespace, name)
}

// Create creates an object.
func (w *World) Create(object client.Object) {
	w.Helper()
	if err := w.Client.Create(w.Context(), object); err != nil {
		w.Fatal(err)
	}
}

// Cluster creates a Cluster on OpenStack with Machines, and the Secrets that it has. The kubeconfig is that of its workload cluster, and
// spec has more fields.
func (w *World) Cluster(namespace, name, spec string, kubeconfig []byte, machines ...string) *unstructured.Unstructured {
	w.Helper()
	labels := map[string]string{desired.LabelClusterName: name}
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-cloud-config", Labels: map[string]string{desired.LabelMove: ""}}, Data: map[string][]byte{"clouds.yaml": []byte(w.cloud.CloudsYAML()), "cacert": []byte("\n")}})
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-kubeconfig", Labels: labels}, Data: map[string][]byte{"value": kubeconfig}, Type: "cluster.x-k8s.io/secret"})
	w.Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-bootstrap", Labels: labels}, Data: map[string][]byte{"value": []byte("#cloud-config")}})
	w.Create(w.Object(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackCluster
metadata: {name: %[1]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec: {identityRef: {name: %[1]s-cloud-config, cloudName: cloud}, managedSubnets: [{cidr: 10.6.0.0/24}]}
`, name, namespace))
	cluster := w.Object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata:
  name: %[1]s
  namespace: %[2]s
  labels: {groundskeeper.io/deorbit: "true"}
  annotations: {groundskeeper.io/cloud-provider-cluster-name: %[2]s-%[1]s, groundskeeper.io/csi-cluster-id: %[2]s-%[1]s}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.100.0.0/16]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackCluster, name: %[1]s}
  %[3]s
`, name, namespace, spec)
	w.Create(cluster)
	for _, machine := range machines {
		w.Create(w.Object(`
apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: OpenStackMachine
metadata: {name: %[3]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec: {flavor: small}
`, name, namespace, machine))
		w.Create(w.Object(`
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: %[3]s, namespace: %[2]s, labels: {cluster.x-k8s.io/cluster-name: %[1]s}}
spec:
  clusterName: %[1]s
  bootstrap: {dataSecretName: %[1]s-bootstrap}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: OpenStackMachine, name: %[3]s}
`, name, namespace, machine))
	}
	return cluster
}

// Kluster waits for the Kluster of a Cluster, until OpenStack was probed for it.
func (w *World) Kluster(namespace, name string) *kubernikusv1.Kluster {
	w.Helper()
	k := &kubernikusv1.Kluster{}
	w.Eventually("the Kluster", func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, k); err != nil {
			return err
		}
		if k.Status.Openstack == nil || k.Status.Openstack.LBSubnetID == "" {
			return fmt.Errorf("status = %+v", k.Status)
		}
		return nil
	})
	return k
}

// Hooked waits until each Machine has the hook.
func (w *World) Hooked(machines ...string) {
	w.Helper()
	w.Eventually("the hooks", func(ctx context.Context) error {
		for _, name := range machines {
			m := NewMachine(name)
			if err := w.Client.Get(ctx, client.ObjectKeyFromObject(m), m); err != nil {
				return err
			}
			if _, held := m.GetAnnotations()[desired.AnnotationHook]; !held {
				return fmt.Errorf("annotations of Machine %s: %v", name, m.GetAnnotations())
			}
		}
		return nil
	})
}

// Deleted reports an error as long as an object exists.
func (w *World) Deleted(ctx context.Context, object client.Object) error {
	err := w.Client.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err == nil {
		err = fmt.Errorf("%s exists", object.GetName())
	}
	return err
}
