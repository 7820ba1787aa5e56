// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package namespacedeletion

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// resource is a kind whose objects keep a namespace.
type resource struct {
	schema.GroupVersionResource
	kind string
}

func klusters() resource {
	return resource{kubernikusv1.SchemeGroupVersion.WithResource("klusters"), "Kluster"}
}

func projects() resource {
	return resource{gardenerv1beta1.SchemeGroupVersion.WithResource("projects"), "Project"}
}

// inProjects returns what keeps the namespace of a Project. Shoots are Gardener's; they count where the cluster serves them.
func inProjects() []resource {
	return []resource{
		klusters(),
		{gimbalv1.SchemeGroupVersion.WithResource("discoverybackends"), "DiscoveryBackend"},
		{gardenerv1beta1.SchemeGroupVersion.WithResource("shoots"), "Shoot"},
	}
}

// live reads from the API server, because a cache may be outdated, and a deletion is final.
type live struct {
	objects metadata.Interface
	served  func(ctx context.Context, resource resource) (bool, error)

	mu   sync.Mutex
	seen map[resource]bool
}

// NewContents returns contents that are read from the API server of config, by its client.
func NewContents(config *rest.Config, client *http.Client) (Contents, error) {
	objects, err := metadata.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", Name, err)
	}
	discoverer, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", Name, err)
	}
	return &live{objects: objects, served: servedBy(discoverer), seen: map[resource]bool{}}, nil
}

// servedBy requests the group version directly, so that an unavailable server is distinguished from a missing API.
func servedBy(discoverer discovery.ServerResourcesInterfaceWithContext) func(context.Context, resource) (bool, error) {
	return func(ctx context.Context, r resource) (bool, error) {
		list, err := discoverer.ServerResourcesForGroupVersionWithContext(ctx, r.GroupVersion().String())
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("check whether it contains %ss: %s is unavailable: %w", r.kind, r.GroupVersion(), err)
		}
		return slices.ContainsFunc(list.APIResources, func(found metav1.APIResource) bool { return found.Name == r.Resource }), nil
	}
}

// isServed reports whether there can be objects of a kind. A kind that was served once and is not any more is an error: its
// objects may still exist, for example in a store that is being restored.
func (l *live) isServed(ctx context.Context, r resource) (bool, error) {
	served, err := l.served(ctx, r)
	if err != nil {
		return false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !served && l.seen[r] {
		return false, fmt.Errorf("%s is no longer served: restore it, or restart the controller manager if it was removed permanently",
			r.GroupVersion())
	}
	if served {
		l.seen[r] = true
	}
	return served, nil
}

// Project implements Contents.
func (l *live) Project(ctx context.Context, namespace *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	labelled := namespace.Labels[gardenerv1beta1.LabelRole] == gardenerv1beta1.RoleProject
	served, err := l.isServed(ctx, projects())
	if err != nil {
		return nil, err
	}
	if !served {
		if labelled {
			return nil, fmt.Errorf("namespace %q belongs to a project, and %s is not served: restore it, or remove the label %s from the namespace",
				namespace.Name, gardenerv1beta1.SchemeGroupVersion, gardenerv1beta1.LabelRole)
		}
		return nil, nil
	}
	objects := l.objects.Resource(projects().GroupVersionResource)
	found, err := objects.List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.namespace", namespace.Name).String()})
	if err == nil {
		if len(found.Items) == 0 {
			return nil, nil
		}
		return &found.Items[0], nil
	}
	// A CustomResourceDefinition of Gardener's may not select by that field; then the label has to do.
	if !apierrors.IsBadRequest(err) {
		return nil, fmt.Errorf("check whether namespace %q belongs to a project: %w", namespace.Name, err)
	}
	name := namespace.Labels[gardenerv1beta1.LabelProjectName]
	if name == "" {
		return nil, nil
	}
	project, err := objects.Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("check whether namespace %q belongs to project %q: %w", namespace.Name, name, err)
	}
	return project, nil
}

// Occupants implements Contents.
func (l *live) Occupants(ctx context.Context, namespace string, project bool, atLeast int) ([]string, error) {
	resources := []resource{klusters()}
	if project {
		resources = inProjects()
	}
	var occupants []string
	for _, r := range resources {
		served, err := l.isServed(ctx, r)
		if err != nil {
			return nil, err
		}
		if !served {
			continue
		}
		list, err := l.objects.Resource(r.GroupVersionResource).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: int64(atLeast)})
		if err != nil {
			return nil, fmt.Errorf("check whether namespace %q contains %ss: %w", namespace, r.kind, err)
		}
		for i := range list.Items {
			occupants = append(occupants, r.kind+" "+list.Items[i].Name)
		}
	}
	return occupants, nil
}
