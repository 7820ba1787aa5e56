// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	authorizationclient "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"groundskeeper.io/groundskeeper/pkg/accessreview"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/lists"
)

// holders finds the objects whose finalizers would hold a namespace that is being deleted. Kubernetes deletes the bindings in it at
// once, so that the members could not remove these objects any more.
type holders struct {
	// kinds returns what the cluster serves in namespaces. After an error some of it is unknown.
	kinds func(ctx context.Context) ([]*metav1.APIResourceList, error)
	// mayList reviews whether the controller is allowed to list: denied requests would be noise in audit logs.
	mayList func(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error)
	// list returns the metadata of all objects of a resource in a namespace.
	list func(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error)
}

// newHolders returns holders of the API server of config, by its client.
func newHolders(config *rest.Config, client *http.Client) (holders, error) {
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return holders{}, fmt.Errorf("create a client for discovery: %w", err)
	}
	objects, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return holders{}, fmt.Errorf("create a client for metadata: %w", err)
	}
	authorization, err := authorizationclient.NewForConfigAndClient(config, client)
	if err != nil {
		return holders{}, fmt.Errorf("create a client for access reviews: %w", err)
	}
	reviewer := accessreview.Of(authorization.SelfSubjectAccessReviews())
	return holders{
		kinds: discoverer.ServerPreferredNamespacedResourcesWithContext,
		mayList: func(ctx context.Context, resource schema.GroupVersionResource, namespace string) (bool, error) {
			return reviewer.Allowed(ctx, accessreview.Request{Method: accessreview.List, Resource: resource, Namespace: namespace})
		},
		list: func(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
			return lists.Metadata(ctx, objects, resource, namespace, "")
		},
	}, nil
}

// holding is what was found in a namespace: objects with finalizers as "Kind name (finalizers)", and resources that the controller has no
// permission to list.
type holding struct{ held, unseen []string }

// current looks at all kinds in a namespace. After an error the objects are unknown, so that nothing may be deleted.
func (h holders) current(ctx context.Context, namespace string) (found holding, err error) {
	kinds, err := h.kinds(ctx)
	if err != nil {
		return found, fmt.Errorf("find the objects with finalizers in namespace %q: %w", namespace, err)
	}
	deletable := deletableKinds(kinds)
	each := make([]holding, len(deletable))
	err = inParallel(len(deletable), func(i int) (err error) {
		each[i], err = h.ofKind(ctx, &deletable[i], namespace)
		return err
	})
	if err != nil {
		return found, fmt.Errorf("find the objects with finalizers in namespace %q: %w", namespace, err)
	}
	for _, of := range each {
		found.held, found.unseen = append(found.held, of.held...), append(found.unseen, of.unseen...)
	}
	slices.Sort(found.held)
	slices.Sort(found.unseen)
	return found, nil
}

func (h holders) ofKind(ctx context.Context, kind *metav1.APIResource, namespace string) (found holding, err error) {
	resource := schema.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: kind.Name}
	allowed := slices.Contains(kind.Verbs, "list")
	if allowed {
		allowed, err = h.mayList(ctx, resource, namespace)
	}
	var objects []metav1.PartialObjectMetadata
	if allowed && err == nil {
		objects, err = h.list(ctx, resource, namespace)
	}
	if err == nil && !allowed || apierrors.IsForbidden(err) {
		return holding{unseen: []string{resource.GroupResource().String()}}, nil
	}
	for i := range objects {
		if finalizers := foreignFinalizers(&objects[i]); len(finalizers) > 0 {
			found.held = append(found.held, fmt.Sprintf("%s %s (%s)", kind.Kind, objects[i].Name, strings.Join(finalizers, ", ")))
		}
	}
	return found, err
}

// deletableKinds returns the kinds whose objects Kubernetes deletes with a namespace, each with its group and version.
func deletableKinds(served []*metav1.APIResourceList) (kinds []metav1.APIResource) {
	for _, list := range served {
		version := schema.FromAPIVersionAndKind(list.GroupVersion, "").GroupVersion()
		for i := range list.APIResources {
			if kind := list.APIResources[i]; slices.Contains(kind.Verbs, "delete") {
				kind.Group, kind.Version = version.Group, version.Version
				kinds = append(kinds, kind)
			}
		}
	}
	return kinds
}

// foreignFinalizers returns the finalizers of an object that neither Kubernetes nor Groundskeeper removes.
func foreignFinalizers(object metav1.Object) []string {
	removed := removedFinalizers()
	return slices.DeleteFunc(slices.Clone(object.GetFinalizers()), func(name string) bool { return slices.Contains(removed, name) })
}

// removedFinalizers are those that the controllers of Kubernetes and of Groundskeeper remove from objects in a namespace that is being
// deleted.
func removedFinalizers() []string {
	return []string{
		metav1.FinalizerDeleteDependents, metav1.FinalizerOrphanDependents, string(corev1.FinalizerKubernetes),
		"kubernetes.io/pvc-protection", "service.kubernetes.io/load-balancer-cleanup", "batch.kubernetes.io/job-tracking",
		"resource.kubernetes.io/delete-protection",
		kubernikusv1.DeorbiterFinalizer, kubernikusv1.ImportedDeorbiterFinalizer, kubernikusv1.ClusterAPIFinalizer,
		kubernikusv1.SecretInUseFinalizer, gimbalv1.FinalizerName, midonetv1.FinalizerName,
	}
}

// heldMessage names the objects whose finalizers would hold a namespace, and the remedies.
func heldMessage(namespace string, found holding) string {
	return fmt.Sprintf("objects with finalizers would hold namespace %q, to which the members have no access any more when it is being "+
		"deleted: delete these objects (you or their controllers have to remove the finalizers), or annotate the project with %s=true: %s%s",
		namespace, gardenerv1beta1.AnnotationForceDeletion, listed(found.held), unseenMessage(found.unseen))
}

// unseenMessage names the resources that may have objects with finalizers, too.
func unseenMessage(unseen []string) string {
	if len(unseen) == 0 {
		return ""
	}
	return "; could not be looked at for finalizers, because the controller manager is not allowed to list them: " + listed(unseen)
}
