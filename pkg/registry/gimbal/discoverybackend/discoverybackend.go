// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package discoverybackend stores DiscoveryBackends.
package discoverybackend

import (
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/apis/gimbal/validation"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/conditions"
	"groundskeeper.io/groundskeeper/pkg/registry"
	"groundskeeper.io/groundskeeper/pkg/registry/claims"
)

// Kind describes DiscoveryBackends to the registry.
func Kind() registry.Kind[*gimbalv1.DiscoveryBackend] {
	return registry.Kind[*gimbalv1.DiscoveryBackend]{
		GroupVersion:  gimbalv1.SchemeGroupVersion,
		Resource:      "discoverybackends",
		Singular:      "discoverybackend",
		ShortNames:    []string{"dbe"},
		Categories:    []string{"all", "groundskeeper"},
		Namespaced:    true,
		Finalizer:     gimbalv1.FinalizerName,
		DesiredFields: []string{"cluster"},
		New:           func() *gimbalv1.DiscoveryBackend { return &gimbalv1.DiscoveryBackend{} },
		NewList:       func() runtime.Object { return &gimbalv1.DiscoveryBackendList{} },
		Desired:       func(b *gimbalv1.DiscoveryBackend) any { return &b.Cluster },
		CopyStatus:    func(to, from *gimbalv1.DiscoveryBackend) { to.Status = from.Status },
		Assign:        func(to, from *gimbalv1.DiscoveryBackend) { *to = *from },
		Summarize:     conditions.SetDiscoveryBackend,
		Normalize:     gimbalv1.Normalize,
		Warn:          maintenanceWarnings,
		SelectableFields: func(b *gimbalv1.DiscoveryBackend) fields.Set {
			return fields.Set{gimbalv1.ClusterTypeField: string(b.Cluster.Type), gimbalv1.ClusterStatusField: string(b.Cluster.ClusterStatus),
				gimbalv1.ClusterIDField: clusterid.OfBackend(b)}
		},
		IndexedFields: []string{gimbalv1.ClusterIDField},
		Columns: []registry.Column[*gimbalv1.DiscoveryBackend]{
			{Name: "Ready", Type: "string", Description: "Whether the object is as its spec requires.", Cell: condition(conditions.Ready)},
			{Name: "Type", Type: "string", Description: "openstack or kubernetes.", Cell: func(b *gimbalv1.DiscoveryBackend) any { return string(b.Cluster.Type) }},
			{Name: "Status", Type: "string", Description: "Enabled or Maintenance.", Cell: func(b *gimbalv1.DiscoveryBackend) any { return string(b.Cluster.ClusterStatus) }},
			{Name: "Available", Type: "string", Description: "Whether the discoverer runs.", Cell: condition(gimbalv1.ConditionAvailable)},
			{Name: "Discovered", Type: "string", Description: "Whether the last listing of the backend was copied completely.", Cell: condition(gimbalv1.ConditionDiscovered)},
			{Name: "Services", Type: "integer", Description: "Number of discovered services with a copy in this cluster.", Cell: services},
			{Name: "Drained", Type: "string", Description: "Whether maintenance has moved all traffic away.", Cell: condition(gimbalv1.ConditionDrained)},
			{Name: "Errors", Type: "integer", Description: "Number of current errors.", Cell: func(b *gimbalv1.DiscoveryBackend) any { return int64(len(b.Status.Errors)) }},
			{Name: "Last Sync", Type: "string", Description: "Time since the copies were last in sync with the backend.", Cell: lastSync},
		},
		Validate:             validation.ValidateDiscoveryBackend,
		ValidateUpdate:       validation.ValidateDiscoveryBackendUpdate,
		ValidateStatusUpdate: validation.ValidateDiscoveryBackendStatusUpdate,
	}
}

func services(b *gimbalv1.DiscoveryBackend) any {
	if b.Status.Services == nil {
		return nil
	}
	return int64(*b.Status.Services)
}

func condition(name string) func(*gimbalv1.DiscoveryBackend) any {
	return func(b *gimbalv1.DiscoveryBackend) any { return registry.Condition(b.Status.Conditions, name) }
}

func lastSync(b *gimbalv1.DiscoveryBackend) any {
	if b.Status.LastSyncTime == nil {
		return ""
	}
	return registry.Age(*b.Status.LastSyncTime)
}

// ClaimRule makes names of DiscoveryBackends unique over all namespaces, and lets none be a dash-prefix of another:
// what is discovered is called <backend>-<service>, so "us" and "us-east" could want one name.
func ClaimRule() claims.Rule {
	return claims.Rule{
		Separator: "-",
		Name: func(obj runtime.Object) string {
			if backend, ok := obj.(*gimbalv1.DiscoveryBackend); ok {
				return backend.Name
			}
			return ""
		},
		Rejection: rejection,
	}
}

// rejection returns the error for a name that is not free.
func rejection(obj runtime.Object, held string) error {
	backend, ok := obj.(*gimbalv1.DiscoveryBackend)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T claims no name", obj))
	}
	if backend.Name == held {
		return apierrors.NewForbidden(gimbalv1.Resource("discoverybackends"), backend.Name,
			fmt.Errorf("metadata.name: a DiscoveryBackend %q exists in another namespace: choose a name that no other one has", held))
	}
	return apierrors.NewForbidden(gimbalv1.Resource("discoverybackends"), backend.Name,
		fmt.Errorf("metadata.name: DiscoveryBackend %q exists, and services of the two could have the same name: choose a name that neither starts with %q nor is a prefix of it", held, held+"-"))
}

// maintenanceWarnings name the routes that have no other backend, to a user that begins maintenance, or changes while it lasts what
// becomes of such routes.
func maintenanceWarnings(b, old *gimbalv1.DiscoveryBackend) []string {
	if b.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance || b.Status.Routes == nil {
		return nil
	}
	if old.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance && old.Cluster.DrainPolicy == b.Cluster.DrainPolicy {
		return nil
	}
	routes := b.Status.Routes.WithoutAlternative
	if routes == nil || routes.Count == 0 {
		return nil
	}
	named := strings.Join(routes.Names, ", ")
	if more := int(routes.Count) - len(routes.Names); more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	which := "1 route that has"
	if routes.Count > 1 {
		which = fmt.Sprintf("%d routes that have", routes.Count)
	}
	if b.Cluster.DrainPolicy == gimbalv1.DrainKeepSole {
		return []string{fmt.Sprintf("with drainPolicy KeepSole, maintenance leaves the traffic of %s no other backend: %s", which, named)}
	}
	return []string{fmt.Sprintf("with drainPolicy Strict, maintenance leaves no backend for the requests of %s no other backend: %s", which, named)}
}
