// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
)

// volumes reads the PersistentVolumes, and the servers that those of Cinder are attached to.
func (c *Connection) volumes(ctx context.Context, world *inventory.World) error {
	volumes, err := whole(ctx, c.kube.CoreV1().PersistentVolumes().List, all(inventory.VolumeOf))
	if err != nil {
		return c.listed(ctx, coreAPI, "persistentvolumes", err)
	}
	world.SetVolumes(volumes)
	if !slices.ContainsFunc(world.Volumes, func(v inventory.Volume) bool { return v.ID != "" }) {
		return nil
	}
	return c.attachments(ctx, world)
}

// attachments reads the VolumeAttachments, and the nodes that they name. A user with an earlier version of the role may not list
// them: then it is not known which server a volume may be detached from, and none is.
func (c *Connection) attachments(ctx context.Context, world *inventory.World) error {
	found, err := whole(ctx, c.kube.StorageV1().VolumeAttachments().List, inventory.AttachmentOf)
	if apierrors.IsForbidden(err) || err == nil && len(found) == 0 {
		return nil
	}
	if err := c.listed(ctx, storageAPI, "volumeattachments", err); err != nil {
		return err
	}
	servers := map[string]string{}
	_, err = whole(ctx, c.kube.CoreV1().Nodes().List, func(node *corev1.Node) (struct{}, bool) {
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
	_, err := whole(ctx, c.kube.CoreV1().Pods(metav1.NamespaceSystem).List, func(pod *corev1.Pod) (struct{}, bool) {
		world.NamesOf(pod)
		return struct{}{}, false
	})
	return c.listed(ctx, coreAPI, "pods", err)
}

func (c *Connection) claims(ctx context.Context, world *inventory.World) (err error) {
	world.Claims, err = whole(ctx, c.kube.CoreV1().PersistentVolumeClaims(metav1.NamespaceAll).List, all(inventory.ClaimOf))
	world.Listed.Claims = err == nil
	if err := c.listed(ctx, coreAPI, "persistentvolumeclaims", err); err != nil {
		return err
	}
	world.Classes, err = whole(ctx, c.kube.StorageV1().StorageClasses().List, all(inventory.ClassOf))
	return c.listed(ctx, storageAPI, "storageclasses", err)
}

func (c *Connection) pods(ctx context.Context, world *inventory.World) (err error) {
	world.Pods, err = whole(ctx, c.kube.CoreV1().Pods(metav1.NamespaceAll).List, func(pod *corev1.Pod) (inventory.Pod, bool) {
		kept := inventory.PodOf(pod)
		return kept, len(kept.Claims) > 0
	})
	if err := c.listed(ctx, coreAPI, "pods", err); err != nil {
		return err
	}
	ready, err := whole(ctx, c.kube.CoreV1().Nodes().List, func(node *corev1.Node) (string, bool) {
		return node.Name, inventory.IsReady(node)
	})
	world.Ready = map[string]bool{}
	for _, name := range ready {
		world.Ready[name] = true
	}
	return c.listed(ctx, coreAPI, "nodes", err)
}

// services reads the Services and the Ingresses, and remembers which of them have the finalizer of a cloud provider.
func (c *Connection) services(ctx context.Context, world *inventory.World) error {
	ingresses, err := whole(ctx, c.kube.NetworkingV1().Ingresses(metav1.NamespaceAll).List, inventory.IngressOf)
	if err := c.listed(ctx, "/apis/networking.k8s.io/v1", "ingresses", err); err != nil {
		return err
	}
	services, err := whole(ctx, c.kube.CoreV1().Services(metav1.NamespaceAll).List, inventory.ServiceOf)
	if err != nil {
		return c.listed(ctx, coreAPI, "services", err)
	}
	for _, s := range services {
		if s.Finalized() {
			c.finalized[s.UID] = true
		}
	}
	world.SetServices(services, ingresses)
	return nil
}

// snapshotVersions are those of the snapshots' API that there are, the best first.
var snapshotVersions = []string{"v1", "v1beta1", "v1alpha1"}

// snapshots reads what the cluster has of snapshots, which may be nothing. That they cannot be listed may not be the API server's
// fault, but that of a webhook that converts them. Then no snapshot is in the world, and trouble reports why.
func (c *Connection) snapshots(ctx context.Context, world *inventory.World) (trouble []kubernikusv1.DeorbitObject, err error) {
	failed := c.listSnapshots(ctx, world)
	if failed == nil {
		return nil, nil
	}
	world.Snapshots, world.Contents = nil, nil
	if _, ok := errors.AsType[*apierrors.StatusError](failed); !ok {
		return nil, failed
	}
	if _, err := c.ID(ctx); err != nil {
		return nil, err
	}
	return []kubernikusv1.DeorbitObject{{Kind: plan.KindSnapshot, Reason: failed.Error()}}, nil
}

// listSnapshots reads snapshots before their contents: what was bound when the snapshot was read has its content then.
func (c *Connection) listSnapshots(ctx context.Context, world *inventory.World) (err error) {
	served := map[string]bool{}
	for _, version := range snapshotVersions {
		world.SnapshotVersion = version
		if served, err = c.served(ctx, "/apis/"+plan.SnapshotGroup+"/"+version); err != nil {
			return err
		}
		if len(served) > 0 {
			break
		}
	}
	if world.Snapshots, err = custom(ctx, c, served, "volumesnapshots", world.SnapshotVersion, inventory.SnapshotOf); err != nil {
		return err
	}
	classes, err := custom(ctx, c, served, "volumesnapshotclasses", world.SnapshotVersion, inventory.SnapshotClassOf)
	if err != nil {
		return err
	}
	world.SnapshotDrivers = map[string]string{}
	for _, class := range classes {
		world.SnapshotDrivers[class.Name] = class.Driver
	}
	world.Contents, err = custom(ctx, c, served, "volumesnapshotcontents", world.SnapshotVersion, inventory.ContentOf)
	world.Listed.Snapshots, world.SnapshotsServed = err == nil, served["volumesnapshotcontents"]
	return err
}

// custom lists a kind of snapshots' API, of which there are none when it is not served.
func custom[K any](
	ctx context.Context, c *Connection, served map[string]bool, resource, version string, keep func(*unstructured.Unstructured) K,
) ([]K, error) {
	if !served[resource] {
		return nil, nil
	}
	client := c.dynamic.Resource(schema.GroupVersionResource{Group: plan.SnapshotGroup, Version: version, Resource: resource})
	kept, err := whole(ctx, client.List, all(keep))
	return kept, c.listed(ctx, "/apis/"+plan.SnapshotGroup+"/"+version, resource, err)
}

// pageSize is how many objects the API server is queried for at a time.
const pageSize = 500

type page interface {
	runtime.Object
	metav1.ListInterface
}

// errNoAPIServer is the failure of what responds, but not as an API server of Kubernetes.
var errNoAPIServer = errors.New("what responds is no API server of Kubernetes")

// whole lists all objects of a kind, page by page, and keeps of each what keep returns. It is whole, or an error.
func whole[L page, O runtime.Object, K any](
	ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error), keep func(O) (K, bool),
) ([]K, error) {
	options := metav1.ListOptions{Limit: pageSize}
	var kept []K
	for {
		part, err := list(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Limit > 0 {
			// The listing took longer than the API server remembers: all objects in one response then.
			options, kept = metav1.ListOptions{}, nil
			continue
		}
		if err != nil {
			return nil, err
		}
		if part.GetResourceVersion() == "" {
			return nil, errNoAPIServer // every listing has one: what is decoded into nothing is not an empty cluster
		}
		if err := meta.EachListItem(part, func(object runtime.Object) error {
			if k, ok := keep(object.(O)); ok {
				kept = append(kept, k)
			}
			return nil
		}); err != nil {
			return nil, err
		}
		if options.Continue = part.GetContinue(); options.Continue == "" {
			return kept, nil
		}
	}
}

// all makes a function that keeps every object.
func all[O, K any](keep func(O) K) func(O) (K, bool) {
	return func(object O) (K, bool) { return keep(object), true }
}

// listed ends a listing of a resource that every cluster has. A 404 means that this one does not, if its own list of resources
// lacks the resource, too: otherwise it is not the API server that responds.
func (c *Connection) listed(ctx context.Context, path, resource string, err error) error {
	if !apierrors.IsNotFound(err) {
		return c.failed("list "+resource, err)
	}
	served, discovery := c.served(ctx, path)
	if discovery != nil {
		return discovery
	}
	if served[resource] {
		return c.failed("list "+resource, err)
	}
	return nil
}

// Paths of groups and versions. coreAPI is where every API server has what it is made for.
const (
	coreAPI    = "/api/v1"
	storageAPI = "/apis/storage.k8s.io/v1"
)

// served returns the resources of a group and version, none when the cluster does not have it. That is taken only from what is an
// API server: a proxy in front of one that has been deleted responds with 404, too.
func (c *Connection) served(ctx context.Context, path string) (map[string]bool, error) {
	list := &metav1.APIResourceList{}
	err := c.kube.Discovery().RESTClient().Get().AbsPath(path).Do(ctx).Into(list)
	if apierrors.IsNotFound(err) && path != coreAPI {
		_, err := c.served(ctx, coreAPI)
		return nil, err
	}
	if err != nil {
		return nil, c.failed("get "+path, err)
	}
	resources := map[string]bool{}
	for _, r := range list.APIResources {
		resources[r.Name] = true
	}
	if path == coreAPI && !resources["namespaces"] {
		return nil, c.failed("get "+path, errNoAPIServer)
	}
	return resources, nil
}
