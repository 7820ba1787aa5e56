// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/test/standin"
)

// prepare gives the cluster the permissions of Groundskeeper, and what others have in it.
func (r *responding) prepare() {
	patiently(r.T, func(ctx context.Context) error {
		apply := exec.CommandContext(ctx, r.workload.Kubectl(), "--kubeconfig", r.workload.AdminKubeconfig(), "apply", "-k", "../../artifacts/kluster/workload")
		if out, err := apply.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	})
	r.kubeconfig = filepath.Join(r.TempDir(), "kubeconfig")
	const account = "system:serviceaccount:groundskeeper-system:groundskeeper-kluster"
	if err := r.workload.KubeconfigFor(r.kubeconfig, account, "system:serviceaccounts", "system:serviceaccounts:groundskeeper-system"); err != nil {
		r.Fatal(err)
	}
	r.make(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: respondingName}})
	patiently(r.T, func(ctx context.Context) error { // pods require it
		return r.w.Get(ctx, client.ObjectKey{Namespace: respondingName, Name: "default"}, &corev1.ServiceAccount{})
	})
	for name, policy := range map[string]corev1.PersistentVolumeReclaimPolicy{"cinder": corev1.PersistentVolumeReclaimDelete, "kept": corev1.PersistentVolumeReclaimRetain} {
		r.make(&storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: cinderDriver, ReclaimPolicy: &policy,
			VolumeBindingMode: new(storagev1.VolumeBindingImmediate)})
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "foreign", Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": foreignDriver}}}
	claim := pending(respondingName, "foreign", "")
	claim.Spec.VolumeName = volume.Name
	volume.Spec.AccessModes, volume.Spec.Capacity = claim.Spec.AccessModes, claim.Spec.Resources.Requests
	volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimDelete
	volume.Spec.CSI = &corev1.CSIPersistentVolumeSource{Driver: foreignDriver, VolumeHandle: volume.Name}
	classed := balancer(respondingName, "classed", func(s *corev1.Service) { s.Spec.LoadBalancerClass, s.Finalizers = new("example.com/lb"), nil })
	internal := balancer(respondingName, "internal", func(s *corev1.Service) { s.Spec.Type, s.Finalizers = corev1.ServiceTypeClusterIP, nil })
	r.foreign = []client.Object{volume, claim, classed, internal}
	r.make(r.foreign...)
	r.bound(claim)
}

// make creates objects in the cluster. It may still be frozen for a moment.
func (r *responding) make(objects ...client.Object) {
	for _, object := range objects {
		patiently(r.T, func(ctx context.Context) error { return r.w.Create(ctx, object) })
	}
}

// bound waits until a claim has its volume, and returns that.
func (r *responding) bound(claim *corev1.PersistentVolumeClaim) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{}
	patiently(r.T, func(ctx context.Context) error {
		if err := r.w.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if claim.Status.Phase != corev1.ClaimBound {
			return fmt.Errorf("claim %s is %s", claim.Name, claim.Status.Phase)
		}
		return r.w.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume)
	})
	return volume
}

// play starts the cloud controller and the CSI driver.
func (r *responding) play(k *kubernikusv1.Kluster) {
	clientset, err := kubernetes.NewForConfig(r.workload.Config())
	if err != nil {
		r.Fatal(err)
	}
	cloud := standin.Credentials{AuthURL: r.klusters.cloud.AuthURL(), User: "gardener", Password: "first", Project: "garden"}
	r.player, err = standin.Start(context.WithoutCancel(r.Context()), standin.Config{Kubernetes: clientset, Cloud: cloud, ClusterName: k.ClusterName(),
		ClusterID: k.CSIClusterID(), SubnetID: k.Status.Openstack.LBSubnetID, FloatingNetworkID: r.external})
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(r.player.Stop)
}

// fill creates claims, a pod and Services in the cluster, and returns them when they have what they need in OpenStack.
func (r *responding) fill() inventory {
	has := inventory{resources: map[string]string{}}
	cloud := r.klusters.cloud
	before := inCloud(cloud)
	keeps := func(id, what string) {
		if inCloud(cloud)[id] == "" || before[id] != "" {
			r.Fatalf("OpenStack has no new %s for %s", id, what)
		}
		r.ledger.keep(id, what)
	}
	kept := pending(respondingName, "kept", "kept")
	claims := []*corev1.PersistentVolumeClaim{kept}
	for i := range 1 + r.random.IntN(3) {
		claims = append(claims, pending(respondingName, fmt.Sprintf("data-%d", i), "cinder"))
	}
	var services []*corev1.Service
	for i := range 1 + r.random.IntN(2) {
		services = append(services, balancer(respondingName, fmt.Sprintf("web-%d", i)))
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: respondingName, Name: "user"}}
	pod.Spec.NodeName = "deleted" // no kubelet terminates it
	pod.Spec.TerminationGracePeriodSeconds = new(int64(1))
	pod.Spec.Containers = []corev1.Container{{Name: "main", Image: "none"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data-0"}}}}
	for _, claim := range claims {
		r.make(claim)
		has.objects = append(has.objects, claim)
	}
	for _, service := range services {
		r.make(service)
		has.objects = append(has.objects, service)
	}
	r.make(pod)
	has.objects = append(has.objects, pod)
	for _, claim := range claims {
		volume := r.bound(claim)
		id := volume.Spec.CSI.VolumeHandle
		keeps(id, "volume of claim "+claim.Name)
		if claim == kept {
			has.retained = volume
			continue
		}
		has.objects, has.resources[id] = append(has.objects, volume), "volume of claim "+claim.Name
	}
	for _, service := range services {
		patiently(r.T, func(ctx context.Context) error { // its address is written last
			if err := r.w.Get(ctx, client.ObjectKeyFromObject(service), service); err != nil || len(service.Status.LoadBalancer.Ingress) == 0 {
				return fmt.Errorf("service %s has no address: %w", service.Name, err)
			}
			return nil
		})
		wanted := []string{"load balancer kube_service_" + respondingName + "_" + respondingName + "_" + service.Name,
			"floating IP " + service.Status.LoadBalancer.Ingress[0].IP, "security group lb-sg-" + string(service.UID)}
		for id, what := range inCloud(cloud) {
			if slices.ContainsFunc(wanted, func(prefix string) bool { return strings.HasPrefix(what, prefix) }) {
				keeps(id, what)
				has.resources[id] = what
			}
		}
	}
	if want := len(claims) - 1 + 3*len(services); len(has.resources) != want {
		r.Fatalf("the cluster has %v in OpenStack, want %d resources", has.resources, want)
	}
	return has
}
