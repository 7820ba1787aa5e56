// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/discovery"
)

// part is an object that the installation is made of.
type part struct {
	resource schema.GroupVersionResource
	metav1.ObjectMeta
}

func (p part) String() string {
	return p.resource.Resource + " " + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
}

// kept are resources that are not deleted as parts: namespaces with claims go last, as a whole, what is registered is gone
// unless it leads to somebody else, and the others go with what they were made for.
func kept() sets.Set[string] {
	return sets.New("namespaces", "persistentvolumeclaims", "persistentvolumes", "events", "endpoints",
		"apiservices", "validatingwebhookconfigurations", "mutatingwebhookconfigurations")
}

// parts are all objects with our label, of every kind that the cluster has, in the order in which they go. Groups that do
// not answer are returned: nobody can say what is there.
func (u *Uninstaller) parts(ctx context.Context) (parts []part, unlisted []string, err error) {
	lists, err := u.Discovery.ServerPreferredResources()
	if discovery.IsGroupDiscoveryFailedError(err) {
		failed, _ := discovery.GroupDiscoveryFailedErrorGroups(err)
		for version := range failed {
			if !groups().Has(version.Group) { // ours may be unregistered by now
				unlisted = append(unlisted, version.String())
			}
		}
	} else if err != nil {
		return nil, nil, err
	}
	slices.Sort(unlisted)
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, nil, err
		}
		for _, resource := range list.APIResources {
			if kept().Has(resource.Name) || groups().Has(version.Group) || !slices.Contains(resource.Verbs, "list") || !slices.Contains(resource.Verbs, "delete") {
				continue
			}
			of := version.WithResource(resource.Name)
			objects, err := u.metadataOf(ctx, of, metav1.NamespaceAll, partOf+"="+product)
			if err != nil {
				return nil, nil, err
			}
			for i := range objects {
				if metav1.GetControllerOf(&objects[i]) == nil { // else it goes with its owner
					parts = append(parts, part{of, objects[i].ObjectMeta})
				}
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return rank(a.resource) - rank(b.resource) })
	return parts, unlisted, nil
}

// rank orders what goes: first what makes others work, then what runs, then the rest, and rights at the end, since a pod
// that ends still gives its Lease back.
func rank(resource schema.GroupVersionResource) int {
	switch {
	case resource.Group == "admissionregistration.k8s.io":
		return 0
	case runs(resource):
		return 1
	case resource.Group == "rbac.authorization.k8s.io" && strings.HasSuffix(resource.Resource, "bindings"):
		return 4
	case resource.Group == "rbac.authorization.k8s.io" || resource.Resource == "serviceaccounts":
		return 3
	}
	return 2
}

// runs says whether a resource has pods.
func runs(resource schema.GroupVersionResource) bool {
	return resource.Group == "apps" || resource.Group == "batch"
}

// deleteParts deletes them, rank by rank. What runs is gone with its pods before its rights are.
func (u *Uninstaller) deleteParts(ctx context.Context) (string, error) {
	parts, unlisted, err := u.parts(ctx)
	if err != nil {
		return "", err
	}
	count := len(parts)
	for i := range 5 {
		err := u.until(ctx, "parts of the installation", func(ctx context.Context) (left, error) {
			var l left
			for _, p := range parts {
				if rank(p.resource) != i {
					continue
				}
				if p.DeletionTimestamp.IsZero() {
					if err := u.remove(ctx, p.resource, p.Namespace, p.Name, string(p.UID), metav1.DeletePropagationForeground); err != nil {
						return l, err
					}
				}
				l.names = append(l.names, p.String())
				if runs(p.resource) {
					l.why = "their pods end"
				}
			}
			if len(l.names) == 0 {
				return l, nil
			}
			parts, _, err = u.parts(ctx)
			return l, err
		})
		if err != nil {
			return "", err
		}
	}
	if count == 0 {
		return "", nil
	}
	line := fmt.Sprintf("%d objects that the installation was made of are gone", count)
	if len(unlisted) > 0 {
		line += ", but these groups of the cluster do not answer, and may have more: " + strings.Join(unlisted, ", ")
	}
	return line, nil
}
