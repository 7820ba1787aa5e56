// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// kindOVNGlobal is the kind of the Translations of the whole cluster on OVN.
const kindOVNGlobal = "ovn-global"

// OVN makes the Translations of OVN, and knows what is not translated to it. A Node is a logical switch behind the cluster's router, a
// Pod is a port of it, a Service has a load balancer for each protocol, in the group that all switches use, and a NetworkPolicy is a
// group of ports with ACLs.
type OVN struct {
	Config Config
}

func (o OVN) ids() IDs { return NewIDs(o.Config.Tenant) }

// router is between the switches of the Nodes, loadBalancers is the group of all Services.
func (o OVN) router() uuid.UUID        { return o.ids().ForKey(kindOVNGlobal, "router") }
func (o OVN) loadBalancers() uuid.UUID { return o.ids().ForKey(kindOVNGlobal, "load-balancers") }

// switchLoadBalancers is the group of what only Pods and Nodes use, and gatewayLoadBalancers that of what only gateways use.
func (o OVN) switchLoadBalancers() uuid.UUID {
	return o.ids().ForKey(kindOVNGlobal, "switch-load-balancers")
}
func (o OVN) gatewayLoadBalancers() uuid.UUID {
	return o.ids().ForKey(kindOVNGlobal, "gateway-load-balancers")
}

// Globals returns what there is once per cluster: the router between the Nodes, the groups of the load balancers, and the groups of
// all Pods and of the isolated ones.
func (o OVN) Globals() Result {
	c := newCollector(Owner{})
	c.add(kindOVNGlobal, "router", row("LogicalRouter", uuid.Nil, o.router(), columns{"name": o.Config.Tenant + "-router"}))
	c.add(kindOVNGlobal, "load-balancers", row("LoadBalancerGroup", uuid.Nil, o.loadBalancers(), columns{"name": o.Config.Tenant + "-services"}))
	c.add(kindOVNGlobal, "switch-load-balancers", row("LoadBalancerGroup", uuid.Nil, o.switchLoadBalancers(), columns{"name": o.Config.Tenant + "-switch-services"}))
	c.add(kindOVNGlobal, "gateway-load-balancers", row("LoadBalancerGroup", uuid.Nil, o.gatewayLoadBalancers(), columns{"name": o.Config.Tenant + "-gateway-services"}))
	c.add(kindOVNGlobal, "pods", group(o.allPods(), "all Pods"))
	o.isolation(c)
	return c.done()
}

// Service returns what a Service with its endpoints becomes, and what of it is not served.
func (o OVN) Service(service *corev1.Service, endpoints []*discoveryv1.EndpointSlice, occupied Occupied) Result {
	c := newCollector(OwnerOf(KindService, service))
	if !hasClusterIP(service) {
		return c.done()
	}
	if !slices.Contains(o.Config.ServiceTypes, service.Spec.Type) {
		c.skip(serviceTypeNotSelected(service))
		return c.done()
	}
	if policies := internalTrafficPolicies(service); len(policies) > 0 {
		c.skip(*problem(ReasonTrafficPolicyNotSupported, "%s: for connections within the cluster, OVN does not choose endpoints by where they are", strings.Join(policies, ", ")))
	}
	for _, limit := range o.affinityLimits(service) {
		c.skip(limit)
	}
	for vip, owner := range occupied {
		c.skip(*problem(ReasonExternalAddressTaken, "port %d/%s at the external address %s is not served, because the address is %s: remove it from the Service",
			vip.Port, vip.Protocol, vip.Address, owner))
	}
	o.serve(c, service, endpoints, occupied)
	return c.done()
}

// columns are those of a row that a body sets: strings, numbers, lists, and maps of strings.
type columns map[string]any

// row returns a row below a parent, or on its own with uuid.Nil. Its fields are in the order of their names.
func row(kind string, parent, id uuid.UUID, body columns) midonetv1.BackendResource {
	body["id"] = id.String()
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false) // matches stay readable
	_ = encoder.Encode(body)     // the columns hold nothing that can fail
	made := midonetv1.BackendResource{Kind: kind, Body: strings.TrimSuffix(encoded.String(), "\n")}
	if parent != uuid.Nil {
		made.Parent = parent.String()
	}
	return made
}
