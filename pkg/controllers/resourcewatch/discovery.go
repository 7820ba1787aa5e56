// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package resourcewatch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// Finder returns the version in which the API server serves a kind, or nil if it does not serve it. An error means that this is unknown.
type Finder func(ctx context.Context, kind *Kind) (*schema.GroupVersionResource, error)

// NewFinder returns a Finder that queries the API server for the group of the kind. A RESTMapper, or the list of all groups, cannot be
// used: both treat a group whose server does not respond as one that does not exist, and objects in use would be deleted.
func NewFinder(client discovery.DiscoveryInterfaceWithContext) Finder {
	return func(ctx context.Context, kind *Kind) (*schema.GroupVersionResource, error) {
		versions := kind.Versions
		if len(versions) == 0 {
			var err error
			if versions, err = groupVersions(ctx, client, kind.Group); err != nil {
				return nil, err
			}
		}
		found, err := firstServing(ctx, client, kind.GroupResource, versions)
		if found != nil || err != nil || !kind.OnlyVersions {
			return found, err
		}
		others, err := groupVersions(ctx, client, kind.Group)
		if err != nil {
			return nil, err
		}
		others = slices.DeleteFunc(others, func(version string) bool { return slices.Contains(versions, version) })
		other, err := firstServing(ctx, client, kind.GroupResource, others)
		if err == nil && other != nil {
			err = fmt.Errorf("%s is served as %s only, and this controller manager reads %s: update it",
				kind.GroupResource, other.Version, strings.Join(versions, ", "))
		}
		return nil, err
	}
}

// firstServing returns the first of the versions that serves a resource, nil when none does.
func firstServing(
	ctx context.Context, client discovery.DiscoveryInterfaceWithContext, resource schema.GroupResource, versions []string,
) (*schema.GroupVersionResource, error) {
	for _, version := range versions {
		found := resource.WithVersion(version)
		resources, err := client.ServerResourcesForGroupVersionWithContext(ctx, found.GroupVersion().String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("discover %s: %w", found.GroupVersion(), err)
		}
		if slices.ContainsFunc(resources.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource }) {
			return &found, nil
		}
	}
	return nil, nil
}

// groupVersions returns the versions of a group, the preferred one first.
func groupVersions(ctx context.Context, client discovery.DiscoveryInterfaceWithContext, group string) ([]string, error) {
	if group == "" {
		return []string{"v1"}, nil
	}
	found := &metav1.APIGroup{}
	err := client.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(found)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("discover %s: %w", group, err)
	}
	versions := []string{found.PreferredVersion.Version}
	for _, version := range found.Versions {
		if !slices.Contains(versions, version.Version) {
			versions = append(versions, version.Version)
		}
	}
	return versions, nil
}
