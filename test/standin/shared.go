// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package standin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

const (
	pathListeners = "load-balancer/v2/lbaas/listeners"
	pathPools     = "load-balancer/v2/lbaas/pools"

	// markOfService begins the name of each load balancer that the cloud controller made, and the tag of each Service that
	// uses one.
	markOfService = "kube_service_"

	// questions is how often a load balancer that is PENDING is requested in a row.
	questions = 20
)

// listener is one of Octavia.
type listener struct {
	ID   string   `json:"id"`
	Port int32    `json:"protocol_port"`
	Pool string   `json:"default_pool_id"`
	Tags []string `json:"tags"`
	On   []named  `json:"loadbalancers"`
}

// share adds the listeners of a Service to a load balancer that it did not make, and its tag. Its own has them already.
func (s *Standin) share(ctx context.Context, service *corev1.Service, balancer *loadBalancer) error {
	name := s.nameOf(service)
	there, err := s.listeners(ctx, balancer)
	if err != nil {
		return err
	}
	for i, port := range service.Spec.Ports {
		var l listener
		if at := slices.IndexFunc(there, func(l listener) bool { return l.Port == port.Port }); at >= 0 {
			l = there[at]
		}
		if l.ID != "" && !slices.Contains(l.Tags, name) {
			return fmt.Errorf("port %d of load balancer %s is another Service's", port.Port, balancer.ID)
		}
		if l.ID == "" {
			var response struct {
				Listener listener `json:"listener"`
			}
			fields := map[string]any{"name": cut(fmt.Sprintf("listener_%d_%s", i, name)), "loadbalancer_id": balancer.ID, "protocol": string(port.Protocol),
				"protocol_port": port.Port, "tags": []string{name}}
			if err := s.edit(ctx, balancer, http.MethodPost, pathListeners, map[string]any{"listener": fields}, &response); err != nil {
				return err
			}
			l = response.Listener
		}
		if l.Pool != "" {
			continue
		}
		fields := map[string]any{"name": cut(fmt.Sprintf("pool_%d_%s", i, name)), "listener_id": l.ID, "protocol": string(port.Protocol),
			"lb_algorithm": "ROUND_ROBIN"}
		if err := s.edit(ctx, balancer, http.MethodPost, pathPools, map[string]any{"pool": fields}, nil); err != nil {
			return err
		}
	}
	if slices.Contains(balancer.Tags, name) {
		return nil
	}
	return s.tag(ctx, balancer, append(slices.Clone(balancer.Tags), name))
}

// isShared reports whether other Services use a load balancer, or another client made it.
func (s *Standin) isShared(service *corev1.Service, balancer *loadBalancer) bool {
	others := slices.ContainsFunc(balancer.Tags, func(tag string) bool { return tag != s.nameOf(service) && strings.HasPrefix(tag, markOfService) })
	return others || !strings.HasPrefix(balancer.Name, markOfService)
}

// unshare deletes the listeners of a Service with their pools, and takes its tag off the load balancer.
func (s *Standin) unshare(ctx context.Context, service *corev1.Service, balancer *loadBalancer) error {
	name := s.nameOf(service)
	there, err := s.listeners(ctx, balancer)
	if err != nil {
		return err
	}
	for _, l := range there {
		if !slices.Contains(l.Tags, name) {
			continue
		}
		if l.Pool != "" {
			if err := s.edit(ctx, balancer, http.MethodDelete, pathPools+"/"+l.Pool, nil, nil); err != nil {
				return err
			}
		}
		if err := s.edit(ctx, balancer, http.MethodDelete, pathListeners+"/"+l.ID, nil, nil); err != nil {
			return err
		}
	}
	s.log("took %s off load balancer %s", name, balancer.Name)
	return s.tag(ctx, balancer, slices.DeleteFunc(slices.Clone(balancer.Tags), func(tag string) bool { return tag == name }))
}

func (s *Standin) listeners(ctx context.Context, balancer *loadBalancer) ([]listener, error) {
	all, err := find[listener](ctx, s.cloud, pathListeners, "listeners", nil)
	return slices.DeleteFunc(all, func(l listener) bool {
		return !slices.ContainsFunc(l.On, func(b named) bool { return b.ID == balancer.ID })
	}), err
}

// tag replaces the tags of a load balancer.
func (s *Standin) tag(ctx context.Context, balancer *loadBalancer, tags []string) error {
	return s.edit(ctx, balancer, http.MethodPut, pathLoadBalancers+"/"+balancer.ID, map[string]any{"loadbalancer": map[string]any{"tags": tags}}, nil)
}

// edit makes one change to a load balancer or what depends on it, and waits until it may be changed again.
func (s *Standin) edit(ctx context.Context, balancer *loadBalancer, method, path string, body, into any) error {
	err := s.cloud.call(ctx, method, path, body, into)
	if err != nil && (method != http.MethodDelete || statusOf(err) != http.StatusNotFound) {
		return err
	}
	return s.active(ctx, balancer.ID)
}

// active waits a little until a load balancer may be changed. If it takes longer, the Service is rechecked: it may have been
// deleted meanwhile.
func (s *Standin) active(ctx context.Context, id string) error {
	for attempt := 1; ; attempt++ {
		var response struct {
			LoadBalancer loadBalancer `json:"loadbalancer"`
		}
		if err := s.cloud.call(ctx, http.MethodGet, pathLoadBalancers+"/"+id, nil, &response); err != nil {
			return err
		}
		status := response.LoadBalancer.Status
		if status == "ACTIVE" {
			return nil
		}
		if attempt == questions || !strings.HasPrefix(status, "PENDING_") {
			return fmt.Errorf("load balancer %s is %s", id, status)
		}
		if err := pause(ctx, retryPeriod); err != nil {
			return err
		}
	}
}
