// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"cmp"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Account returns the OpenStack account of the Kluster: the label "account", else the namespace.
func (k *Kluster) Account() string {
	return cmp.Or(k.Labels[AccountLabel], k.Namespace)
}

// ShortName returns the name that OpenStack sees.
func (k *Kluster) ShortName() string {
	return k.Spec.Name
}

// SecretName returns the name of the Secret with the credentials, in the namespace of the Kluster.
func (k *Kluster) SecretName() string {
	return cmp.Or(k.Spec.SecretRef.Name, k.Name+SecretNameSuffix)
}

// SecretNames returns the names of the Secrets that the credentials are read from, each once.
func (k *Kluster) SecretNames() []string {
	ref := k.Spec.SecretRef
	var names []string
	if ref.Kubeconfig == nil || ref.Cloud == nil {
		names = append(names, k.SecretName())
	}
	if ref.Kubeconfig != nil && !slices.Contains(names, ref.Kubeconfig.Name) {
		names = append(names, ref.Kubeconfig.Name)
	}
	if ref.Cloud != nil && !slices.Contains(names, ref.Cloud.Name) {
		names = append(names, ref.Cloud.Name)
	}
	return names
}

// ClusterID returns the identity of the cluster that the Secret leads to; "" while unknown.
func (k *Kluster) ClusterID() string {
	if k.Status.Identity == nil {
		return ""
	}
	return k.Status.Identity.ClusterID
}

// ClusterName returns the name under which the cloud controller tags what it makes, as a client set it; "" when none did.
func (k *Kluster) ClusterName() string {
	return k.setByClient(k.Spec.CloudProvider.ClusterName, k.Spec.Name, "f:clusterName")
}

// CSIClusterID returns the name under which the Cinder CSI driver tags what it makes, as a client set it; "" when none did.
func (k *Kluster) CSIClusterID() string {
	return k.setByClient(k.Spec.CloudProvider.CSIClusterID, k.Name, "f:csiClusterID")
}

// setByClient returns a name in spec.cloudProvider. Before these names lost their defaults, the API server wrote them to the
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

// PodRanges returns the ranges of the pods without host bits, one of each family at most. Those that there are not are invalid.
func (k *Kluster) PodRanges() [2]netip.Prefix {
	ranges, _ := ParseRanges(valueOr(k.Spec.ClusterCIDR, DefaultClusterCIDR))
	return ranges
}

// Overlap reports whether two clusters have addresses of pods in common.
func Overlap(a, b [2]netip.Prefix) bool {
	return a[0].Overlaps(b[0]) || a[0].Overlaps(b[1]) || a[1].Overlaps(b[0]) || a[1].Overlaps(b[1])
}

// RangesString is how ranges are written in clusterCIDR.
func RangesString(ranges [2]netip.Prefix) string {
	if !ranges[1].IsValid() {
		return ranges[0].String()
	}
	return ranges[0].String() + "," + ranges[1].String()
}

// ParseRanges parses a range, or the two of a dual-stack cluster with a comma between them, and drops their host bits. ok is
// false, and the ranges are invalid, for anything else.
func ParseRanges(text string) (ranges [2]netip.Prefix, ok bool) {
	parts := strings.Split(text, ",")
	if len(parts) > len(ranges) {
		return [2]netip.Prefix{}, false
	}
	for i, part := range parts {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil || prefix.Addr().Is4In6() || i == 1 && prefix.Addr().Is4() == ranges[0].Addr().Is4() {
			return [2]netip.Prefix{}, false
		}
		ranges[i] = prefix.Masked()
	}
	return ranges, true
}

// UsesRouter reports whether the cloud controller of the cluster makes routes on the router. It does not where the cluster
// brings its own pod network, or Route GC is off for it: such clusters may have equal ranges.
func (k *Kluster) UsesRouter() bool {
	if gc := k.Spec.RouteGC; gc != nil && gc.Enabled != nil {
		return *gc.Enabled
	}
	return !k.Spec.CustomCNI
}

// RouterID returns the router that has the routes of the pods: the one of the spec, else the one that was found, else "".
func (k *Kluster) RouterID() string {
	if found := k.Status.Openstack; found != nil {
		return cmp.Or(k.Spec.Openstack.RouterID, found.RouterID)
	}
	return k.Spec.Openstack.RouterID
}

// TerminationProtected reports whether an annotation forbids the deletion of the Kluster.
func (k *Kluster) TerminationProtected() bool {
	return k.Annotations[TerminationProtectionAnnotation] != ""
}

