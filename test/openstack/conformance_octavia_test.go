// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

// whenActive waits until a load balancer may be changed again.
const whenActive = lbaas + `loadbalancers/{lb} => "provisioning_status":"ACTIVE"`

var octaviaQuestions = []question{
	{name: "none", path: lbaas + "loadbalancers?project_id={project}", status: 200, has: []string{`"loadbalancers":[]`, `"loadbalancers_links":[]`}},
	{name: "those of another project", path: lbaas + "loadbalancers?project_id={nobody}", status: 403, has: []string{"faultstring", "Policy does not allow this request"}},
	{name: "a filter that is none", path: lbaas + "loadbalancers?nonsense=1", status: 400, has: []string{"faultstring", "duplicate or invalid"}},
	{name: "one that is not", path: lbaas + "loadbalancers/{nobody}", status: 404, has: []string{"faultstring", "Load Balancer {nobody} not found."}},
	{name: "delete it", method: del, path: lbaas + "loadbalancers/{nobody}?cascade=true", status: 404, has: []string{"faultstring"}},
	{name: "delete a listener that is not", method: del, path: lbaas + "listeners/{nobody}", status: 404, has: []string{"Listener {nobody} not found."}},
	{name: "delete a pool that is not", method: del, path: lbaas + "pools/{nobody}", status: 404, has: []string{"Pool {nobody} not found."}},
	{name: "members of a pool that is not", path: lbaas + "pools/{nobody}/members", status: 404, has: []string{"Pool {nobody} not found."}},
	{name: "tags of one that is not", method: put, path: lbaas + "loadbalancers/{nobody}", body: wrap("loadbalancer", "tags", []string{"a"}), status: 404},
	{name: "one with an attribute that is none", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{subnet}", "nonsense", 1), status: 400, has: []string{"Unknown attribute", "nonsense"}},
	{name: "one without an address", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "name", "x"), status: 400, has: []string{"VIP must contain one of"}},
	{name: "one in a subnet that is not", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{nobody}"), status: 400, has: []string{"Subnet {nobody} not found."}},
	{name: "a listener of none", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "TCP", "protocol_port", 80), status: 400, has: []string{"loadbalancer_id"}},
	{name: "a listener of one that is not", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "TCP", "protocol_port", 80, "loadbalancer_id", "{nobody}"), status: 404},
	{name: "a pool of none", method: post, path: lbaas + "pools", body: wrap("pool", "protocol", "TCP", "lb_algorithm", "ROUND_ROBIN"), status: 400, has: []string{"loadbalancer_id, listener_id"}},

	{name: "make one", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{subnet}", "vip_address", "10.0.0.99", "name", "kube_service_k_ns_web",
		"description", "of k", "tags", []string{"a", "b"}), status: 201,
		has: []string{`"provisioning_status":"PENDING_CREATE"`, `"vip_address":"10.0.0.99"`, `"admin_state_up":true`, `"vip_subnet_id":"{subnet}"`}, keep: "lb", then: whenActive},
	{name: "list it", path: lbaas + "loadbalancers?project_id={project}", status: 200, has: []string{"{lb}", `"description":"of k"`, `"project_id":"{project}"`, `"listeners":[]`, `"pools":[]`, `"vip_network_id":"{network}"`}},
	{name: "list it by name", path: lbaas + "loadbalancers?name=kube_service_k_ns_web", status: 200, has: []string{"{lb}"}},
	{name: "its port", path: neutron + "ports?network_id={network}&device_owner=Octavia", status: 200, has: []string{`"device_id":"lb-{lb}"`, `"name":"octavia-lb-{lb}"`, "10.0.0.99"}},

	{name: "a protocol that is none", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "NONSENSE", "protocol_port", 80, "loadbalancer_id", "{lb}"), status: 400, has: []string{"protocol"}},
	{name: "a port that is none", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "TCP", "protocol_port", 65536, "loadbalancer_id", "{lb}"), status: 400, has: []string{"protocol_port"}},
	{name: "a default pool that is not", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "TCP", "protocol_port", 80, "loadbalancer_id", "{lb}", "default_pool_id", "{nobody}"), status: 404},
	{name: "make a listener", method: post, path: lbaas + "listeners", body: wrap("listener", "name", "l", "protocol", "TCP", "protocol_port", 80, "loadbalancer_id", "{lb}"), status: 201,
		has: []string{`"default_pool_id":null`, `"loadbalancers":[{"id":"{lb}"}]`, `"provisioning_status":"PENDING_CREATE"`}, keep: "listener", then: whenActive},
	{name: "a listener on the same port", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "HTTP", "protocol_port", 80, "loadbalancer_id", "{lb}"), status: 409, has: []string{"already using protocol"}},
	{name: "a listener on the same port of UDP", method: post, path: lbaas + "listeners", body: wrap("listener", "protocol", "UDP", "protocol_port", 80, "loadbalancer_id", "{lb}", "admin_state_up", false), status: 201,
		has: []string{`"admin_state_up":false`}, keep: "udp", then: whenActive},
	{name: "an algorithm that is none", method: post, path: lbaas + "pools", body: wrap("pool", "protocol", "TCP", "lb_algorithm", "NONSENSE", "listener_id", "{listener}"), status: 400, has: []string{"lb_algorithm"}},
	{name: "make a pool", method: post, path: lbaas + "pools", body: wrap("pool", "name", "p", "protocol", "TCP", "lb_algorithm", "ROUND_ROBIN", "listener_id", "{listener}"), status: 201,
		has: []string{`"listeners":[{"id":"{listener}"}]`, `"loadbalancers":[{"id":"{lb}"}]`, `"members":[]`}, keep: "pool", then: whenActive},
	{name: "a second pool for the listener", method: post, path: lbaas + "pools", body: wrap("pool", "protocol", "TCP", "lb_algorithm", "ROUND_ROBIN", "listener_id", "{listener}"), status: 409, has: []string{"already has a default pool"}},
	{name: "the listener has it", path: lbaas + "listeners/{listener}", status: 200, has: []string{`"default_pool_id":"{pool}"`, `"provisioning_status":"ACTIVE"`}},
	{name: "a member without an address", method: post, path: lbaas + "pools/{pool}/members", body: wrap("member", "protocol_port", 80), status: 400, has: []string{"address"}},
	{name: "a member that is too heavy", method: post, path: lbaas + "pools/{pool}/members", body: wrap("member", "address", "10.0.0.5", "protocol_port", 80, "weight", 257), status: 400, has: []string{"weight"}},
	{name: "make a member", method: post, path: lbaas + "pools/{pool}/members", body: wrap("member", "address", "10.0.0.5", "protocol_port", 80), status: 201,
		has: []string{`"weight":1`, `"backup":false`, `"operating_status":"NO_MONITOR"`}, keep: "member", then: whenActive},
	{name: "the same member again", method: post, path: lbaas + "pools/{pool}/members", body: wrap("member", "address", "10.0.0.5", "protocol_port", 80), status: 409, has: []string{"already using ip 10.0.0.5"}},
	{name: "list the members", path: lbaas + "pools/{pool}/members", status: 200, has: []string{"{member}", `"address":"10.0.0.5"`, `"protocol_port":80`, `"members_links":[]`}},
	{name: "list the pools", path: lbaas + "pools?project_id={project}", status: 200, has: []string{"{pool}", `"members":[{"id":"{member}"}]`}},
	{name: "list the listeners", path: lbaas + "listeners?project_id={project}", status: 200, has: []string{"{listener}", "{udp}", `"protocol":"UDP"`}},
	{name: "the first page", path: lbaas + "listeners?project_id={project}&limit=1", status: 200, has: []string{`"rel":"next"`, "limit=1", "marker="}, lacks: []string{"limit=1&project_id", "project_id={project}"}},

	{name: "other tags", method: put, path: lbaas + "loadbalancers/{lb}", body: wrap("loadbalancer", "tags", []string{"b", "c"}), status: 200, then: whenActive},
	{name: "tags that are null", method: put, path: lbaas + "loadbalancers/{lb}", body: wrap("loadbalancer", "tags", nil), status: 200, then: whenActive},
	{name: "stay", path: lbaas + "loadbalancers/{lb}", status: 200, has: []string{`"b"`, `"c"`}, lacks: []string{`"a"`}},
	{name: "no tags", method: put, path: lbaas + "loadbalancers/{lb}", body: wrap("loadbalancer", "tags", []string{}), status: 200, then: whenActive},
	{name: "are none", path: lbaas + "loadbalancers/{lb}", status: 200, has: []string{`"tags":[]`}},
	{name: "delete it with its children", method: del, path: lbaas + "loadbalancers/{lb}", status: 400, has: []string{"it has children"}},
	{name: "delete the member", method: del, path: lbaas + "pools/{pool}/members/{member}", status: 204, then: whenActive},
	{name: "the member has been deleted", method: del, path: lbaas + "pools/{pool}/members/{member}", status: 404},
	{name: "delete the pool", method: del, path: lbaas + "pools/{pool}", status: 204, then: whenActive},
	{name: "the listener stays without it", path: lbaas + "listeners/{listener}", status: 200, has: []string{`"default_pool_id":null`, `"provisioning_status":"ACTIVE"`}},
	{name: "delete the listener", method: del, path: lbaas + "listeners/{listener}", status: 204, then: whenActive},
	{name: "the listener has been deleted", method: del, path: lbaas + "listeners/{listener}", status: 404},
	{name: "another pool", method: post, path: lbaas + "pools", body: wrap("pool", "protocol", "TCP", "lb_algorithm", "ROUND_ROBIN", "loadbalancer_id", "{lb}"), status: 201, has: []string{`"listeners":[]`}, keep: "pool", then: whenActive},
	{name: "delete it by cascade", method: del, path: lbaas + "loadbalancers/{lb}?cascade=true", status: 204, then: lbaas + "loadbalancers/{lb} => 404"},
	{name: "the other listener went with it", path: lbaas + "listeners/{udp}", status: 404},
	{name: "the pool went with it", path: lbaas + "pools/{pool}", status: 404},
	{name: "its port went with it", path: neutron + "ports?network_id={network}&device_owner=Octavia", status: 200, has: []string{`"ports":[]`}},
}

