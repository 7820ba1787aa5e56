// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory has what Deorbit keeps of the objects of a workload cluster: of each the few fields that a decision
// needs, so that a cluster of many thousand objects fits into little memory.
package inventory

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Names under which Cinder provides volumes.
const (
	// DriverCinder is the CSI driver of Cinder, and the provisioner of its classes.
	DriverCinder = "cinder.csi.openstack.org"
	// ProvisionerInTree is the provisioner of classes from the time before CSI.
	ProvisionerInTree = "kubernetes.io/cinder"
	// driverManila is the CSI driver of Manila; its name begins with the protocol and a dot.
	driverManila = "manila.csi.openstack.org"
)

// IsManila reports whether a CSI driver is that of Manila.
func IsManila(driver string) bool {
	return driver == driverManila || strings.HasSuffix(driver, "."+driverManila)
}

// IsOpenStack reports whether a CSI driver is that of Cinder or Manila.
func IsOpenStack(driver string) bool { return driver == DriverCinder || IsManila(driver) }

// Marks on Services that the cloud provider OpenStack and Kubernetes define. OpenStack's has no loadBalancerClass: it
// leaves alone every Service that has one.
// https://github.com/kubernetes/cloud-provider-openstack/issues/2598
const (
	// KeepFloatingIPAnnotation with the value "true" makes the cloud provider keep the floating IP of a Service.
	KeepFloatingIPAnnotation = "loadbalancer.openstack.org/keep-floatingip"
	// LoadBalancerFinalizer is on a Service as long as it has a load balancer that a cloud provider manages.
	LoadBalancerFinalizer = "service.kubernetes.io/load-balancer-cleanup"
	// LoadBalancerIDAnnotation is the id of the load balancer in Octavia. The cloud provider writes it, and a user does who
	// wants a load balancer that is there already.
	LoadBalancerIDAnnotation = "loadbalancer.openstack.org/load-balancer-id"
	// LoadBalancerAddressAnnotation is the address of the load balancer. The cloud provider writes it; where the status has a
	// hostname, for the PROXY protocol or by an annotation, it is the only place that has the address.
	// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/master/docs/openstack-cloud-controller-manager/expose-applications-using-loadbalancer-type-service.md
	LoadBalancerAddressAnnotation = "loadbalancer.openstack.org/load-balancer-address"
)

// The Octavia ingress controller serves the Ingresses that have this annotation with this value. It knows no
// spec.ingressClassName, and sets no finalizer.
// Source: https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/ingress/controller/controller.go
const (
	IngressClassAnnotation = "kubernetes.io/ingress.class"
	IngressClassOctavia    = "openstack"
)

// Meta is what all objects have.
type Meta struct {
	Namespace, Name string
	UID             types.UID
	ResourceVersion string
	Created         time.Time
	// Deleted is zero while the object is not being deleted. Of a pod, it is when its grace period ends.
	Deleted    time.Time
	Finalizers []string
}

// MetaOf returns what is kept of the metadata of an object.
func MetaOf(object metav1.Object) Meta {
	return Meta{
		Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
		Created: object.GetCreationTimestamp().Time, Deleted: ptr.Deref(object.GetDeletionTimestamp(), metav1.Time{}).Time,
		Finalizers: object.GetFinalizers(),
	}
}

// Deleting reports whether the object is being deleted.
func (m Meta) Deleting() bool { return !m.Deleted.IsZero() }

// HeldBy reports whether the object has a finalizer other than the given ones.
func (m Meta) HeldBy(known ...string) bool {
	return slices.ContainsFunc(m.Finalizers, func(finalizer string) bool { return !slices.Contains(known, finalizer) })
}

// Key returns the namespace and the name.
func (m Meta) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: m.Namespace, Name: m.Name}
}

// Reference leads to an object. The UID is empty where it was not bound yet.
type Reference struct {
	types.NamespacedName
	UID types.UID
}

// Listed are kinds that a check has listed.
type Listed struct{ Claims, Volumes, Snapshots, Services bool }

