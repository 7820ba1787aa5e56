// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// deleteLoadBalancer deletes what a Service had: its floating address, the load balancer with all below it, and when that has been
// deleted the security group. Without a load balancer it deletes nothing, as the real one: a group is left behind then. Of one that
// others share, or that the cloud controller did not make, only the listeners of the Service go.
func (s *Standin) deleteLoadBalancer(ctx context.Context, service *corev1.Service) error {
	balancer, err := s.findLoadBalancer(ctx, service)
	if err != nil || balancer == nil {
		return err
	}
	if balancer.Status != "ACTIVE" && balancer.Status != "ERROR" {
		return fmt.Errorf("load balancer %s is %s", balancer.Name, balancer.Status)
	}
	if s.isShared(service, balancer) {
		err = s.unshare(ctx, service, balancer)
	} else {
		err = s.deleteWhole(ctx, service, balancer)
	}
	if err != nil {
		return err
	}
	groups, err := s.securityGroups(ctx, service)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := s.cloud.remove(ctx, pathSecurityGroups+"/"+g.ID); err != nil {
			return err
		}
	}
	return nil
}

// deleteWhole deletes a load balancer and its floating address, and waits until it has been deleted.
func (s *Standin) deleteWhole(ctx context.Context, service *corev1.Service, balancer *loadBalancer) error {
	if service.Annotations[annotationKeepFloatingIP] != "true" && balancer.Port != "" {
		found, err := s.floatingIPs(ctx, balancer)
		if err != nil {
			return err
		}
		for _, f := range found {
			if !strings.Contains(f.Description, markOfFloatingIP) {
				continue
			}
			if err := s.cloud.remove(ctx, pathFloatingIPs+"/"+f.ID); err != nil {
				return err
			}
		}
	}
	if err := s.cloud.remove(ctx, pathLoadBalancers+"/"+balancer.ID+"?cascade=true"); err != nil {
		return err
	}
	s.log("deleted load balancer %s", balancer.Name)
	return s.cloud.deleted(ctx, pathLoadBalancers+"/"+balancer.ID)
}
