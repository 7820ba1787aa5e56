// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

// all is every verb.
const all = Create | Get | Update | Delete | List

// kinds is the API as far as Groundskeeper uses it, in the order of references. It is never written to.
//
// MacPort-v2 is spelled as the server's own constants do; the server compares that one without regard to case.
var kinds = []Kind{
	{
		Name: "Host", Verbs: Get | List, MediaType: vendor("Host-v3"), CollectionType: vendor("collection.Host-v3"),
		collections: []collection{{"", "/hosts"}}, item: "/hosts/{id}",
		newBody: func() Body { return &Host{} },
	},
	{
		Name: "TunnelZone", Verbs: all, MediaType: vendor("TunnelZone-v1"), CollectionType: vendor("collection.TunnelZone-v1"),
		collections: []collection{{"", "/tunnel_zones"}}, item: "/tunnel_zones/{id}",
		newBody: func() Body { return &TunnelZone{} },
	},
	{
		Name: "TunnelZoneHost", Verbs: all &^ Update, MediaType: vendor("TunnelZoneHost-v1"),
		CollectionType: vendor("collection.TunnelZoneHost-v1"),
		collections:    []collection{{"TunnelZone", "/tunnel_zones/{parent}/hosts"}}, item: "/tunnel_zones/{parent}/hosts/{id}",
		newBody: func() Body { return &TunnelZoneHost{} },
	},
	{
		Name: "Chain", Verbs: all &^ Update, MediaType: vendor("Chain-v1"), CollectionType: vendor("collection.Chain-v1"),
		collections: []collection{{"", "/chains"}}, item: "/chains/{id}", tenants: true,
		newBody: func() Body { return &Chain{} },
	},
	{
		Name: "Router", Verbs: all, MediaType: vendor("Router-v3"), CollectionType: vendor("collection.Router-v3"),
		collections: []collection{{"", "/routers"}}, item: "/routers/{id}", tenants: true,
		newBody: func() Body { return &Router{} },
	},
	{
		Name: "Bridge", Verbs: all, MediaType: vendor("Bridge-v4"), CollectionType: vendor("collection.Bridge-v4"),
		collections: []collection{{"", "/bridges"}}, item: "/bridges/{id}", tenants: true,
		newBody: func() Body { return &Bridge{} },
	},
	{
		Name: "Port", Verbs: all, MediaType: vendor("Port-v3"), CollectionType: vendor("collection.Port-v3"),
		collections: []collection{{"Bridge", "/bridges/{parent}/ports"}, {"Router", "/routers/{parent}/ports"}}, item: "/ports/{id}",
		newBody: func() Body { return &Port{} },
	},
	{
		// A link has no id and cannot be read: the two ports show it, each in peerId.
		Name: "PortLink", Verbs: Create | Delete, MediaType: vendor("PortLink-v1"),
		collections: []collection{{"Port", "/ports/{parent}/link"}}, item: "/ports/{parent}/link",
		newBody: func() Body { return &PortLink{} },
	},
	{
		Name: "Route", Verbs: all &^ Update, MediaType: vendor("Route-v1"), CollectionType: vendor("collection.Route-v1"),
		collections: []collection{{"Router", "/routers/{parent}/routes"}}, item: "/routes/{id}",
		newBody: func() Body { return &Route{} },
	},
	{
		Name: "Rule", Verbs: all &^ Update, MediaType: vendor("Rule-v2"), CollectionType: vendor("collection.Rule-v2"),
		collections: []collection{{"Chain", "/chains/{parent}/rules"}}, item: "/rules/{id}",
		newBody: func() Body { return &Rule{} },
	},
	{
		Name: "HostInterfacePort", Verbs: all &^ Update, MediaType: vendor("HostInterfacePort-v1"),
		CollectionType: vendor("collection.HostInterfacePort-v1"),
		collections:    []collection{{"Host", "/hosts/{parent}/ports"}}, item: "/hosts/{parent}/ports/{id}",
		newBody: func() Body { return &HostInterfacePort{} },
	},
	{
		Name: "MACPort", Verbs: all &^ Update, MediaType: vendor("MacPort-v2"), CollectionType: vendor("collection.MacPort-v2"),
		collections: []collection{{"Bridge", "/bridges/{parent}/mac_table"}}, item: "/bridges/{parent}/mac_table/{id}",
		newBody: func() Body { return &MACPort{} },
	},
	{
		Name: "IPv4MACPair", Verbs: all &^ Update, MediaType: vendor("IP4Mac-v1"), CollectionType: vendor("collection.IP4Mac-v1"),
		collections: []collection{{"Bridge", "/bridges/{parent}/arp_table"}}, item: "/bridges/{parent}/arp_table/{id}",
		newBody: func() Body { return &IPv4MACPair{} },
	},
}

// vendor returns a media type of MidoNet.
func vendor(name string) string { return "application/vnd.org.midonet." + name + "+json" }