// concurrentBalancerQuestions are about a load balancer that is made together with what depends on it.
var concurrentBalancerQuestions = []question{
	{name: "pools without names", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{subnet}", "listeners", []any{map[string]any{
		"protocol": "TCP", "protocol_port": 80, "default_pool": map[string]any{"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}}), status: 400, has: []string{"Validation failure"}},
	{name: "a missing pool", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{subnet}", "listeners", []any{map[string]any{
		"protocol": "TCP", "protocol_port": 80, "default_pool": map[string]any{"name": "p"}}}), status: 400, has: []string{"was referenced but no full definition was found"}},
	{name: "make it with all", method: post, path: lbaas + "loadbalancers", body: wrap("loadbalancer", "vip_subnet_id", "{subnet}", "listeners", []any{map[string]any{
		"name": "l", "protocol": "TCP", "protocol_port": 80, "tags": []string{"t"}, "default_pool": map[string]any{"name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
			"members": []any{map[string]any{"address": "10.0.0.5", "protocol_port": 30080, "weight": 3}}}}}), status: 201,
		has: []string{`"address":"10.0.0.5"`, `"weight":3`, `"protocol_port":80`}, keep: "lb", then: whenActive},
	{name: "delete all", method: del, path: lbaas + "loadbalancers/{lb}?cascade=true", status: 204, then: lbaas + "loadbalancers/{lb} => 404"},
	{name: "the listeners have been deleted", path: lbaas + "listeners?project_id={project}", status: 200, has: []string{`"listeners":[]`}},
	{name: "the pools have been deleted", path: lbaas + "pools?project_id={project}", status: 200, has: []string{`"pools":[]`}},
}
