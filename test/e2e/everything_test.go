// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
)

// everything lists all objects of all kinds of the cluster, as "resource namespace/name", except for what Kubernetes makes
// automatically at any time.
func (h *host) everything(t *testing.T) sets.Set[string] {
	t.Helper()
	found, err := h.list(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (h *host) list(ctx context.Context) (sets.Set[string], error) {
	kinds, err := discovery.NewDiscoveryClientForConfig(h.Config())
	if err != nil {
		return nil, err
	}
	objects, err := metadata.NewForConfig(h.Config())
	if err != nil {
		return nil, err
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil {
		return nil, err
	}
	found := sets.New[string]()
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, resource := range list.APIResources {
			// The last two are deprecated: one is made of health checks, the other of EndpointSlices.
			if !slices.Contains(resource.Verbs, "list") || slices.Contains([]string{"events", "componentstatuses", "endpoints"}, resource.Name) {
				continue
			}
			items, err := objects.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", resource.Name, err)
			}
			err = meta.EachListItem(items, func(item runtime.Object) error {
				object := item.(*metav1.PartialObjectMetadata)
				if line := fmt.Sprintf("%s %s/%s", version.WithResource(resource.Name).GroupResource(), object.Namespace, object.Name); !isKubernetes(line) {
					found.Insert(line)
				}
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

// isKubernetes reports whether Kubernetes makes an object when it pleases: the Leases of its processes and nodes, and the accounts
// of its controllers.
func isKubernetes(line string) bool {
	return strings.HasPrefix(line, "leases.coordination.k8s.io kube-") || strings.HasPrefix(line, "serviceaccounts kube-system/")
}

// isEmpty waits until there is nothing that did not exist before.
func (h *host) isEmpty(t *testing.T, before sets.Set[string]) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		now, err := h.list(ctx)
		if err != nil {
			return err
		}
		if more := now.Difference(before); more.Len() > 0 {
			return fmt.Errorf("left behind: %q", sets.List(more))
		}
		return nil
	})
}
