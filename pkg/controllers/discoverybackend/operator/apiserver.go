// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// apiServerService is the Service of the API server, in namespace default.
	apiServerService = "kubernetes"
	// addressesPeriod is how long the addresses of the API server are used before they are read again.
	addressesPeriod = time.Minute
	// recheckPeriod is how often the discoverer of a backend is compared with them.
	recheckPeriod = 10 * time.Minute
)

// apiServer remembers the addresses of the API server of this cluster, which no backend may publish. The zero value knows none.
type apiServer struct {
	mu       sync.Mutex
	read     time.Time
	networks []string
}

// networksOf returns the addresses as networks of one address each, sorted. An error means that not all are known.
func (a *apiServer) networksOf(ctx context.Context, live client.Reader, now time.Time) ([]string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.read.IsZero() && now.Sub(a.read) < addressesPeriod {
		return a.networks, nil
	}
	service := &corev1.Service{}
	if err := live.Get(ctx, client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: apiServerService}, service); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("get the Service of the API server: %w", err)
	}
	slices := &discoveryv1.EndpointSliceList{}
	err := live.List(ctx, slices, client.InNamespace(metav1.NamespaceDefault), client.MatchingLabels{discoveryv1.LabelServiceName: apiServerService})
	if err != nil {
		return nil, fmt.Errorf("list the EndpointSlices of the API server: %w", err)
	}
	a.networks, a.read = networksOfAPIServer(service, slices.Items), now
	return a.networks, nil
}

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
