// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"strings"
)

// FinalizerName keeps a Translation until its resources have been deleted from the backend. Every Translation has it.
const FinalizerName = "midonet.org/deleter"

// Labels of a Translation. It has one of the two.
const (
	// LabelOwnerUID holds the uid of the object that was translated.
	LabelOwnerUID = "midonet.org/owner-uid"
	// LabelGlobal marks a Translation of the whole cluster. Its value is empty, and it has no owner.
	LabelGlobal = "midonet.org/global"
)

// Annotations that converters read.
const (
	// AnnotationHostID holds the UUID of the MidoNet host that a Node is.
	AnnotationHostID = "midonet.org/host-id"
	// AnnotationWrittenHostID holds the id that the annotator wrote to AnnotationHostID. While both are equal, it follows MidoNet; another
	// id was set by another client and is retained.
	AnnotationWrittenHostID = "groundskeeper.io/written-host-id"
	// AnnotationTunnelZoneID holds the UUID of a Node's tunnel zone. Empty means the default zone.
	AnnotationTunnelZoneID = "midonet.org/tunnel-zone-id"
	// AnnotationTunnelEndpointIP holds the IPv4 address that a Node's tunnels end at.
	AnnotationTunnelEndpointIP = "midonet.org/tunnel-endpoint-ip"
	// AnnotationWrittenTunnelEndpointIP holds the address that the annotator wrote to AnnotationTunnelEndpointIP. While both
	// are equal, the address follows the Node's; another address was set by another client and is retained.
	AnnotationWrittenTunnelEndpointIP = "groundskeeper.io/written-tunnel-endpoint-ip"
	// AnnotationMACAddress holds the MAC address of a Pod's or a Node's interface.
	AnnotationMACAddress = "midonet.org/mac-address"
	// AnnotationACLLogging of a Namespace holds the severities with which OVN logs what its NetworkPolicies allow and deny. It is that
	// of ovn-kubernetes, with its meaning.
	AnnotationACLLogging = "k8s.ovn.org/acl-logging"
	// AnnotationOVNChassis holds the name or the hostname of the OVN chassis that a Node is, if it is not the Node's name.
	AnnotationOVNChassis = "groundskeeper.io/ovn-chassis"
	// AnnotationWrittenOVNChassis holds the name that the annotator wrote to AnnotationOVNChassis. While both are equal, it follows the
	// Southbound database; another name was set by another client and is retained.
	AnnotationWrittenOVNChassis = "groundskeeper.io/written-ovn-chassis"
	// AnnotationOVNChassisProblem holds why the chassis of AnnotationOVNChassis cannot be that of the Node.
	AnnotationOVNChassisProblem = "groundskeeper.io/ovn-chassis-problem"
	// AnnotationOVNGatewayNetwork makes a Node a gateway of OVN: it names the physical network, as in the ovn-bridge-mappings of the chassis.
	AnnotationOVNGatewayNetwork = "groundskeeper.io/ovn-gateway-network"
	// AnnotationOVNGatewayAddresses holds the addresses of a gateway on that network, with the length of their prefix, one of each
	// family, separated by commas.
	AnnotationOVNGatewayAddresses = "groundskeeper.io/ovn-gateway-addresses"
	// AnnotationOVNGatewayNextHops holds the addresses of the routers that a gateway sends to, one of each family, separated by commas.
	AnnotationOVNGatewayNextHops = "groundskeeper.io/ovn-gateway-next-hops"
)

// OVNGatewayVariable begins the names of OVN's template variables with the address of a chassis' gateway; ipv4 or ipv6 follows.
const OVNGatewayVariable = "groundskeeper_gateway_"

// Condition types of a Translation.
const (
	// ConditionSynced is true when the backend has every resource of the Translation, and no resource that was removed from it.
	ConditionSynced = "Synced"
	// ConditionRealized is true when the network itself has applied what the backend has. It is set where the backend reports that.
	ConditionRealized = "Realized"
	// ConditionStalled is true when a user must act before the remaining resources can be pushed.
	ConditionStalled = "Stalled"
)

// TranslationVersion is part of the name of every Translation that a converter makes, and of no id. A new one has every
// Translation rewritten; its backend resources are unchanged.
const TranslationVersion = "4"

// VersionOf returns the version in the name of a Translation, kind.version.key, and false for a name that no converter
// makes. A Translation with a version other than TranslationVersion is stale.
func VersionOf(name string) (version string, ok bool) {
	kind, rest, _ := strings.Cut(name, ".")
	version, key, found := strings.Cut(rest, ".")
	if !found || kind == "" || key == "" || version == "" || strings.Trim(version, "0123456789") != "" {
		return "", false
	}
	return version, true
}
