// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package standin stands in for the two controllers of a workload cluster that make objects in OpenStack: the cloud controller
// (openstack-cloud-controller-manager) with load balancers, and the CSI driver of Cinder with its sidecars. It makes and deletes
// the same objects with the same names, marks and finalizers in the same order, so that tests of Deorbit have what a real cluster
// leaves behind, but it does not do the work behind them: there are no members, and no volume is attached. It is instructed to be
// slow, to fail or to be dead.
//
// It watches Kubernetes with a clientset and sends HTTP requests to OpenStack, the real one or a fake; it shares no code with
// Groundskeeper's client. OpenStack has nothing to watch: while an object of it is on its way, it is requested again and again.
// Volumes are bound to claims by the controller of Kubernetes that always does that.
//
// Sources: https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/openstack/loadbalancer.go,
// https://github.com/kubernetes/cloud-provider-openstack/blob/master/pkg/csi/cinder/controllerserver.go,
// https://github.com/kubernetes-sigs/sig-storage-lib-external-provisioner,
// https://github.com/kubernetes-csi/external-snapshotter
package standin
