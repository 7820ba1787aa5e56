// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import "net/http"

const (
	post = http.MethodPost
	put  = http.MethodPut
	del  = http.MethodDelete
)

// Paths, each with the type of its service.
const (
	volumesPath   = "block-storage/volumes"
	snapshotsPath = "block-storage/snapshots"
	lbaas         = "load-balancer/v2.0/lbaas/"
	neutron       = "network/v2.0/"
)

var cinderQuestions = []question{
	{name: "no volumes", path: volumesPath + "/detail", status: 200, has: []string{`"volumes":[]`}},
	{name: "no snapshots", path: snapshotsPath + "/detail", status: 200, has: []string{`"snapshots":[]`}},
	{name: "a volume that is not", path: volumesPath + "/{nobody}", status: 404, has: []string{"itemNotFound", "Volume {nobody} could not be found."}},
	{name: "delete it", method: del, path: volumesPath + "/{nobody}", status: 404, has: []string{"itemNotFound"}},
	{name: "delete a snapshot that is not", method: del, path: snapshotsPath + "/{nobody}", status: 404, has: []string{"itemNotFound", "Snapshot {nobody} could not be found."}},
	{name: "a volume without a size", method: post, path: volumesPath, body: wrap("volume", "name", "x"), status: 400, has: []string{"badRequest"}},
	{name: "a volume of size 0", method: post, path: volumesPath, body: wrap("volume", "size", 0), status: 400, has: []string{"badRequest"}},
	{name: "a volume with metadata that are no texts", method: post, path: volumesPath, body: wrap("volume", "size", 1, "metadata", map[string]any{"a": 1}), status: 400, has: []string{"badRequest"}},
	{name: "a body that is no volume", method: post, path: volumesPath, body: wrap("nonsense"), status: 400, has: []string{"badRequest"}},
	{name: "a volume of a snapshot that is not", method: post, path: volumesPath, body: wrap("volume", "size", 1, "snapshot_id", "{nobody}"), status: 404, has: []string{"itemNotFound"}},

	{name: "make a volume", method: post, path: volumesPath, body: wrap("volume", "size", 1, "name", "pvc", "metadata", map[string]string{"cluster": "k"}),
		status: 202, has: []string{`"status":"creating"`, `"metadata":{"cluster":"k"}`}, keep: "volume", then: volumesPath + `/{volume} => "status":"available"`},
	{name: "list it", path: volumesPath + "/detail", status: 200, has: []string{"{volume}", `"os-vol-tenant-attr:tenant_id":"{project}"`, `"attachments":[]`, `"cluster":"k"`}},
	{name: "a snapshot without a volume", method: post, path: snapshotsPath, body: wrap("snapshot", "name", "x"), status: 400, has: []string{"badRequest"}},
	{name: "a snapshot with a field that is none", method: post, path: snapshotsPath, body: wrap("snapshot", "volume_id", "{volume}", "nonsense", 1), status: 400,
		has: []string{"badRequest", "Additional properties are not allowed ('nonsense' was unexpected)"}},
	{name: "a snapshot of no volume", method: post, path: snapshotsPath, body: wrap("snapshot", "volume_id", "{nobody}"), status: 404, has: []string{"itemNotFound"}},
	{name: "make a snapshot", method: post, path: snapshotsPath, body: wrap("snapshot", "volume_id", "{volume}", "name", "s", "metadata", map[string]string{"cluster": "k"}),
		status: 202, has: []string{`"status":"creating"`, `"volume_id":"{volume}"`}, keep: "snapshot", then: snapshotsPath + `/{snapshot} => "status":"available"`},
	{name: "list the snapshot", path: snapshotsPath + "/detail", status: 200,
		has: []string{"{snapshot}", `"os-extended-snapshot-attributes:project_id":"{project}"`, `"volume_id":"{volume}"`, `"cluster":"k"`}},
	{name: "delete a volume with a snapshot", method: del, path: volumesPath + "/{volume}", status: 400,
		has: []string{"badRequest", "Invalid volume: Volume status must be available or error", "have snapshots"}},
	{name: "delete the snapshot", method: del, path: snapshotsPath + "/{snapshot}", status: 202, then: snapshotsPath + "/{snapshot} => 404"},
	{name: "make a second volume", method: post, path: volumesPath, body: wrap("volume", "size", "2"), status: 202, has: []string{`"size":2`}, keep: "second",
		then: volumesPath + `/{second} => "status":"available"`},
	{name: "the first page", path: volumesPath + "/detail?limit=1", status: 200, has: []string{"{second}", `"volumes_links":[{`, `"rel":"next"`, "marker={second}"}, lacks: []string{`"id":"{volume}"`}},
	{name: "the second page", path: volumesPath + "/detail?limit=1&marker={second}", status: 200, has: []string{`"id":"{volume}"`}, lacks: []string{`"id":"{second}"`}},
	{name: "the last page", path: volumesPath + "/detail?limit=1&marker={volume}", status: 200, has: []string{`"volumes":[]`}, lacks: []string{"volumes_links"}},
	{name: "a filter by name", path: volumesPath + "/detail?name=pvc", status: 200, has: []string{"{volume}"}, lacks: []string{"{second}"}},
	{name: "a filter that is none", path: volumesPath + "/detail?nonsense=x", status: 200, has: []string{"{volume}", "{second}"}},
	{name: "another snapshot", method: post, path: snapshotsPath, body: wrap("snapshot", "volume_id", "{volume}"), status: 202, keep: "snapshot",
		then: snapshotsPath + `/{snapshot} => "status":"available"`},
	{name: "delete a volume and its snapshots", method: del, path: volumesPath + "/{volume}?cascade=true", status: 202, then: volumesPath + "/{volume} => 404"},
	{name: "the snapshot went with it", path: snapshotsPath + "/{snapshot}", status: 404},
	{name: "delete the second volume", method: del, path: volumesPath + "/{second}", status: 202, then: volumesPath + "/{second} => 404"},
	{name: "delete it again", method: del, path: volumesPath + "/{second}", status: 404},
}

