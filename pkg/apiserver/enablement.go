// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	genericoptions "k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/server/resourceconfig"
	serverstorage "k8s.io/apiserver/pkg/server/storage"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/apiserver/backup"
)

// known returns the group versions that a server can serve.
func known() []schema.GroupVersion {
	return []schema.GroupVersion{
		gardenerv1beta1.SchemeGroupVersion, kubernikusv1.SchemeGroupVersion, midonetv1.SchemeGroupVersion, gimbalv1.SchemeGroupVersion,
	}
}

// served returns the group versions that --runtime-config leaves.
func (o *Options) served() ([]schema.GroupVersion, error) { return Served(o.APIEnablement) }

// Served returns the group versions that --runtime-config enables, by default all. Kinds of the others, their APIService and the namespaces
// of their Projects belong to another server of the cluster.
func Served(enablement *genericoptions.APIEnablementOptions) ([]schema.GroupVersion, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	given := enablement.RuntimeConfig
	for name := range given {
		if strings.Count(name, "/") > 1 {
			return nil, fmt.Errorf("--runtime-config: %q is a resource; name group versions, each of which has one", name)
		}
	}
	if err := utilerrors.NewAggregate(enablement.Validate(scheme)); err != nil {
		return nil, fmt.Errorf("--runtime-config: %w", err)
	}
	all := serverstorage.NewResourceConfig()
	all.EnableVersions(known()...)
	merged, err := resourceconfig.MergeAPIResourceConfigs(all, given, scheme)
	if err != nil {
		return nil, fmt.Errorf("--runtime-config: %w", err)
	}
	left := slices.DeleteFunc(known(), func(version schema.GroupVersion) bool { return !merged.AnyResourceForGroupEnabled(version.Group) })
	if len(left) == 0 {
		return nil, errors.New("--runtime-config: nothing would be served")
	}
	return left, nil
}

// projectKeys returns the prefix of the keys of Projects in the store; empty where another server has them.
func projectKeys(served []schema.GroupVersion) string {
	if !backup.ServesProjects(served) {
		return ""
	}
	return gardenerv1beta1.GroupName + "/projects"
}
