// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// isPartOf reports whether an object was made for this very backend. One in a namespace is controlled by it; a
// ClusterRoleBinding cannot have one, and only administrators write those.
func isPartOf(backend *gimbalv1.DiscoveryBackend, object metav1.Object) bool {
	if object.GetNamespace() != "" {
		return metav1.IsControlledBy(object, backend)
	}
	labels := object.GetLabels()
	return labels[labelName] == discovererName && labels[labelInstance] == backend.Name && labels[labelManagedBy] == operatorName
}

func boundBy(binding metav1.Object) (rbacv1.RoleRef, []rbacv1.Subject) {
	switch binding := binding.(type) {
	case *rbacv1.RoleBinding:
		return binding.RoleRef, binding.Subjects
	case *rbacv1.ClusterRoleBinding:
		return binding.RoleRef, binding.Subjects
	}
	return rbacv1.RoleRef{}, nil
}

// bindsOnlyDiscoverer reports whether a binding with the name of one of a backend's binds the role in its name to the account of the
// discoverer, and to no other subject. Neither the role nor, without the permissions of the role, the subject can be changed by others.
func bindsOnlyDiscoverer(backend *gimbalv1.DiscoveryBackend, binding metav1.Object) bool {
	role, subjects := boundBy(binding)
	account := rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: backend.Namespace, Name: partName(backend)}
	return role.Kind == "ClusterRole" && role.Name+"-"+backend.Name == binding.GetName() && slices.Equal(subjects, []rbacv1.Subject{account})
}

// isMarked reports whether a discoverer of Groundskeeper wrote an object. A slice may report so with the label of Kubernetes.
func isMarked(object *metav1.PartialObjectMetadata) bool {
	labels := object.GetLabels()
	return labels[labelManagedBy] == discovererName || object.Kind == "EndpointSlice" && labels[discoveryv1.LabelManagedBy] == discovererName
}

// deletionPlan returns the copies of a backend among some objects: those that name it and carry Groundskeeper's mark, and are not
// going already. An object that names two backends is that of the newer label.
func deletionPlan(backend string, objects []metav1.PartialObjectMetadata) []*metav1.PartialObjectMetadata {
	var plan []*metav1.PartialObjectMetadata
	for i := range objects {
		object := &objects[i]
		if desired.BackendOf(object.Labels) == backend && isMarked(object) && object.DeletionTimestamp.IsZero() {
			plan = append(plan, object)
		}
	}
	return plan
}

// orphans returns the objects that name a backend which does not exist: those with Groundskeeper's mark, and the others.
func orphans(objects []metav1.PartialObjectMetadata, exists map[string]bool) (marked, unmarked []*metav1.PartialObjectMetadata) {
	for i := range objects {
		object := &objects[i]
		switch {
		case exists[desired.BackendOf(object.Labels)] || !object.DeletionTimestamp.IsZero():
		case isMarked(object):
			marked = append(marked, object)
		default:
			unmarked = append(unmarked, object)
		}
	}
	return marked, unmarked
}

// networksOfAPIServer returns the addresses of the API server of this cluster, which no backend may publish, as networks of one address
// each, sorted.
func networksOfAPIServer(service *corev1.Service, all []discoveryv1.EndpointSlice) []string {
	addresses := slices.Clone(service.Spec.ClusterIPs)
	for i := range all {
		for j := range all[i].Endpoints {
			addresses = append(addresses, all[i].Endpoints[j].Addresses...)
		}
	}
	var networks []string
	for _, text := range addresses {
		if address, err := netip.ParseAddr(text); err == nil { // a headless Service has None
			address = address.WithZone("").Unmap()
			networks = append(networks, netip.PrefixFrom(address, address.BitLen()).String())
		}
	}
	slices.Sort(networks)
	return slices.Compact(networks)
}