// Detached reports whether a deletion leaves all resources of the Kluster unchanged.
func (k *Kluster) Detached() bool {
	return k.Annotations[DetachAnnotation] == "true"
}

// SelfDestructs reports whether an annotation ends a Deorbit immediately.
func (k *Kluster) SelfDestructs() bool {
	return k.Annotations[SelfDestructAnnotation] == SelfDestructNow
}

// HasDeorbiter reports whether a finalizer keeps the Kluster until it is deorbited, either Groundskeeper's or the one of an
// imported Kluster.
func (k *Kluster) HasDeorbiter() bool {
	return slices.ContainsFunc(k.Finalizers, func(name string) bool {
		return name == DeorbiterFinalizer || name == ImportedDeorbiterFinalizer
	})
}

// AcceptsUnknownIdentity reports whether an annotation confirms that the object of a kind with this namespace/name, whose cluster is
// unknown, leads to another cluster than the Kluster.
func (k *Kluster) AcceptsUnknownIdentity(kind, object string) bool {
	return slices.Contains(k.AcceptedIdentities(), IdentityReference(kind, object))
}

// AcceptedIdentities returns what AcceptUnknownIdentityAnnotation names, as IdentityReference does. What has no kind there is a Kluster.
func (k *Kluster) AcceptedIdentities() (references []string) {
	for named := range strings.SplitSeq(k.Annotations[AcceptUnknownIdentityAnnotation], ",") {
		switch named = strings.TrimSpace(named); {
		case strings.Count(named, "/") == 1:
			references = append(references, IdentityReference("Kluster", named))
		case named != "":
			references = append(references, named)
		}
	}
	return references
}

// maxAccepted limits the part of a message that has what is accepted already, in bytes: a condition that is cut would lose what is to be.
const maxAccepted = 300

// AcceptingIdentities returns, for messages, the value of AcceptUnknownIdentityAnnotation that also accepts objects with these references.
// It refers to the present value if that is long.
func (k *Kluster) AcceptingIdentities(references ...string) string {
	accepted := k.AcceptedIdentities()
	if len(strings.Join(accepted, ",")) > maxAccepted {
		accepted = []string{"<the present value>"}
	}
	return strings.Join(append(accepted, references...), ",")
}

// IdentityReference returns how AcceptUnknownIdentityAnnotation names the object of a kind with this namespace/name.
func IdentityReference(kind, object string) string { return strings.ToLower(kind) + "/" + object }

// MachinesOf returns what Cluster API has of the machines of the cluster, as the annotation reports it; "": it does not delete the cluster.
func (k *Kluster) MachinesOf() string { return k.Annotations[MachinesAnnotation] }

// NeverCameUp reports whether the cluster never had a control plane, as Cluster API and the annotation report it. One whose identity was
// read had one, whatever is reported.
func (k *Kluster) NeverCameUp() bool {
	return k.Annotations[ControlPlaneAnnotation] == ControlPlaneNeverInitialized && k.ClusterID() == ""
}

// DeorbitStages returns the stages that the Deorbit of the Kluster has, in their order.
func (k *Kluster) DeorbitStages() []DeorbitStage {
	stages := DeorbitStages()
	if k.MachinesOf() != "" || k.Status.Deorbit != nil && k.Status.Deorbit.Stage == DeorbitMachines {
		return stages
	}
	return slices.DeleteFunc(stages, func(stage DeorbitStage) bool { return stage == DeorbitMachines })
}

// DeorbitStages returns all stages of Deorbit in their order.
func DeorbitStages() []DeorbitStage {
	return []DeorbitStage{
		DeorbitDrain, DeorbitFreeze, DeorbitPods, DeorbitSnapshots, DeorbitClaims, DeorbitServices, DeorbitWait, DeorbitMachines, DeorbitVerify,
		DeorbitRoutes, DeorbitRelease,
	}
}

func valueOr[T any](value *T, fallback T) T {
	if value == nil {
		return fallback
	}
	return *value
}

// thirdAddress returns the third address of a range, the first of two, as in 198.18.128.2 for 198.18.128.0/17, or "" when there is
// none.
func thirdAddress(cidr string) string {
	ranges, ok := ParseRanges(cidr)
	if !ok {
		return ""
	}
	prefix := ranges[0]
	third := prefix.Addr().Next().Next()
	if !prefix.Contains(third) {
		return ""
	}
	return third.String()
}
