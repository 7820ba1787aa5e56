// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// Reasons why a Cluster has no Kluster, or one that does not correspond to it.
const (
	// ReasonSynced means that the Kluster corresponds to the Cluster.
	ReasonSynced = "Synced"
	// ReasonInfrastructurePending means that the network of the cluster is not known yet: nothing can have been created in it.
	ReasonInfrastructurePending = "InfrastructurePending"
	// ReasonInfrastructureOfAnother means that the OpenStackCluster belongs to another Cluster.
	ReasonInfrastructureOfAnother = "InfrastructureOfAnother"
	// ReasonPodNetworkUnknown means that the ranges of the pods are not known.
	ReasonPodNetworkUnknown = "PodNetworkUnknown"
	// ReasonIdentityNotSupported means that the credentials of OpenStack are not in a Secret of the namespace.
	ReasonIdentityNotSupported = "IdentityNotSupported"
	// ReasonNameInvalid means that a Kluster cannot have the name of the Cluster.
	ReasonNameInvalid = "NameInvalid"
	// ReasonAnnotationInvalid means that an annotation of the Cluster has an invalid value.
	ReasonAnnotationInvalid = "AnnotationInvalid"
	// ReasonUnreadable means that an object has a form that is not known, so that nothing follows from it.
	ReasonUnreadable = "Unreadable"
	// ReasonImmutable means that the Cluster differs from the Kluster in fields that cannot be changed.
	ReasonImmutable = "Immutable"
)

// Rejection is why there can be no Kluster. An empty Reason means that there can be one.
type Rejection struct{ Reason, Message string }

// Source is a Cluster and its OpenStackCluster, which one on another infrastructure does not have.
type Source struct {
	Cluster        *Cluster
	Infrastructure *Infrastructure
	// Names are those that the manifests of the cluster report, when the annotations do not have them.
	Names Names
}

// Names are those with which the cluster tags what it creates in OpenStack, "" where they are unknown.
type Names struct{ ClusterName, CSIClusterID string }

var klusterName = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// Reject reports why a Cluster cannot have a Kluster. Everything that identifies resources in OpenStack has to be known: nothing of it has
// a default here.
func (s Source) Reject() Rejection {
	c, i := s.Cluster, s.Infrastructure
	switch {
	case !klusterName.MatchString(c.Name) || len(c.Name) > kubernikusv1.MaxNameLength:
		return Rejection{ReasonNameInvalid, fmt.Sprintf("no Kluster can have the name %q: it has to begin with a letter, and to have only lower case letters, digits and dashes", c.Name)}
	case !c.OnOpenStack():
		return Rejection{}
	case i != nil && i.ClusterUID != "" && i.ClusterUID != c.UID:
		return Rejection{ReasonInfrastructureOfAnother, fmt.Sprintf("OpenStackCluster %s is controlled by another Cluster, %s with uid %s: a network has one cluster", i.Name, i.Cluster, i.ClusterUID)}
	case i == nil || i.ClusterUID == "" || i.Network == "":
		return Rejection{ReasonInfrastructurePending, "the OpenStackCluster has no network yet"}
	case i.Identity.Type != identitySecret || i.Identity.Name == "":
		return Rejection{ReasonIdentityNotSupported, fmt.Sprintf("spec.identityRef of the OpenStackCluster is a %s: Groundskeeper uses a Secret of the same namespace only", i.Identity.Type)}
	case c.CustomCNI != "" && c.CustomCNI != "true" && c.CustomCNI != "false":
		return Rejection{ReasonAnnotationInvalid, fmt.Sprintf("annotation %s is %q: set it to true or false", AnnotationCustomCNI, c.CustomCNI)}
	}
	if _, ok := s.podRanges(); !ok {
		return Rejection{ReasonPodNetworkUnknown, "spec.clusterNetwork.pods.cidrBlocks of the Cluster is not one range, or one of each family: set it to the range of its pods"}
	}
	return Rejection{}
}

// podRanges returns the range of the pods as a Kluster has it.
func (s Source) podRanges() (text string, ok bool) {
	ranges, ok := kubernikusv1.ParseRanges(strings.Join(s.Cluster.PodRanges, ","))
	if !ok || !ranges[0].IsValid() {
		return "", false
	}
	return kubernikusv1.RangesString(ranges), true
}

