// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"strings"
)

// SetDefaults_Kluster fills what a client may leave out.
func SetDefaults_Kluster(kluster *Kluster) {
	NormalizeKluster(kluster)
}

// NormalizeKluster sets the defaults that depend on the spec only. It is idempotent. DefaultNames sets those that depend on the metadata;
// fields that are discovered in OpenStack or configured in the controller manager remain unset.
func NormalizeKluster(kluster *Kluster) {
	spec := &kluster.Spec
	defaultTo(&spec.Openstack.SecurityGroupName, DefaultSecurityGroupName)
	defaultPointer(&spec.ClusterCIDR, DefaultClusterCIDR)
	defaultTo(&spec.ServiceCIDR, DefaultServiceCIDR)
	defaultTo(&spec.AdvertiseAddress, DefaultAdvertiseAddress)
	defaultPointer(&spec.AdvertisePort, DefaultAdvertisePort)
	defaultTo(&spec.DNSAddress, thirdAddress(spec.ServiceCIDR))
	defaultTo(&spec.DNSDomain, DefaultDNSDomain)
	defaultTo(&spec.Backup, BackupOn)
	defaultPointer(&spec.Dex, true)
	defaultPointer(&spec.Dashboard, true)
	for i := range spec.NodePools {
		pool := &spec.NodePools[i]
		defaultTo(&pool.Image, DefaultNodeImage)
		defaultPointer(&pool.Config.AllowReboot, true)
		defaultPointer(&pool.Config.AllowReplace, true)
	}
	defaultTo(&spec.Deorbit.PersistentVolumes, DeletionPolicyDelete)
	defaultTo(&spec.Deorbit.LoadBalancers, DeletionPolicyDelete)
	defaultTo(&spec.Deorbit.FloatingIPs, DeletionPolicyDelete)
	defaultTo(&spec.Deorbit.Snapshots, DeletionPolicyDelete)
	defaultTo(&spec.Deorbit.UnseenVolumes, DeletionPolicyRetain)
	if discovery := spec.Discovery; discovery != nil {
		defaultTo(&discovery.Namespace, DefaultDiscoveryNamespace)
		defaultTo(&discovery.DrainPolicy, DrainStrict)
	}
}

// DefaultNames writes the defaults that come from the metadata: spec.name and spec.secretRef.name. spec.cloudProvider has
// none, because things are deleted by these names: what metadata.name yields may be the name of a living cluster.
// It is idempotent, and only right once the name and the namespace are known: when a strategy prepares an object, not
// when one is decoded, where generateName and the namespace of the request are still to come. spec.name stays unset
// when what metadata.name yields is too long, so that validation requires it.
func DefaultNames(kluster *Kluster) {
	spec := &kluster.Spec
	if spec.Name == "" {
		if name := strings.TrimSuffix(kluster.Name, "-"+kluster.Account()); len(name) <= MaxNameLength {
			spec.Name = name
		}
	}
	defaultTo(&spec.SecretRef.Name, kluster.Name+SecretNameSuffix)
}

// CarryOverNames keeps the short name that the server chose when a client replaces the object by a manifest without one:
// derived again, it could differ, because the account label may have changed, and it cannot be changed.
func CarryOverNames(kluster, old *Kluster) {
	defaultTo(&kluster.Spec.Name, old.Spec.Name)
}

func defaultTo[T ~string](value *T, fallback T) {
	*value = cmp.Or(*value, fallback)
}

func defaultPointer[T any](value **T, fallback T) {
	if *value == nil {
		*value = new(fallback)
	}
}
