// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
)

// volumes reads the PersistentVolumes, and the servers that those of Cinder are attached to.
func (c *Connection) volumes(ctx context.Context, world *inventory.World) (err error) {
	world.Volumes, err = whole(ctx, c.kube.CoreV1().PersistentVolumes().List,
		func(l *corev1.PersistentVolumeList) []corev1.PersistentVolume { return l.Items }, all(inventory.VolumeOf))
	world.Listed.Volumes = err == nil
	if err := c.listed(ctx, coreAPI, "persistentvolumes", err); err != nil {
		return err
	}
	if !slices.ContainsFunc(world.Volumes, func(v inventory.Volume) bool { return v.ID != "" }) {
		return nil
	}
	return c.attachments(ctx, world)
}

// attachments reads the VolumeAttachments, and the nodes that they name. A user with an earlier version of the role may not list
// them: then it is not known which server a volume may be detached from, and none is.
func (c *Connection) attachments(ctx context.Context, world *inventory.World) error {
	const path = "/apis/storage.k8s.io/v1"
	found, err := whole(ctx, c.kube.StorageV1().VolumeAttachments().List,
		func(l *storagev1.VolumeAttachmentList) []storagev1.VolumeAttachment { return l.Items }, inventory.AttachmentOf)
	if apierrors.IsForbidden(err) || err == nil && len(found) == 0 {
		return nil
	}
	if err := c.listed(ctx, path, "volumeattachments", err); err != nil {
		return err
	}
	servers := map[string]string{}
	_, err = whole(ctx, c.kube.CoreV1().Nodes().List, func(l *corev1.NodeList) []corev1.Node { return l.Items },
		func(node *corev1.Node) (struct{}, bool) {
			servers[node.Name] = inventory.ServerOf(node)
			return struct{}{}, false
		})
	if err == nil {
		world.Attach(found, servers)
	}
	return c.listed(ctx, coreAPI, "nodes", err)
}

// controllers reads with which names the OpenStack controllers run. They are trusted in namespace kube-system only: in others users
// could run pods who are no administrators of the cluster, and things are deleted by the names.
func (c *Connection) controllers(ctx context.Context, world *inventory.World) error {
	_, err := whole(ctx, c.kube.CoreV1().Pods(metav1.NamespaceSystem).List, func(l *corev1.PodList) []corev1.Pod { return l.Items },
		func(pod *corev1.Pod) (struct{}, bool) {
			world.NamesOf(pod)
			return struct{}{}, false
		})
	return c.listed(ctx, coreAPI, "pods", err)
}

// claims reads the claims and the classes.
func (c *Connection) claims(ctx context.Context, world *inventory.World) (err error) {
	world.Claims, err = whole(ctx, c.kube.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List,
		func(l *corev1.PersistentVolumeClaimList) []corev1.PersistentVolumeClaim { return l.Items }, all(inventory.ClaimOf))
	world.Listed.Claims = err == nil
	if err := c.listed(ctx, coreAPI, "persistentvolumeclaims", err); err != nil {
		return err
	}
	world.Classes, err = whole(ctx, c.kube.StorageV1().StorageClasses().List,
		func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items }, all(inventory.ClassOf))
	return c.listed(ctx, "/apis/storage.k8s.io/v1", "storageclasses", err)
}

// pods reads the pods with claims, and the nodes.
func (c *Connection) pods(ctx context.Context, world *inventory.World) (err error) {
	world.Pods, err = whole(ctx, c.kube.CoreV1().Pods(metav1.NamespaceAll).List,
		func(l *corev1.PodList) []corev1.Pod { return l.Items },
		func(pod *corev1.Pod) (inventory.Pod, bool) {
			kept := inventory.PodOf(pod)
			return kept, len(kept.Claims) > 0
		})
	if err := c.listed(ctx, coreAPI, "pods", err); err != nil {
		return err
	}
	ready, err := whole(ctx, c.kube.CoreV1().Nodes().List, func(l *corev1.NodeList) []corev1.Node { return l.Items },
		func(node *corev1.Node) (string, bool) { return node.Name, inventory.IsReady(node) })
	world.Ready = map[string]bool{}
	for _, name := range ready {
		world.Ready[name] = true
	}
	return c.listed(ctx, coreAPI, "nodes", err)
}

// services reads the Services and the Ingresses, and remembers which of them have the finalizer of a cloud provider.
func (c *Connection) services(ctx context.Context, world *inventory.World) (err error) {
	ingresses, err := whole(ctx, c.kube.NetworkingV1().Ingresses(metav1.NamespaceAll).List,
		func(l *networkingv1.IngressList) []networkingv1.Ingress { return l.Items }, inventory.IngressOf)
	if err := c.listed(ctx, "/apis/networking.k8s.io/v1", "ingresses", err); err != nil {
		return err
	}
	world.Services, err = whole(ctx, c.kube.CoreV1().Services(metav1.NamespaceAll).List,
		func(l *corev1.ServiceList) []corev1.Service { return l.Items }, inventory.ServiceOf)
	world.Listed.Services = err == nil
	for _, s := range world.Services {
		if s.Finalized() {
			c.finalized[s.UID] = true
		}
	}
	world.Services = append(world.Services, ingresses...)
	return c.listed(ctx, coreAPI, "services", err)
}
