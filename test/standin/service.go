// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// FinalizerService is on each Service that has a load balancer, until that has been deleted.
const FinalizerService = "service.kubernetes.io/load-balancer-cleanup"

// annotationLoadBalancerID on a Service names its load balancer.
const annotationLoadBalancerID = "loadbalancer.openstack.org/load-balancer-id"

// service makes or deletes what a Service of type LoadBalancer has in OpenStack. One with a class is another client's.
func (s *Standin) service(ctx context.Context, k key) error {
	if s.config.SubnetID == "" {
		return nil
	}
	services := s.config.Kubernetes.CoreV1().Services(k.namespace)
	service, err := services.Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	wanted := service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil && service.DeletionTimestamp.IsZero()
	switch {
	case wanted:
		if controllerutil.AddFinalizer(service, FinalizerService) {
			if service, err = services.Update(ctx, service, metav1.UpdateOptions{}); err != nil {
				return client.IgnoreNotFound(err)
			}
		}
		return s.serve(ctx, service)
	case controllerutil.ContainsFinalizer(service, FinalizerService):
		if err := s.deleteLoadBalancer(ctx, service); err != nil {
			return err
		}
		// It may have changed meanwhile; then this is rejected, and comes again.
		controllerutil.RemoveFinalizer(service, FinalizerService)
		_, err := services.Update(ctx, service, metav1.UpdateOptions{})
		return client.IgnoreNotFound(err)
	default:
		return nil
	}
}

// serve makes the load balancer of a Service, and records which it is and how it is reached.
func (s *Standin) serve(ctx context.Context, service *corev1.Service) error {
	balancer, address, err := s.ensureLoadBalancer(ctx, service)
	if err != nil {
		return err
	}
	services := s.config.Kubernetes.CoreV1().Services(service.Namespace)
	if service.Annotations[annotationLoadBalancerID] != balancer.ID {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{annotationLoadBalancerID: balancer.ID}}})
		if err != nil {
			return err
		}
		if service, err = services.Patch(ctx, service.Name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	status := service.Status.LoadBalancer
	if len(status.Ingress) == 1 && status.Ingress[0].IP == address {
		return nil
	}
	service.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: address}}
	_, err = services.UpdateStatus(ctx, service, metav1.UpdateOptions{})
	return client.IgnoreNotFound(err)
}
