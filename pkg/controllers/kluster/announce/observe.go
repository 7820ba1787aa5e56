// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// errNotServed means that the API server knows no DiscoveryBackends, so that it is unknown which exist.
var errNotServed = errors.New("the API server does not serve " + gimbalv1.GroupName)

// isUnknown reports whether a listing failed because there is no such kind.
func isUnknown(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }

// observed are the objects with the names of an announcement, nil for those that do not exist.
type observed struct {
	backend *gimbalv1.DiscoveryBackend
	secret  *corev1.Secret
}

// credentials returns the kubeconfig of a Kluster, or the condition that reports why there is none.
func (r *reconciler) credentials(ctx context.Context, k *kubernikusv1.Kluster) ([]byte, *metav1.Condition, error) {
	secret, err := kluster.Secret(ctx, r.live, k)
	if errors.Is(err, kluster.ErrNoSecret) {
		return nil, unusable(k, err), nil
	}
	if err != nil {
		return nil, nil, err
	}
	if err := kluster.CheckSecret(k, secret.Data); err != nil {
		return nil, notAnnounced(kubernikusv1.ReasonCloudChanged, "what is announced remains unchanged: %v", err), nil
	}
	kubeconfig, problem := kubeconfigOf(k, secret.Data, r.allowProxy)
	return kubeconfig, problem, nil
}

// inspect reads the existing objects with the names that the announcement needs.
func (r *reconciler) inspect(ctx context.Context, k *kubernikusv1.Kluster) (observed, error) {
	var there observed
	backend, secret := &gimbalv1.DiscoveryBackend{}, &corev1.Secret{}
	name := client.ObjectKey{Namespace: k.Spec.Discovery.Namespace, Name: k.Name}
	switch err := r.live.Get(ctx, name, backend); {
	case err == nil:
		there.backend = backend
	case meta.IsNoMatchError(err):
		return there, errNotServed
	case !apierrors.IsNotFound(err):
		return there, fmt.Errorf("get DiscoveryBackend %s: %w", name, err)
	}
	name.Name = secretName(k)
	switch err := r.live.Get(ctx, name, secret); {
	case err == nil:
		there.secret = secret
	case !apierrors.IsNotFound(err):
		return there, fmt.Errorf("get Secret %s: %w", name, err)
	}
	return there, nil
}

// list returns DiscoveryBackends, as the API server has them now, or errNotServed.
func list(ctx context.Context, live client.Reader, of string, options ...client.ListOption) ([]gimbalv1.DiscoveryBackend, error) {
	found := &gimbalv1.DiscoveryBackendList{}
	if err := lists.Complete(live).List(ctx, found, options...); isUnknown(err) {
		return nil, errNotServed
	} else if err != nil {
		return nil, fmt.Errorf("list the DiscoveryBackends of %s: %w", of, err)
	}
	return found.Items, nil
}

// Backends reads which DiscoveryBackends lead to a cluster, or may. Many checks begin at a time: they share what is read for all of them.
// The zero value is ready to be used.
type Backends struct{ all, unidentified lists.Shared[possible] }

// possible are DiscoveryBackends that may lead to a cluster, with the addresses of the API servers that their Secrets lead to.
type possible struct {
	backends []gimbalv1.DiscoveryBackend
	servers  map[types.UID]string
}

// Of returns the DiscoveryBackends that copied a cluster, and those that may have: those whose cluster is unknown, or all of them if the
// cluster is unknown itself, with the addresses of the API servers that the Secrets of those lead to, as clusterid.HoldersOf needs them.
// They are as the API server has them now. There are none where the API is not served.
func (b *Backends) Of(
	ctx context.Context, live client.Reader, at clusterid.Known,
) ([]gimbalv1.DiscoveryBackend, map[types.UID]string, error) {
	shared, options := &b.all, []client.ListOption(nil)
	if at.ID != "" {
		shared, options = &b.unidentified, []client.ListOption{client.MatchingFields{gimbalv1.ClusterIDField: ""}}
	}
	found, err := shared.Read(ctx, func(ctx context.Context) (possible, error) { return readPossible(ctx, live, options) })
	if errors.Is(err, errNotServed) {
		return nil, nil, nil
	}
	if err != nil || at.ID == "" {
		return found.backends, found.servers, err
	}
	// Read second: one that is identified in between is in both lists, and not in neither.
	same, err := list(ctx, live, "the cluster", client.MatchingFields{gimbalv1.ClusterIDField: at.ID})
	return slices.Concat(found.backends, same), found.servers, err
}

