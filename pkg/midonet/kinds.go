// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

// all is every verb.
const all = Create | Get | Update | Delete | List

// kinds is the API as far as Groundskeeper uses it, in the order of references. It is never written to.
//
// MacPort-v2 is spelled as the server's own constants do; the server compares that one without regard to case.
var kinds = []Kind{
	kindOf[Host]("Host", Get|List, "Host-v3", "/hosts/{id}", collection{"", "/hosts"}),
	kindOf[TunnelZone]("TunnelZone", all, "TunnelZone-v1", "/tunnel_zones/{id}", collection{"", "/tunnel_zones"}),
	kindOf[TunnelZoneHost]("TunnelZoneHost", all&^Update, "TunnelZoneHost-v1", "/tunnel_zones/{parent}/hosts/{id}",
		collection{"TunnelZone", "/tunnel_zones/{parent}/hosts"}),
	ofTenants(kindOf[Chain]("Chain", all&^Update, "Chain-v1", "/chains/{id}", collection{"", "/chains"})),
	ofTenants(kindOf[Router]("Router", all, "Router-v3", "/routers/{id}", collection{"", "/routers"})),
	ofTenants(kindOf[Bridge]("Bridge", all, "Bridge-v4", "/bridges/{id}", collection{"", "/bridges"})),
	kindOf[Port]("Port", all, "Port-v3", "/ports/{id}",
		collection{"Bridge", "/bridges/{parent}/ports"}, collection{"Router", "/routers/{parent}/ports"}),
	// A link has no id and cannot be read: the two ports show it, each in peerId.
	kindOf[PortLink]("PortLink", Create|Delete, "PortLink-v1", "/ports/{parent}/link", collection{"Port", "/ports/{parent}/link"}),
	kindOf[Route]("Route", all&^Update, "Route-v1", "/routes/{id}", collection{"Router", "/routers/{parent}/routes"}),
	kindOf[Rule]("Rule", all&^Update, "Rule-v2", "/rules/{id}", collection{"Chain", "/chains/{parent}/rules"}),
	kindOf[HostInterfacePort]("HostInterfacePort", all&^Update, "HostInterfacePort-v1", "/hosts/{parent}/ports/{id}",
		collection{"Host", "/hosts/{parent}/ports"}),
	kindOf[MACPort]("MACPort", all&^Update, "MacPort-v2", "/bridges/{parent}/mac_table/{id}",
		collection{"Bridge", "/bridges/{parent}/mac_table"}),
	kindOf[IPv4MACPair]("IPv4MACPair", all&^Update, "IP4Mac-v1", "/bridges/{parent}/arp_table/{id}",
		collection{"Bridge", "/bridges/{parent}/arp_table"}),
}

// kindOf returns the kind whose bodies are of a type. A list has the media type of its items, with a prefix.
func kindOf[T any, B interface {
	*T
	Body
}](name string, verbs Verb, media, item string, collections ...collection) Kind {
	k := Kind{
		Name: name, Verbs: verbs, MediaType: vendor(media), item: item, collections: collections, newBody: func() Body { return B(new(T)) },
	}
	if k.Has(List) {
		k.CollectionType = vendor("collection." + media)
	}
	return k
}

// ofTenants marks a kind whose list can be narrowed to a tenant.
func ofTenants(k Kind) Kind {
	k.tenants = true
	return k
}

// vendor returns a media type of MidoNet.
func vendor(name string) string { return "application/vnd.org.midonet." + name + "+json" }
