// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// KindOpenStackCluster is the infrastructure of a cluster on OpenStack.
const KindOpenStackCluster = "OpenStackCluster"

// Infrastructure is what is known of an OpenStackCluster.
type Infrastructure struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	// Cluster and ClusterUID are those of the Cluster that owns it, "" as long as none does, or if it is ambiguous which one does.
	Cluster    string
	ClusterUID types.UID
	Deleting   bool
	// Finalized reports that it has the finalizer of Groundskeeper.
	Finalized bool
	// Paused reports that it is paused, and PausedForDeorbit that Groundskeeper did it.
	Paused, PausedForDeorbit bool
	Identity                 Identity
	// Network, Router and ExternalNetwork are UUIDs of the status, "" if they are unknown.
	Network, Router, ExternalNetwork string
	Subnets                          []string
	// GivenRouter reports that the router was not created for this cluster alone.
	GivenRouter bool
	// RetainVolumes reports that an annotation retains the volumes.
	RetainVolumes bool
	// Invalid is why it could not be read; nothing else is known then.
	Invalid error
}

// Identity is where the credentials of OpenStack are.
type Identity struct {
	// Type is Secret, or another kind that has them in another namespace.
	Type, Name, CloudName, Region string
}

// identitySecret is the type of an Identity in a Secret of the same namespace.
const identitySecret = "Secret"

type named struct {
	ID string `json:"id"`
}

// infrastructureObject has the fields of an OpenStackCluster in versions v1beta1 and v1beta2.
type infrastructureObject struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		IdentityRef struct {
			Type      string `json:"type"`
			Name      string `json:"name"`
			CloudName string `json:"cloudName"`
			Region    string `json:"region"`
		} `json:"identityRef"`
		ManagedSubnets []struct{} `json:"managedSubnets"`
		Router         *struct{}  `json:"router"`
	} `json:"spec"`
	Status struct {
		Network *struct {
			ID      string  `json:"id"`
			Subnets []named `json:"subnets"`
		} `json:"network"`
		Router          *named `json:"router"`
		ExternalNetwork *named `json:"externalNetwork"`
	} `json:"status"`
}

// InfrastructureOf returns what is kept of an OpenStackCluster.
func InfrastructureOf(content map[string]any) *Infrastructure {
	o := &infrastructureObject{}
	if err := decode(content, o); err != nil {
		return &Infrastructure{Invalid: fmt.Errorf("cannot read the OpenStackCluster: %w", err)}
	}
	m := &o.Metadata
	policy, hasPolicy := m.Annotations[AnnotationJanitorVolumes]
	pause, paused := m.Annotations[AnnotationPaused]
	i := &Infrastructure{
		Namespace: m.Namespace, Name: m.Name, UID: m.UID, ResourceVersion: m.ResourceVersion,
		Deleting: m.DeletionTimestamp != nil, Finalized: slices.Contains(m.Finalizers, Finalizer),
		Paused: paused, PausedForDeorbit: pause == PausedForDeorbit,
		Identity: Identity{
			Type: cmp.Or(o.Spec.IdentityRef.Type, identitySecret), Name: o.Spec.IdentityRef.Name,
			CloudName: o.Spec.IdentityRef.CloudName, Region: o.Spec.IdentityRef.Region,
		},
		GivenRouter:   o.Spec.Router != nil || len(o.Spec.ManagedSubnets) == 0,
		RetainVolumes: hasPolicy && policy != JanitorDelete,
	}
	i.Cluster, i.ClusterUID = ownerOf(m)
	if network := o.Status.Network; network != nil {
		i.Network = network.ID
		for _, subnet := range network.Subnets {
			i.Subnets = append(i.Subnets, subnet.ID)
		}
	}
	if o.Status.Router != nil {
		i.Router = o.Status.Router.ID
	}
	if o.Status.ExternalNetwork != nil {
		i.ExternalNetwork = o.Status.ExternalNetwork.ID
	}
	return i
}

// ownerOf returns the Cluster that an object was created for: the one that controls it, otherwise the only owner.
func ownerOf(m *metav1.ObjectMeta) (name string, uid types.UID) {
	var owners []metav1.OwnerReference
	for _, owner := range m.OwnerReferences {
		if owner.Kind != "Cluster" || groupOf(owner.APIVersion) != Group {
			continue
		}
		if owner.Controller != nil && *owner.Controller {
			return owner.Name, owner.UID
		}
		owners = append(owners, owner)
	}
	if len(owners) != 1 {
		return "", ""
	}
	return owners[0].Name, owners[0].UID
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}
