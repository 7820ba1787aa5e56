// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

const (
	pathLoadBalancers  = "load-balancer/v2/lbaas/loadbalancers"
	pathFloatingIPs    = "network/v2.0/floatingips"
	pathSecurityGroups = "network/v2.0/security-groups"
)

// mostOfName is how long a name in OpenStack may be, in bytes; longer ones are cut.
const mostOfName = 255

// annotationKeepFloatingIP on a Service keeps its floating address when its load balancer is deleted.
const annotationKeepFloatingIP = "loadbalancer.openstack.org/keep-floatingip"

// markOfFloatingIP begins the description of each floating address that the cloud controller made.
const markOfFloatingIP = "Floating IP for Kubernetes external service"

// loadBalancer is one of Octavia.
type loadBalancer struct {
	ID      string   `json:"id"`
	Name    string   `json:"name"`
	Status  string   `json:"provisioning_status"`
	Port    string   `json:"vip_port_id"`
	Address string   `json:"vip_address"`
	Tags    []string `json:"tags"`
}

// named is any other object.
type named struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Address     string `json:"floating_ip_address"`
}

func (s *Standin) nameOf(service *corev1.Service) string {
	return cut(fmt.Sprintf("kube_service_%s_%s_%s", s.config.ClusterName, service.Namespace, service.Name))
}

func nameOfGroup(service *corev1.Service) string {
	return cut(fmt.Sprintf("lb-sg-%s-%s-%s", service.UID, service.Namespace, service.Name))
}

func cut(name string) string { return name[:min(len(name), mostOfName)] }

// findLoadBalancer returns the load balancer of a Service, by its annotation or by its name; nil: it has
// none.
func (s *Standin) findLoadBalancer(ctx context.Context, service *corev1.Service) (*loadBalancer, error) {
	if id := service.Annotations[annotationLoadBalancerID]; id != "" {
		var response struct {
			LoadBalancer loadBalancer `json:"loadbalancer"`
		}
		err := s.cloud.call(ctx, http.MethodGet, pathLoadBalancers+"/"+id, nil, &response)
		if statusOf(err) == http.StatusNotFound {
			return nil, nil
		}
		return &response.LoadBalancer, err
	}
	name := s.nameOf(service)
	found, err := find[loadBalancer](ctx, s.cloud, pathLoadBalancers, "loadbalancers", url.Values{"name": {name}})
	found = slices.DeleteFunc(found, func(l loadBalancer) bool { return l.Name != name })
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// ensureLoadBalancer makes what a Service needs, one after the other: the load balancer, the floating address, the
// security group. It returns the virtual IP address.
func (s *Standin) ensureLoadBalancer(ctx context.Context, service *corev1.Service) (*loadBalancer, string, error) {
	balancer, err := s.findLoadBalancer(ctx, service)
	if err != nil {
		return nil, "", err
	}
	if balancer == nil {
		if id := service.Annotations[annotationLoadBalancerID]; id != "" {
			return nil, "", fmt.Errorf("there is no load balancer %s", id)
		}
		if balancer, err = s.createLoadBalancer(ctx, service); err != nil {
			return nil, "", err
		}
		s.log("made load balancer %s", balancer.Name)
	}
	if err := s.active(ctx, balancer.ID); err != nil {
		return nil, "", err
	}
	if err := s.share(ctx, service, balancer); err != nil {
		return nil, "", err
	}
	address := balancer.Address
	if s.config.FloatingNetworkID != "" {
		if address, err = s.ensureFloatingIP(ctx, service, balancer); err != nil {
			return nil, "", err
		}
	}
	return balancer, address, s.ensureSecurityGroup(ctx, service)
}

// createLoadBalancer makes a load balancer with a listener and a pool for each port, in one request.
func (s *Standin) createLoadBalancer(ctx context.Context, service *corev1.Service) (*loadBalancer, error) {
	name := s.nameOf(service)
	var listeners []any
	for i, port := range service.Spec.Ports {
		listeners = append(listeners, map[string]any{
			"name": cut(fmt.Sprintf("listener_%d_%s", i, name)), "protocol": string(port.Protocol), "protocol_port": port.Port, "tags": []string{name},
			"default_pool": map[string]any{"name": cut(fmt.Sprintf("pool_%d_%s", i, name)), "protocol": string(port.Protocol), "lb_algorithm": "ROUND_ROBIN"},
		})
	}
	body := map[string]any{"loadbalancer": map[string]any{
		"name": name, "description": fmt.Sprintf("Kubernetes external service %s/%s from cluster %s", service.Namespace, service.Name, s.config.ClusterName),
		"vip_subnet_id": s.config.SubnetID, "tags": []string{name}, "listeners": listeners,
	}}
	var response struct {
		LoadBalancer loadBalancer `json:"loadbalancer"`
	}
	err := s.cloud.call(ctx, http.MethodPost, pathLoadBalancers, body, &response)
	return &response.LoadBalancer, err
}

func (s *Standin) ensureFloatingIP(ctx context.Context, service *corev1.Service, balancer *loadBalancer) (string, error) {
	found, err := s.floatingIPs(ctx, balancer)
	if err != nil {
		return "", err
	}
	if len(found) > 0 {
		return found[0].Address, nil
	}
	body := map[string]any{"floatingip": map[string]any{"floating_network_id": s.config.FloatingNetworkID, "port_id": balancer.Port,
		"description": fmt.Sprintf("%s %s/%s from cluster %s", markOfFloatingIP, service.Namespace, service.Name, s.config.ClusterName)}}
	var response struct {
		FloatingIP named `json:"floatingip"`
	}
	err = s.cloud.call(ctx, http.MethodPost, pathFloatingIPs, body, &response)
	return response.FloatingIP.Address, err
}

func (s *Standin) floatingIPs(ctx context.Context, balancer *loadBalancer) ([]named, error) {
	return find[named](ctx, s.cloud, pathFloatingIPs, "floatingips", url.Values{"port_id": {balancer.Port}})
}

func (s *Standin) ensureSecurityGroup(ctx context.Context, service *corev1.Service) error {
	found, err := s.securityGroups(ctx, service)
	if err != nil || len(found) > 0 {
		return err
	}
	return s.cloud.call(ctx, http.MethodPost, pathSecurityGroups, map[string]any{"security_group": map[string]any{"name": nameOfGroup(service),
		"description": fmt.Sprintf("Security Group for %s/%s Service LoadBalancer in cluster %s", service.Namespace, service.Name, s.config.ClusterName)}}, nil)
}

func (s *Standin) securityGroups(ctx context.Context, service *corev1.Service) ([]named, error) {
	return find[named](ctx, s.cloud, pathSecurityGroups, "security_groups", url.Values{"name": {nameOfGroup(service)}})
}
