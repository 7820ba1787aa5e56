// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package klustertwins is the admission plugin that warns of Klusters that lead to the same cluster: nothing in it is removed until all of
// them are being deleted.
//
// It rejects nothing. What it reads may be outdated, and a failed read is no reason to fail the request: the condition ClusterUnique and
// Deorbit report the same later.
package klustertwins

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// labelKluster is the label of a DiscoveryBackend that was created for a Kluster, with the UID of that.
const labelKluster = "groundskeeper.io/kluster-uid"

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "KlusterTwins"

// Plugin warns of Klusters that lead to the cluster of another one.
type Plugin struct {
	*admission.Handler
	client versioned.Interface
}

var _ admission.ValidationInterface = &Plugin{}

// New returns the plugin. It needs SetClient before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetClient gives the plugin a client of the server that it is part of, whose index finds the Klusters of a cluster.
func (p *Plugin) SetClient(client versioned.Interface) { p.client = client }

// Validate warns a user who creates a Kluster, changes its spec, or deletes it.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != kubernikusv1.Resource("klusters") {
		return nil
	}
	if a.GetOperation() == admission.Delete {
		if k, ok := a.GetOldObject().(*kubernikusv1.Kluster); ok && k.DeletionTimestamp.IsZero() && k.HasDeorbiter() && !k.Detached() {
			twins := p.twins(ctx, k)
			warn(ctx, deletionWarning(k, twins))
			warn(ctx, backendWarning(k, twins, p.backends(ctx, k)))
		}
		return nil
	}
	k, old, err := plugins.Objects[kubernikusv1.Kluster](a)
	if err != nil {
		return err
	}
	if old != nil && equality.Semantic.DeepEqual(old.Spec, k.Spec) {
		return nil
	}
	k = k.DeepCopy()
	k.Namespace = a.GetNamespace()
	warn(ctx, sameSecret(k, p.list(ctx, k.Namespace, metav1.ListOptions{})))
	warn(ctx, sameCluster(k, p.twins(ctx, k)))
	return nil
}

func warn(ctx context.Context, text string) {
	if text != "" {
		warning.AddWarning(ctx, "", text)
	}
}

// twins returns the Klusters that lead to the cluster of one, in all namespaces.
func (p *Plugin) twins(ctx context.Context, k *kubernikusv1.Kluster) []kubernikusv1.Kluster {
	if k.ClusterID() == "" {
		return nil
	}
	return p.list(ctx, metav1.NamespaceAll, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(kubernikusv1.KlusterClusterField, k.ClusterID()).String(),
	})
}

// list lists from the watch cache of the server. When that fails, there is nothing to warn of.
func (p *Plugin) list(ctx context.Context, namespace string, options metav1.ListOptions) []kubernikusv1.Kluster {
	options.ResourceVersion = "0"
	all, err := p.client.KubernikusV1().Klusters(namespace).List(ctx, options)
	if err != nil {
		return nil
	}
	return all.Items
}

// backends returns the DiscoveryBackends that copied the cluster of a Kluster, from the watch cache of the server.
func (p *Plugin) backends(ctx context.Context, k *kubernikusv1.Kluster) []gimbalv1.DiscoveryBackend {
	if k.ClusterID() == "" {
		return nil
	}
	all, err := p.client.GimbalV1().DiscoveryBackends(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(gimbalv1.ClusterIDField, k.ClusterID()).String(), ResourceVersion: "0",
	})
	if err != nil {
		return nil
	}
	return all.Items
}

// backendWarning warns of the DiscoveryBackends that keep the cluster of a Kluster that is deleted. Those that were created for it or for
// another Kluster of the cluster are withdrawn with that.
func backendWarning(k *kubernikusv1.Kluster, twins []kubernikusv1.Kluster, backends []gimbalv1.DiscoveryBackend) string {
	announcers := map[string]bool{string(k.UID): true}
	for i := range twins {
		announcers[string(twins[i].UID)] = true
	}
	var users []string
	for i := range backends {
		b := &backends[i]
		if clusterid.OfBackend(b) == k.ClusterID() && b.DeletionTimestamp.IsZero() && b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance &&
			!announcers[b.Labels[labelKluster]] {
			users = append(users, b.Namespace+"/"+b.Name)
		}
	}
	if len(users) == 0 {
		return ""
	}
	return fmt.Sprintf("DiscoveryBackend %s leads to the same cluster and is not in maintenance: nothing is removed from the cluster until "+
		"it is drained. "+
		"To delete Kluster %s only, set its annotation %s=true", plugins.Titles(users), k.Name, kubernikusv1.DetachAnnotation)
}

// deletionWarning warns of the Klusters that keep the cluster of one that is deleted.
func deletionWarning(k *kubernikusv1.Kluster, others []kubernikusv1.Kluster) string {
	users := names(k, others, func(other *kubernikusv1.Kluster) bool {
		return other.ClusterID() == k.ClusterID() && other.DeletionTimestamp.IsZero()
	})
	if users == "" {
		return ""
	}
	return fmt.Sprintf("Kluster %s leads to the same cluster and is not being deleted: nothing is removed from the cluster until it is. "+
		"To delete Kluster %s only, set its annotation %s=true", users, k.Name, kubernikusv1.DetachAnnotation)
}

// sameCluster warns of the Klusters of one cluster.
func sameCluster(k *kubernikusv1.Kluster, others []kubernikusv1.Kluster) string {
	users := names(k, others, func(other *kubernikusv1.Kluster) bool { return other.ClusterID() == k.ClusterID() })
	if users == "" {
		return ""
	}
	return fmt.Sprintf("Kluster %s leads to the same cluster, which is torn down only when all of its Klusters are being deleted", users)
}

// sameSecret warns of the Klusters of the same namespace whose cluster is that of the same Secret. One that is known to lead to the same
// cluster is named by another warning.
func sameSecret(k *kubernikusv1.Kluster, others []kubernikusv1.Kluster) string {
	source := workloadSource(k)
	users := names(k, others, func(other *kubernikusv1.Kluster) bool {
		return workloadSource(other) == source && (k.ClusterID() == "" || k.ClusterID() != other.ClusterID())
	})
	if users == "" {
		return ""
	}
	return fmt.Sprintf("Secret %s is also that of Kluster %s: if it leads to a cluster, that is torn down only when all of its Klusters are "+
		"being deleted",
		source.Name, users)
}

// workloadSource is where the credentials for the cluster of a Kluster are.
func workloadSource(k *kubernikusv1.Kluster) kubernikusv1.KubeconfigReference {
	if ref := k.Spec.SecretRef.Kubeconfig; ref != nil {
		return *ref
	}
	return kubernikusv1.KubeconfigReference{Name: k.SecretName()}
}

// names returns some of the other Klusters that match, "" if there is none.
func names(k *kubernikusv1.Kluster, others []kubernikusv1.Kluster, matches func(*kubernikusv1.Kluster) bool) string {
	var found []string
	for i := range others {
		other := &others[i]
		if (other.Namespace != k.Namespace || other.Name != k.Name) && (other.DeletionTimestamp.IsZero() || other.HasDeorbiter()) &&
			matches(other) {
			found = append(found, other.Namespace+"/"+other.Name)
		}
	}
	return plugins.Titles(found)
}