var floatingIPQuestions = []question{
	{name: "none", path: neutron + "floatingips?project_id={project}", status: 200, has: []string{`"floatingips":[]`}},
	{name: "one that is not", path: neutron + "floatingips/{nobody}", status: 404, has: []string{"FloatingIPNotFound", "Floating IP {nobody} could not be found"}},
	{name: "delete it", method: del, path: neutron + "floatingips/{nobody}", status: 404, has: []string{"FloatingIPNotFound"}},
	{name: "a filter that is none", path: neutron + "floatingips?nonsense=1", status: 400, has: []string{"['nonsense'] is invalid attribute for filtering"}},
	{name: "one of no network", method: post, path: neutron + "floatingips", body: wrap("floatingip", "description", "x"), status: 400, has: []string{"'floating_network_id' not specified"}},
	{name: "one of a network that is not", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{nobody}"), status: 404, has: []string{"NetworkNotFound"}},
	{name: "one of an inner network", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{network}"), status: 400,
		has: []string{"Network {network} is not a valid external network"}},
	{name: "one with an attribute that is none", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{public}", "nonsense", 1),
		status: 400, has: []string{"Unrecognized attribute(s) 'nonsense'"}},
	{name: "make a port", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}"), status: 201, keep: "port"},
	{name: "one for a port that is not", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{public}", "port_id", "{nobody}"),
		status: 404, has: []string{"PortNotFound"}},
	{name: "make one", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{public}", "port_id", "{port}", "description", "of k"),
		status: 201, has: []string{`"description":"of k"`, `"project_id":"{project}"`, `"port_id":"{port}"`}, keep: "fip"},
	{name: "a second for the port", method: post, path: neutron + "floatingips", body: wrap("floatingip", "floating_network_id", "{public}", "port_id", "{port}"),
		status: 409, has: []string{"FloatingIPPortAlreadyAssociated"}},
	{name: "list it", path: neutron + "floatingips?project_id={project}", status: 200, has: []string{"{fip}", `"description":"of k"`, `"port_id":"{port}"`}},
	{name: "list it by its port", path: neutron + "floatingips?port_id={port}", status: 200, has: []string{"{fip}"}},
	{name: "those of another project", path: neutron + "floatingips?project_id={nobody}", status: 200, has: []string{`"floatingips":[]`}},
	{name: "other words", method: put, path: neutron + "floatingips/{fip}", body: wrap("floatingip", "description", "of no client"), status: 200, has: []string{`"description":"of no client"`, `"port_id":"{port}"`}},
	{name: "no port", method: put, path: neutron + "floatingips/{fip}", body: wrap("floatingip", "port_id", nil), status: 200, has: []string{`"port_id":null`}},
	{name: "the port again", method: put, path: neutron + "floatingips/{fip}", body: wrap("floatingip", "port_id", "{port}"), status: 200, has: []string{`"port_id":"{port}"`}},
	{name: "delete the port", method: del, path: neutron + "ports/{port}", status: 204},
	{name: "it leads nowhere", path: neutron + "floatingips/{fip}", status: 200, has: []string{`"port_id":null`}},
	{name: "delete one", method: del, path: neutron + "floatingips/{fip}", status: 204},
	{name: "delete it again", method: del, path: neutron + "floatingips/{fip}", status: 404},
}

var portQuestions = []question{
	{name: "the default group", path: neutron + "security-groups?project_id={project}&name=default", status: 200, has: []string{`"name":"default"`, `"description":"Default security group"`}},
	{name: "a group that is not", path: neutron + "security-groups/{nobody}", status: 404, has: []string{"SecurityGroupNotFound", "Security group {nobody} does not exist"}},
	{name: "delete it", method: del, path: neutron + "security-groups/{nobody}", status: 404, has: []string{"SecurityGroupNotFound"}},
	{name: "a filter of groups that is none", path: neutron + "security-groups?nonsense=1", status: 400, has: []string{"['nonsense'] is invalid attribute for filtering"}},
	{name: "another default group", method: post, path: neutron + "security-groups", body: wrap("security_group", "name", "default"), status: 409, has: []string{"SecurityGroupDefaultAlreadyExists"}},
	{name: "an attribute that is none", method: post, path: neutron + "security-groups", body: wrap("security_group", "nonsense", 1), status: 400, has: []string{"Unrecognized attribute(s) 'nonsense'"}},
	{name: "make a group", method: post, path: neutron + "security-groups", body: wrap("security_group", "name", "lb-sg", "description", "of k"), status: 201,
		has: []string{`"name":"lb-sg"`, `"description":"of k"`, `"project_id":"{project}"`}, keep: "group"},

	{name: "a port that is not", path: neutron + "ports/{nobody}", status: 404, has: []string{"PortNotFound"}},
	{name: "a port of no network", method: post, path: neutron + "ports", body: wrap("port", "name", "x"), status: 400, has: []string{"'network_id' not specified"}},
	{name: "a port of a network that is not", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{nobody}"), status: 404, has: []string{"NetworkNotFound"}},
	{name: "a port with an attribute that is none", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "nonsense", 1), status: 400, has: []string{"Unrecognized attribute(s) 'nonsense'"}},
	{name: "a port in a group that is not", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "security_groups", []string{"{nobody}"}), status: 404, has: []string{"SecurityGroupNotFound"}},
	{name: "a port at the router's address", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "fixed_ips", []any{map[string]any{"ip_address": "10.0.0.1"}}),
		status: 409, has: []string{"IpAddressAlreadyAllocated"}},
	{name: "a port outside of its network", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "fixed_ips", []any{map[string]any{"ip_address": "10.1.0.1"}}),
		status: 400, has: []string{"InvalidIpForNetwork"}},
	{name: "make a port", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "device_id", "node", "name", "p", "fixed_ips",
		[]any{map[string]any{"subnet_id": "{subnet}", "ip_address": "10.0.0.77"}}, "security_groups", []string{"{group}"}),
		status: 201, has: []string{`"security_groups":["{group}"]`, `"ip_address":"10.0.0.77"`, `"device_id":"node"`, `"name":"p"`}, keep: "port"},
	{name: "ports of the group", path: neutron + "ports?security_groups={group}", status: 200, has: []string{"{port}", `"security_groups":["{group}"]`}},
	{name: "ports of no group", path: neutron + "ports?security_groups={nobody}", status: 200, has: []string{`"ports":[]`}},
	{name: "a filter of ports that is none", path: neutron + "ports?nonsense=1", status: 400, has: []string{"['nonsense'] is invalid attribute for filtering"}},
	{name: "the extension of that filter", path: neutron + "extensions", status: 200, has: []string{`"port-security-groups-filtering"`}},
	{name: "a tag of a port that is not", method: put, path: neutron + "ports/{nobody}/tags/{group}", status: 404},
	{name: "tag the port", method: put, path: neutron + "ports/{port}/tags/{group}", status: 201},
	{name: "tag it again", method: put, path: neutron + "ports/{port}/tags/{group}", status: 201},
	{name: "its tags and its revision", path: neutron + "ports/{port}", status: 200, has: []string{`"tags":["{group}"]`, `"revision_number":`}},
	{name: "the extension of tags", path: neutron + "extensions", status: 200, has: []string{`"standard-attr-tag"`, `"revision-if-match"`}},
	{name: "remove the tag", method: del, path: neutron + "ports/{port}/tags/{group}", status: 204},
	{name: "remove it again", method: del, path: neutron + "ports/{port}/tags/{group}", status: 404, has: []string{"TagNotFound"}},
	{name: "without tags", path: neutron + "ports/{port}", status: 200, has: []string{`"tags":[]`}},
	{name: "delete a group in use", method: del, path: neutron + "security-groups/{group}", status: 409, has: []string{"SecurityGroupInUse", "{group} in use"}},
	{name: "take the port out", method: put, path: neutron + "ports/{port}", body: wrap("port", "security_groups", []string{}), status: 200, has: []string{`"security_groups":[]`}},
	{name: "delete the group", method: del, path: neutron + "security-groups/{group}", status: 204},
	{name: "delete it again", method: del, path: neutron + "security-groups/{group}", status: 404},
	{name: "delete the port", method: del, path: neutron + "ports/{port}", status: 204},
	{name: "delete the port again", method: del, path: neutron + "ports/{port}", status: 404, has: []string{"PortNotFound"}},
	{name: "make a port that wants nothing", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}"), status: 201, has: []string{`"ip_address":"10.0.0.`}, lacks: []string{`"security_groups":[]`}, keep: "port"},
	{name: "delete that port", method: del, path: neutron + "ports/{port}", status: 204},

	{name: "a port with a pair that is none", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "allowed_address_pairs",
		[]any{map[string]any{"ip_address": "nonsense"}}), status: 400, has: []string{"'nonsense' is not a valid IP address"}},
	{name: "a port with address pairs", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}", "allowed_address_pairs",
		[]any{map[string]any{"ip_address": "10.0.0.200"}, map[string]any{"ip_address": "10.9.0.0/24"}}),
		status: 201, has: []string{`"ip_address":"10.0.0.200"`, `"ip_address":"10.9.0.0/24"`}, keep: "parent"},
	{name: "pairs are no fixed addresses", path: neutron + "ports?fixed_ips=ip_address%3D10.0.0.200", status: 200, has: []string{`"ports":[]`}},
	{name: "ports of a network", path: neutron + "ports?network_id={network}", status: 200, has: []string{"{parent}", `"ip_address":"10.0.0.200"`}},
	{name: "no pairs", method: put, path: neutron + "ports/{parent}", body: wrap("port", "allowed_address_pairs", []any{}), status: 200, has: []string{`"allowed_address_pairs":[]`}},
	{name: "the extension of trunks", path: neutron + "extensions", status: 200, has: []string{`"trunk"`}},
	{name: "make a subport", method: post, path: neutron + "ports", body: wrap("port", "network_id", "{network}"), status: 201, keep: "subport"},
	{name: "a trunk of no port", method: post, path: neutron + "trunks", body: wrap("trunk", "name", "x"), status: 400, has: []string{"'port_id' not specified"}},
	{name: "make a trunk", method: post, path: neutron + "trunks", body: wrap("trunk", "port_id", "{parent}", "sub_ports",
		[]any{map[string]any{"port_id": "{subport}", "segmentation_type": "vlan", "segmentation_id": 100}}), status: 201, has: []string{`"port_id":"{parent}"`}, keep: "trunk"},
	{name: "list it by its id", path: neutron + "trunks?id={trunk}&id={nobody}", status: 200, has: []string{"{trunk}", `"port_id":"{parent}"`}},
	{name: "its subports", path: neutron + "trunks?port_id={parent}", status: 200, has: []string{`"port_id":"{subport}"`, `"segmentation_id":100`}},
	{name: "the port of a subport does not identify it as one", path: neutron + "ports/{subport}", status: 200, has: []string{`"device_owner":""`, `"device_id":""`}},
	{name: "delete the parent", method: del, path: neutron + "ports/{parent}", status: 409, has: []string{"PortInUseAsTrunkParent"}},
	{name: "delete the subport", method: del, path: neutron + "ports/{subport}", status: 409, has: []string{"PortInUseAsSubPort"}},
	{name: "delete the trunk", method: del, path: neutron + "trunks/{trunk}", status: 204},
	{name: "the subport is free", path: neutron + "ports/{subport}", status: 200, has: []string{`"device_owner":""`, `"device_id":""`}},
	{name: "delete the free subport", method: del, path: neutron + "ports/{subport}", status: 204},
	{name: "delete the free parent", method: del, path: neutron + "ports/{parent}", status: 204},
}

const applicationCredentials = "identity/users/{user}/application_credentials"

// withApplicationCredential returns the body of a request for a token with an application credential.
func withApplicationCredential(id, secret string) map[string]any {
	return map[string]any{"auth": map[string]any{"identity": map[string]any{"methods": []string{"application_credential"},
		"application_credential": map[string]any{"id": id, "secret": secret}}}}
}

var applicationCredentialQuestions = []question{
	{name: "one that is not", method: post, path: "identity/auth/tokens", body: withApplicationCredential("{nobody}", "s"), status: 404,
		has: []string{"Could not find Application Credential: {nobody}"}},
	{name: "make one", method: post, path: applicationCredentials, body: wrap("application_credential", "name", "one", "secret", "s"), status: 201,
		has: []string{`"project_id":"{project}"`}, keep: "credential"},
	{name: "another of its name", method: post, path: applicationCredentials, body: wrap("application_credential", "name", "one"), status: 409, has: []string{"Duplicate entry found with name one"}},
	{name: "a token", method: post, path: "identity/auth/tokens", body: withApplicationCredential("{credential}", "s"), status: 201, has: []string{`"id":"{project}"`}},
	{name: "a wrong secret", method: post, path: "identity/auth/tokens", body: withApplicationCredential("{credential}", "t"), status: 401, has: []string{"requires authentication"}},
	{name: "delete it", method: del, path: applicationCredentials + "/{credential}", status: 204},
	{name: "delete it again", method: del, path: applicationCredentials + "/{credential}", status: 404, has: []string{"Could not find Application Credential"}},
	{name: "a token of what was deleted", method: post, path: "identity/auth/tokens", body: withApplicationCredential("{credential}", "s"), status: 404,
		has: []string{"Could not find Application Credential: {credential}"}},
}
