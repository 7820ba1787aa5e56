// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

const (
	// servicePort is that of the Service of the Groundskeeper API servers, and the name of the port.
	servicePort, servicePortName = int64(443), "https"
	// followInterval is how often an API server is queried whether it is ready.
	followInterval = 200 * time.Millisecond
	// followTimeout is how long its response may take.
	followTimeout = time.Second
)

// spreadAddress returns the address that the API servers of a plane listen on when requests are spread over them:
// EndpointSlices may not have loopback.
func spreadAddress(addresses []net.Addr) (string, error) {
	for _, address := range addresses {
		prefix, ok := address.(*net.IPNet)
		if ok && prefix.IP.To4() != nil && prefix.IP.IsGlobalUnicast() {
			return prefix.IP.String(), nil
		}
	}
	return "", errors.New("this machine has no IPv4 address but loopback: requests cannot be spread over API servers (Options.Spread)")
}

// CanSpread reports why this machine cannot have a plane with Options.Spread; nil: it can.
func CanSpread() error {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return err
	}
	_, err = spreadAddress(addresses)
	return err
}

// apiserverAddress returns where Groundskeeper's i-th API server listens.
func (p *Plane) apiserverAddress(i int) string {
	port := p.ports[numbered(apiserverName, i)]
	if p.options.Spread {
		return net.JoinHostPort(p.options.spreadAddress, strconv.Itoa(port))
	}
	return address(port)
}

// spreadService changes the Service of the Groundskeeper API servers from a cluster with Pods to one whose endpoints the plane
// writes.
func spreadService(object *unstructured.Unstructured) error {
	return unstructured.SetNestedMap(object.Object, map[string]any{
		"type":  "ClusterIP",
		"ports": []any{map[string]any{"name": servicePortName, "port": servicePort, "protocol": "TCP"}},
	}, "spec")
}

// endpointSlice returns the EndpointSlice of one API server, with its readiness. Each server has its own port, and therefore its
// own slice.
func endpointSlice(name, host string, port int, ready bool) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
		"metadata": map[string]any{
			"name": name, "namespace": systemNamespace,
			"labels": map[string]any{"kubernetes.io/service-name": apiserverName},
		},
		"addressType": "IPv4",
		"endpoints":   []any{map[string]any{"addresses": []any{host}, "conditions": map[string]any{"ready": ready}}},
		"ports":       []any{map[string]any{"name": servicePortName, "port": int64(port), "protocol": "TCP"}},
	}}
}

// follow does what kubelet and the controller of EndpointSlices do for Pods: it queries every API server whether it is ready, and
// writes that to its EndpointSlice. It ends when the plane is stopped.
func (p *Plane) follow(ctx context.Context, client dynamic.Interface) {
	ctx, p.unfollow = context.WithCancel(context.WithoutCancel(ctx))
	for i, server := range p.APIServers {
		p.followers.Go(func() { p.followOne(ctx, client, i, server) })
	}
}

func (p *Plane) followOne(ctx context.Context, client dynamic.Interface, i int, server *Process) {
	ticker := time.NewTicker(followInterval)
	defer ticker.Stop()
	var recorded *bool
	late := 0 // responds in a row that did not come before the deadline
	for {
		request, cancel := context.WithTimeout(ctx, followTimeout)
		err := probe(request, p.prober, server.health)
		cancel()
		if late++; !errors.Is(err, context.DeadlineExceeded) {
			late = 0
		}
		ready := err == nil
		// One late response is that of a busy machine; kubelet, too, probes three times.
		if ctx.Err() == nil && (late == 0 || late >= 3) && (recorded == nil || *recorded != ready) {
			slice := endpointSlice(server.name, p.options.spreadAddress, p.ports[numbered(apiserverName, i)], ready)
			if err := apply(ctx, client, []*unstructured.Unstructured{slice}); err == nil {
				recorded = &ready // else it is tried again
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