// World has the objects that one check has listed. It contains only the kinds that the stage needs.
type World struct {
	// Drivers are further drivers whose volumes and snapshots are deleted, besides those of OpenStack, and LoadBalancerClasses further classes
	// of Services whose load balancers are.
	Drivers, LoadBalancerClasses []string
	Volumes                      []Volume
	Claims                       []Claim
	Classes                      []Class
	Pods                         []Pod
	// Ready has the nodes that are.
	Ready map[string]bool
	// SnapshotVersion is the version in which the API of snapshots is served.
	SnapshotVersion string
	// SnapshotsServed reports that the cluster has the API of snapshots. Without it, those that were seen are not known to be deleted.
	SnapshotsServed bool
	// SnapshotDrivers are the drivers of the snapshot classes.
	SnapshotDrivers map[string]string
	Snapshots       []Snapshot
	Contents        []Content
	Services        []Service
	// Listed are the kinds that the check has listed. The state of others is unknown.
	Listed Listed
	// ClusterNames and CSIClusterIDs are the names that the OpenStack controllers run with, each once.
	ClusterNames, CSIClusterIDs []string
	// Finalized are the uids of Services that were seen with LoadBalancerFinalizer, in this check or an earlier one.
	Finalized map[types.UID]bool
}

// Service is a Service that has a load balancer, or had one that is not cleaned up, or an Ingress of the Octavia ingress
// controller.
type Service struct {
	Meta
	// Ingress reports that it is an Ingress.
	Ingress bool
	// LoadBalancer reports that the type is LoadBalancer.
	LoadBalancer bool
	// Class is the loadBalancerClass, by which another provider than OpenStack's is meant.
	Class string
	// Keep reports that the floating IP is to be kept.
	Keep bool
	// BalancerID is the load balancer in Octavia that the annotation names. Address is the first of the status, or the hostname
	// there when the address is not known.
	BalancerID, Address string
}

// ServiceOf returns what is kept of a Service. ok is false for one that has nothing to do with load balancers.
func ServiceOf(service *corev1.Service) (kept Service, ok bool) {
	kept = Service{
		Meta: MetaOf(service), LoadBalancer: service.Spec.Type == corev1.ServiceTypeLoadBalancer,
		Class: ptr.Deref(service.Spec.LoadBalancerClass, ""), Keep: service.Annotations[KeepFloatingIPAnnotation] == "true",
		BalancerID: service.Annotations[LoadBalancerIDAnnotation], Address: addressOf(service),
	}
	return kept, kept.LoadBalancer || kept.Finalized()
}

// SetServices sets the Services of a complete list, and Ingresses.
func (w *World) SetServices(listed, ingresses []Service) {
	for i := range listed {
		if s := &listed[i]; slices.Contains(w.LoadBalancerClasses, s.Class) {
			s.Class = "" // no other provider's
		}
	}
	w.Services, w.Listed.Services = slices.Concat(listed, ingresses), true
}

// nip ends hostnames that begin with the address that they resolve to: what the cloud provider writes for the PROXY protocol.
const nip = ".nip.io"

// addressOf returns the address of the load balancer of a Service that has one. Only controllers write the status, so that an IP
// there counts; the annotation does only where the status has a hostname instead.
func addressOf(service *corev1.Service) string {
	served := service.Status.LoadBalancer.Ingress
	for _, s := range served {
		if s.IP != "" {
			return s.IP
		}
	}
	if len(served) == 0 {
		return ""
	}
	if address := service.Annotations[LoadBalancerAddressAnnotation]; isAddress(address) {
		return address
	}
	if address, found := strings.CutSuffix(served[0].Hostname, nip); found && isAddress(address) {
		return address
	}
	return served[0].Hostname
}

func isAddress(text string) bool {
	_, err := netip.ParseAddr(text)
	return err == nil
}

// IngressOf returns what is kept of an Ingress. ok is false for one that is not of the Octavia ingress controller.
func IngressOf(ingress *networkingv1.Ingress) (kept Service, ok bool) {
	kept = Service{Meta: MetaOf(ingress), Ingress: true, LoadBalancer: true}
	if addresses := ingress.Status.LoadBalancer.Ingress; len(addresses) > 0 {
		kept.Address = addresses[0].IP
	}
	return kept, ingress.Annotations[IngressClassAnnotation] == IngressClassOctavia
}

// Finalized reports whether a cloud provider manages a load balancer of the Service.
func (s Service) Finalized() bool { return slices.Contains(s.Finalizers, LoadBalancerFinalizer) }
