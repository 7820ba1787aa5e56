// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package ovn

// kinds are the tables as far as Groundskeeper uses them, in the order of references. It is never written to. Columns that ovn-northd
// or ovn-controller sets are not listed, and neither are those that refer to rows below a row: the parent of a row is a field of the
// Translation. The groups of a port are a column of the port and not of the group, so that a port is in them from its first moment, and
// a change of one port is not one of a list of thousands.
var kinds = []Kind{
	{
		Name: "LoadBalancerGroup", Table: "Load_Balancer_Group", Root: true, Unique: "name",
		Columns: []Column{text("name")},
	},
	{
		Name: "LoadBalancer", Table: "Load_Balancer", Root: true, Parent: "LoadBalancerGroup", Link: "load_balancer",
		Columns: []Column{text("name"), optional("protocol"), exactPairs("vips"), pairs("ip_port_mappings"), texts("selection_fields"),
			pairs("options", "address-family", "affinity_timeout", "ct_flush", "hairpin_snat_ip", "neighbor_responder",
				"reject", "skip_snat", "template"), pairs(tagged)},
	},
	{
		Name: "LogicalRouter", Table: "Logical_Router", Root: true,
		Columns: []Column{text("name"), optionalFlag("enabled"), references("load_balancer_group", "LoadBalancerGroup"),
			pairs("options", "chassis", "lb_force_snat_ip"), pairs(tagged)},
	},
	{
		Name: "LogicalRouterPort", Table: "Logical_Router_Port", Parent: "LogicalRouter", Link: "ports", Unique: "name",
		Columns: []Column{text("name"), text("mac"), texts("networks"), optional("peer"), optionalFlag("enabled"), pairs("ipv6_ra_configs"), pairs("options"), pairs(tagged)},
	},
	{
		Name: "LogicalRouterStaticRoute", Table: "Logical_Router_Static_Route", Parent: "LogicalRouter", Link: "static_routes",
		Columns: []Column{text("ip_prefix"), text("nexthop"), optional("output_port"), optional("policy"), text("route_table"), pairs("options"), pairs(tagged)},
	},
	{
		Name: "LogicalRouterPolicy", Table: "Logical_Router_Policy", Parent: "LogicalRouter", Link: "policies",
		Columns: []Column{number("priority"), text("match"), text("action"), texts("nexthops"), pairs("options"), pairs(tagged)},
	},
	{
		Name: "NAT", Table: "NAT", Parent: "LogicalRouter", Link: "nat",
		Columns: []Column{text("type"), text("external_ip"), text("logical_ip"), optional("external_mac"), optional("logical_port"), text("external_port_range"), pairs("options"), pairs(tagged)},
	},
	{
		Name: "ChassisTemplateVar", Table: "Chassis_Template_Var", Root: true, Unique: "chassis",
		Columns: []Column{text("chassis"), exactPairs("variables"), pairs(tagged)},
	},
	{
		Name: "LogicalSwitch", Table: "Logical_Switch", Root: true,
		Columns: []Column{text("name"), references("load_balancer_group", "LoadBalancerGroup"), pairs("other_config"), pairs(tagged)},
	},
	{
		Name: "PortGroup", Table: "Port_Group", Root: true, Unique: "name",
		Columns: []Column{text("name"), pairs(tagged)},
	},
	{
		Name: "LogicalSwitchPort", Table: "Logical_Switch_Port", Parent: "LogicalSwitch", Link: "ports", Unique: "name",
		Columns: []Column{text("name"), text("type"), texts("addresses"), texts("port_security"), optionalFlag("enabled"), optional("parent_name"), optionalNumber("tag_request"),
			pairs("options", "network_name", "requested-chassis", "router-port"), pairs(tagged), listedIn("port_groups", "PortGroup", "ports")},
	},
	{
		Name: "AddressSet", Table: "Address_Set", Root: true, Unique: "name",
		Columns: []Column{text("name"), texts("addresses"), pairs(tagged)},
	},
	{
		Name: "ACL", Table: "ACL", Parent: "PortGroup", Link: "acls",
		Columns: []Column{number("priority"), text("direction"), text("match"), text("action"), flag("log"), optional("name"), optional("severity"), optional("meter"), number("label"),
			pairs("options", "apply-after-lb"), pairs(tagged)},
	},
}

// tagged is the column that records to whom a row belongs.
const tagged = "external_ids"

func text(name string) Column     { return Column{Name: name, Type: Text} }
func flag(name string) Column     { return Column{Name: name, Type: Flag} }
func number(name string) Column   { return Column{Name: name, Type: Number} }
func optional(name string) Column { return Column{Name: name, Type: Text, Many: true, single: true} }
func optionalFlag(name string) Column {
	return Column{Name: name, Type: Flag, Many: true, single: true}
}
func optionalNumber(name string) Column {
	return Column{Name: name, Type: Number, Many: true, single: true}
}
func texts(name string) Column { return Column{Name: name, Type: Text, Many: true} }
func pairs(name string, owned ...string) Column {
	return Column{Name: name, Type: Pairs, owned: owned}
}
func exactPairs(name string) Column { return Column{Name: name, Type: Pairs, exact: true} }

func references(name, kind string) Column {
	return Column{Name: name, Type: Reference, Many: true, Refers: kind}
}

// listedIn returns a column that the table does not have: the rows of a kind whose column lists the row.
func listedIn(name, kind, column string) Column {
	return Column{Name: name, Type: Reference, Many: true, Refers: kind, ListedIn: column}
}