// readPossible lists DiscoveryBackends, and reads the API servers that their Secrets lead to: "" for one that cannot be read from the
// Secret, and none for a Secret that leads nowhere.
func readPossible(ctx context.Context, live client.Reader, options []client.ListOption) (found possible, err error) {
	if found.backends, err = list(ctx, live, "unidentified clusters", options...); err != nil {
		return possible{}, err
	}
	found.servers = map[types.UID]string{}
	for i := range found.backends {
		b, secret := &found.backends[i], &corev1.Secret{}
		if b.Cluster.Type != gimbalv1.BackendKubernetes || b.Cluster.SecretName() == "" || clusterid.IsDrained(b) {
			continue
		}
		key := client.ObjectKey{Namespace: b.Namespace, Name: b.Cluster.SecretName()}
		if err := live.Get(ctx, key, secret); client.IgnoreNotFound(err) != nil {
			return possible{}, fmt.Errorf("get Secret %s of DiscoveryBackend %s: %w", key, b.Name, err)
		}
		if server, known := kluster.ServerOf(secret.Data[keyConfig]); server != "" || !known {
			found.servers[b.UID] = server
		}
	}
	return found, nil
}

// backendsOf returns the DiscoveryBackends that announce a Kluster: one, as their names are unique.
func backendsOf(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) ([]gimbalv1.DiscoveryBackend, error) {
	all, err := list(ctx, live, "Kluster "+client.ObjectKeyFromObject(k).String(), madeFor(k))
	return slices.DeleteFunc(all, func(b gimbalv1.DiscoveryBackend) bool { return !clusterid.IsAnnouncement(k, &b) }), err
}

func secretsOf(ctx context.Context, live client.Reader, k *kubernikusv1.Kluster) ([]metav1.PartialObjectMetadata, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
	if err := lists.Complete(live).List(ctx, all, madeFor(k)); err != nil {
		return nil, fmt.Errorf("list the metadata of the Secrets that announce Kluster %s: %w", client.ObjectKeyFromObject(k), err)
	}
	return slices.DeleteFunc(all.Items, func(s metav1.PartialObjectMetadata) bool {
		return !clusterid.IsMadeFor(k, &s) || s.Name != secretName(k)
	}), nil
}

// rejected returns the condition of a Kluster whose backend the API server rejects, mostly because of another backend's name.
func (r *reconciler) rejected(ctx context.Context, k *kubernikusv1.Kluster, rejection error) (*metav1.Condition, error) {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(gimbalv1.SchemeGroupVersion.WithKind("DiscoveryBackendList"))
	if err := r.live.List(ctx, all); isUnknown(err) {
		return nil, errNotServed
	} else if err != nil {
		return nil, fmt.Errorf("list the names of all DiscoveryBackends: %w", err)
	}
	if other := neighbour(k.Name, all.Items); other != nil && !clusterid.IsMadeFor(k, other) {
		return notAnnounced(reasonNameTaken, "DiscoveryBackend %s/%s has the name %q already, or the services of the two could get one name: "+
			"register the cluster under a name that neither begins with %q nor is the beginning of it",
			other.Namespace, other.Name, other.Name, other.Name+"-"), nil
	}
	return notAnnounced(reasonRefused, "the API server rejects DiscoveryBackend %s/%s: %v", k.Spec.Discovery.Namespace, k.Name, rejection), nil
}

// madeFor selects what was made for a Kluster. The name is left out: it may be longer than a label can be.
func madeFor(k *kubernikusv1.Kluster) client.ListOption {
	return client.MatchingLabels{clusterid.LabelUID: string(k.UID)}
}