// customCNI reports whether the routes of a router are none of the cluster's. A router that other clusters may use needs an annotation
// that the cluster has routes there.
func (s Source) customCNI() bool {
	if s.Cluster.CustomCNI != "" {
		return s.Cluster.CustomCNI == "true"
	}
	return s.Infrastructure.GivenRouter
}

// New returns the Kluster of a Cluster without a Rejection.
func (s Source) New() *kubernikusv1.Kluster {
	ranges, _ := s.podRanges() // without OpenStack, whose routes are found by them, there may be none
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Cluster.Namespace, Name: s.Cluster.Name}}
	k.Spec.Name, k.Spec.ClusterCIDR, k.Spec.NoCloud = s.Cluster.Name, &ranges, !s.Cluster.OnOpenStack()
	metav1.SetMetaDataAnnotation(&k.ObjectMeta, kubernikusv1.ClusterAPIUIDAnnotation, string(s.Cluster.UID))
	s.Update(k)
	return k
}

// Update gives a Kluster of the Cluster what follows from the Cluster. Everything else in it belongs to its users. It returns which
// immutable fields differ.
func (s Source) Update(k *kubernikusv1.Kluster) (immutable []string) {
	metav1.SetMetaDataLabel(&k.ObjectMeta, LabelClusterName, s.Cluster.Name)
	metav1.SetMetaDataLabel(&k.ObjectMeta, LabelMove, "")
	controllerutil.AddFinalizer(k, kubernikusv1.ClusterAPIFinalizer)
	if k.Spec.NoCloud == s.Cluster.OnOpenStack() {
		return []string{"spec.noCloud"}
	}
	if ranges, ok := s.podRanges(); ok && (k.Spec.ClusterCIDR == nil || kubernikusv1.RangesString(k.PodRanges()) != ranges) {
		immutable = append(immutable, "spec.clusterCIDR")
	}
	k.Spec.SecretRef.Kubeconfig = &kubernikusv1.KubeconfigReference{Name: s.Cluster.Name + "-kubeconfig"}
	if k.Spec.NoCloud {
		k.Spec.SecretRef.Name = k.Spec.SecretRef.Kubeconfig.Name // there is no other one
		return immutable
	}
	return append(immutable, s.updateOpenStack(k)...)
}

// updateOpenStack gives a Kluster what follows from the OpenStackCluster.
func (s Source) updateOpenStack(k *kubernikusv1.Kluster) (immutable []string) {
	id := func(field string, value *string, found string) {
		switch {
		case found == "" || *value == found:
		case *value == "":
			*value = found
		default:
			immutable = append(immutable, field)
		}
	}
	openstack, i := &k.Spec.Openstack, s.Infrastructure
	id("spec.openstack.routerID", &openstack.RouterID, i.Router)
	id("spec.openstack.networkID", &openstack.NetworkID, i.Network)
	id("spec.openstack.lbFloatingNetworkID", &openstack.LBFloatingNetworkID, i.ExternalNetwork)
	if len(i.Subnets) == 1 {
		id("spec.openstack.lbSubnetID", &openstack.LBSubnetID, i.Subnets[0])
	}
	// Without a router none may be discovered: the only one of the project may be that of another cluster.
	k.Spec.CustomCNI = openstack.RouterID == "" || s.customCNI()
	k.Spec.SecretRef.Cloud = &kubernikusv1.CloudReference{Name: i.Identity.Name, CloudName: i.Identity.CloudName, RegionName: i.Identity.Region}
	name := func(value **string, annotation, found string) {
		for _, known := range []string{annotation, found} {
			if known != "" {
				*value = &known
				return
			}
		}
	}
	name(&k.Spec.CloudProvider.ClusterName, s.Cluster.ClusterName, s.Names.ClusterName)
	name(&k.Spec.CloudProvider.CSIClusterID, s.Cluster.CSIClusterID, s.Names.CSIClusterID)
	if i.RetainVolumes {
		k.Spec.Deorbit.PersistentVolumes, k.Spec.Deorbit.Snapshots = kubernikusv1.DeletionPolicyRetain, kubernikusv1.DeletionPolicyRetain
	}
	return immutable
}

// UIDOf returns the uid of the Cluster that a Kluster belongs to, "" for one that was not created for a Cluster.
func UIDOf(k *kubernikusv1.Kluster) types.UID {
	return types.UID(k.Annotations[kubernikusv1.ClusterAPIUIDAnnotation])
}
