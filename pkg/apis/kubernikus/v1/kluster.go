// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Account is the OpenStack account of the Kluster: the label "account", else the namespace.
func (k *Kluster) Account() string {
	return cmp.Or(k.Labels[AccountLabel], k.Namespace)
}

// ShortName is the name that OpenStack sees.
func (k *Kluster) ShortName() string {
	return k.Spec.Name
}

// SecretName is the name of the Secret with the credentials, in the namespace of the Kluster.
func (k *Kluster) SecretName() string {
	return cmp.Or(k.Spec.SecretRef.Name, k.Name+SecretNameSuffix)
}

// ClusterName is the name under which the cloud controller tags what it makes, as a client set it; "" when none did.
func (k *Kluster) ClusterName() string {
	return k.setByClient(k.Spec.CloudProvider.ClusterName, k.Spec.Name, "f:clusterName")
}

// CSIClusterID is the name under which the Cinder CSI driver tags what it makes, as a client set it; "" when none did.
func (k *Kluster) CSIClusterID() string {
	return k.setByClient(k.Spec.CloudProvider.CSIClusterID, k.Name, "f:csiClusterID")
}

// setByClient is a name in spec.cloudProvider. Before these names lost their defaults, the API server wrote them to the
// spec. A value that equals the former default counts only when a field manager owns it: the API server's defaults have
// no owner.
func (k *Kluster) setByClient(value *string, formerDefault, field string) string {
	if value == nil || *value == formerDefault && !k.owned("f:spec", "f:cloudProvider", field) {
		return ""
	}
	return *value
}

// owned reports whether a field manager owns a field.
func (k *Kluster) owned(path ...string) bool {
	return slices.ContainsFunc(k.ManagedFields, func(entry metav1.ManagedFieldsEntry) bool {
		if entry.FieldsV1 == nil {
			return false
		}
		fields := json.RawMessage(entry.FieldsV1.GetRawBytes())
		for _, name := range path {
			var inner map[string]json.RawMessage
			if json.Unmarshal(fields, &inner) != nil || inner[name] == nil {
				return false
			}
			fields = inner[name]
		}
		return true
	})
}

// ClusterPrefix is the IPv4 range of the pods without host bits. It is invalid when clusterCIDR is empty.
func (k *Kluster) ClusterPrefix() netip.Prefix {
	return ipv4Prefix(valueOr(k.Spec.ClusterCIDR, DefaultClusterCIDR))
}

// RouterID is the router that has the routes of the pods: the one of the spec, else the one that was found, else "".
func (k *Kluster) RouterID() string {
	if found := k.Status.Openstack; found != nil {
		return cmp.Or(k.Spec.Openstack.RouterID, found.RouterID)
	}
	return k.Spec.Openstack.RouterID
}

// TerminationProtected says whether an annotation forbids to delete the Kluster.
func (k *Kluster) TerminationProtected() bool {
	return k.Annotations[TerminationProtectionAnnotation] != ""
}

// Detached says whether a deletion leaves everything of the Kluster as it is.
func (k *Kluster) Detached() bool {
	return k.Annotations[DetachAnnotation] == "true"
}

// SelfDestructs says whether an annotation ends a Deorbit at once.
func (k *Kluster) SelfDestructs() bool {
	return k.Annotations[SelfDestructAnnotation] == SelfDestructNow
}

// HasDeorbiter says whether a finalizer keeps the Kluster until it is deorbited, ours or the one of an imported Kluster.
func (k *Kluster) HasDeorbiter() bool {
	return slices.ContainsFunc(k.Finalizers, func(name string) bool {
		return name == DeorbiterFinalizer || name == ImportedDeorbiterFinalizer
	})
}

// DeorbitStages are the stages of Deorbit in their order.
func DeorbitStages() []DeorbitStage {
	return []DeorbitStage{
		DeorbitDrain, DeorbitFreeze, DeorbitPods, DeorbitSnapshots, DeorbitClaims, DeorbitServices, DeorbitWait, DeorbitVerify, DeorbitRoutes, DeorbitRelease,
	}
}

func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

// ipv4Prefix parses an IPv4 range and drops its host bits. It returns the zero, invalid, prefix for anything else.
func ipv4Prefix(cidr string) netip.Prefix {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil || !prefix.Addr().Is4() {
		return netip.Prefix{}
	}
	return prefix.Masked()
}

// thirdAddress is the third address of an IPv4 range, as in 198.18.128.2 for 198.18.128.0/17, or "" when there is none.
func thirdAddress(cidr string) string {
	prefix := ipv4Prefix(cidr)
	if !prefix.IsValid() {
		return ""
	}
	third := prefix.Addr().Next().Next()
	if !prefix.Contains(third) {
		return ""
	}
	return third.String()
}
