// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/test/plane"
)

// rareConfig continues from the configuration of a network.
const rareConfig = `
  project:
    quotas:
    - config: {spec: {hard: {count/configmaps: "100"}}}
  localVolume: {storageClassNames: [rare], pvcDeletionDelay: 1s, deletePendingPods: true, csiDrivers: [{name: ` + csiDriver + `, topologyKey: ` + csiNodeLabel + `}],
    driverGracePeriod: 1s, releaseCSIVolumes: true}
`

// TestPermissionsThatAreRarelyNeeded exercises permissions that the controller manager rarely needs.
func TestPermissionsThatAreRarelyNeeded(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, func(options *plane.Options) {
		config, err := os.ReadFile(options.ManagerConfig)
		if err != nil {
			t.Fatal(err)
		}
		options.ManagerConfig = write(t, string(config)+rareConfig)
		options.KubeControllers = []string{"persistentvolume-binder-controller", "persistentvolumeclaim-protection-controller", "persistentvolume-protection-controller"}
	})
	t.Run("objects of a project without their labels", n.lostLabels)
	t.Run("a pod that waits for a claim that has been deleted", n.pendingPod)
	t.Run("a volume whose driver has been deleted with its node", n.releasedVolume)
	t.Run("certificates of etcd that cannot be used", n.etcdCertificates)
	t.Run("a pod that is recreated", n.recreatePod)
}

// Objects without the label of their Project are not in the cache, and are there when they are made again.
func (n *network) lostLabels(t *testing.T) {
	project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: "rare"}, Spec: gardenerv1beta1.ProjectSpec{
		Members: []gardenerv1beta1.ProjectMember{olivia(), member("User", "mara", "viewer")}}}
	if err := n.c.Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return isReady(ctx, n.c, project) })
	ofProject := client.MatchingLabels{gardenerv1beta1.LabelProjectName: project.Name}
	for _, list := range []client.ObjectList{&corev1.ResourceQuotaList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{}, &rbacv1.RoleBindingList{}} {
		if err := n.c.List(t.Context(), list, ofProject); err != nil {
			t.Fatal(err)
		}
		objects, err := meta.ExtractList(list)
		if err != nil || len(objects) == 0 {
			t.Errorf("the project has no %T: %v", list, err)
		}
		for _, found := range objects {
			object := found.(client.Object)
			if err := n.c.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))); err != nil {
				t.Fatal(err)
			}
			eventually(t, func(ctx context.Context) error {
				if err := n.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil || object.GetLabels()[gardenerv1beta1.LabelProjectName] != project.Name {
					return fmt.Errorf("%T %s has labels %v: %w", object, object.GetName(), object.GetLabels(), err)
				}
				return nil
			})
		}
	}
	// Where the namespace stays, the quota is deleted with the Project even so.
	kept := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: project.NamespaceName()}}
	keep := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, gardenerv1beta1.AnnotationKeepNamespace)
	if err := n.c.Patch(t.Context(), kept, client.RawPatch(types.MergePatchType, keep)); err != nil {
		t.Fatal(err)
	}
	if err := remove(t.Context(), n.c, project); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		quotas := &corev1.ResourceQuotaList{}
		if err := errors.Join(confirmDeleted(ctx, n.c, project), n.c.List(ctx, quotas, client.InNamespace(kept.Name))); err != nil || len(quotas.Items) > 0 {
			return fmt.Errorf("%d quotas are left: %w", len(quotas.Items), err)
		}
		return n.c.Get(ctx, client.ObjectKeyFromObject(kept), kept)
	})
}

func (n *network) pendingPod(t *testing.T) {
	applyArtifacts(t, n.Plane, "local-volume/pending-pods")
	v := &volumes{t: t, c: n.c, class: "rare", ns: "rare"}
	v.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.ns}})
	v.create(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: v.class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingImmediate)})
	a := v.node("a")
	v.node("b")
	_, claim := v.bound("a", "a")
	pod := waitingPod(v.ns, claim.Name)
	eventually(t, func(ctx context.Context) error { return n.c.Create(ctx, pod) }) // its service account has to be there
	v.lose(a)
	v.absent(claim, pod)
}

// releasedVolume needs the class and the namespace of pendingPod.
func (n *network) releasedVolume(t *testing.T) {
	applyArtifacts(t, n.Plane, "local-volume/release-csi-volumes")
	v := &volumes{t: t, c: n.c, class: "rare", ns: "rare"}
	node := v.csiNode("driver")
	volume, claim := v.bound("disk", "driver", csi)
	v.lose(node)
	v.absent(claim, volume)
}

// waitingPod returns a pod that was not scheduled, because of a claim.
func waitingPod(namespace, claim string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "waits"}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
	return pod
}

// The resources that the controller manager maintains for the etcd of artifacts/install/high-availability are repaired.
func (n *network) etcdCertificates(t *testing.T) {
	applyArtifacts(t, n.Plane, "install/high-availability/etcd-certificates.yaml")
	var secrets []*corev1.Secret
	for _, name := range []string{"groundskeeper-etcd-ca", "groundskeeper-etcd-tls", "groundskeeper-etcd-client-tls"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "groundskeeper-system", Name: name, Labels: map[string]string{"groundskeeper.io/self-managed-certificate": "true"}}}
		secret.Type, secret.Data = corev1.SecretTypeTLS, map[string][]byte{corev1.TLSCertKey: []byte("none"), corev1.TLSPrivateKeyKey: []byte("none")}
		if err := n.c.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		secrets = append(secrets, secret)
	}
	if err := n.Managers[0].Restart(t.Context(), "--etcd-certificates"); err != nil {
		t.Fatal(err)
	}
	for _, secret := range secrets {
		eventually(t, func(ctx context.Context) error {
			if err := n.c.Get(ctx, client.ObjectKeyFromObject(secret), secret); err != nil {
				return err
			}
			_, err := tls.X509KeyPair(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey])
			return err
		})
	}
}

// A Pod takes over the Translations of the one that had its name, when garbage collection is slow.
func (n *network) recreatePod(t *testing.T) {
	n = n.on(t)
	ns := n.namespace("anew")
	n.node("node-a", "10.1.0.0/24", "192.0.2.1")
	const address = "10.1.0.10"
	pod := n.pod(ns, "web", "node-a", address)
	translation := &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pod.4.web"}}
	isOf := func(owner *corev1.Pod) {
		t.Helper()
		eventually(t, func(ctx context.Context) error {
			if err := n.c.Get(ctx, client.ObjectKeyFromObject(translation), translation); err != nil {
				return err
			}
			if refs := translation.OwnerReferences; len(refs) != 1 || refs[0].UID != owner.UID {
				return fmt.Errorf("%s belongs to %+v", translation.Name, refs)
			}
			return nil
		})
	}
	isOf(pod)
	if err := n.KubeControllerManager.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := n.c.Delete(t.Context(), pod, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	isOf(n.pod(ns, "web", "node-a", address))
}
