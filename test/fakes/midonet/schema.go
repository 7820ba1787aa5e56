// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import "maps"

// fieldsOfKind returns the fields that a body may have, each with its check.
func fieldsOfKind(kind string) map[string]check {
	switch kind {
	case "TunnelZone":
		return map[string]check{"id": isUUID, "name": isText, "type": isOneOf("gre", "vxlan", "vtep")}
	case "TunnelZoneHost":
		return map[string]check{"tunnelZoneId": isUUID, "hostId": isUUID, "ipAddress": isIPv4}
	case "Router":
		return device("loadBalancerId", "localRedirectChainId")
	case "Bridge":
		return device()
	case "Port":
		return portFields()
	case "PortLink":
		return map[string]check{"portId": isUUID, "peerId": isUUID}
	case "Route":
		return map[string]check{
			"id": isUUID, "routerId": isUUID, "nextHopPort": isUUID, "attributes": isText,
			"dstNetworkAddr": isIPv4, "dstNetworkLength": isNumber(0, 32),
			"srcNetworkAddr": isIPv4, "srcNetworkLength": isNumber(0, 32),
			"nextHopGateway": isIPv4, "learned": isBool, "weight": isNumber(0, 1<<31-1),
			"type": isOneOf("Normal", "BlackHole", "Reject", "Local"),
		}
	case "Chain":
		return map[string]check{"id": isUUID, "tenantId": isText, "name": isText}
	case "Rule":
		return ruleFields()
	case "HostInterfacePort":
		return map[string]check{"hostId": isUUID, "portId": isUUID, "interfaceName": isText}
	case "MACPort":
		return map[string]check{"bridgeId": isUUID, "macAddr": isMAC, "portId": isUUID, "vlanId": isNumber(0, 4095)}
	case "IPv4MACPair":
		return map[string]check{"ip": isIPv4, "mac": isMAC}
	default:
		return nil
	}
}

// device returns what bridges and routers have, with more ids.
func device(ids ...string) map[string]check {
	known := map[string]check{
		"id": isUUID, "tenantId": isText, "name": isText, "adminStateUp": isBool,
		"inboundFilterId": isUUID, "outboundFilterId": isUUID,
	}
	for _, id := range ids {
		known[id] = isUUID
	}
	return known
}

func portFields() map[string]check {
	return map[string]check{
		"id": isUUID, "type": isOneOf("Bridge", "Router"), "adminStateUp": isBool, "active": isBool,
		"inboundFilterId": isUUID, "outboundFilterId": isUUID, "tunnelKey": isNumber(0, 1<<31-1), "vifId": isUUID,
		"hostId": isUUID, "interfaceName": isText, "peerId": isUUID, "deviceId": isUUID, "vlanId": isNumber(0, 4095),
		"portSubnet": isSubnets, "portMac": isMAC,
	}
}

// ruleFields returns what a rule does and its condition.
func ruleFields() map[string]check {
	known := map[string]check{
		"id": isUUID, "chainId": isUUID, "position": isNumber(1, 1<<31-1), "meterName": isText,
		"type":        isOneOf("accept", "continue", "drop", "jump", "reject", "return", "trace", "dnat", "snat", "rev_dnat", "rev_snat"),
		"jumpChainId": isUUID, "flowAction": isOneOf("accept", "continue", "return"),
		"natTargets": isListOf(isObject(map[string]check{
			"addressFrom": isIPv4, "addressTo": isIPv4, "portFrom": isNumber(0, 65535), "portTo": isNumber(0, 65535),
		})),
	}
	maps.Copy(known, conditionFields())
	return known
}

func conditionFields() map[string]check {
	ports := isObject(map[string]check{"start": isNumber(1, 65535), "end": isNumber(1, 65535)})
	return map[string]check{
		"dlType": isNumber(0x600, 0xffff), "invDlType": isBool, "dlSrc": isMAC, "invDlSrc": isBool, "dlDst": isMAC, "invDlDst": isBool,
		"nwSrcAddress": isIPv4, "nwSrcLength": isNumber(0, 32), "invNwSrc": isBool,
		"nwDstAddress": isIPv4, "nwDstLength": isNumber(0, 32), "invNwDst": isBool,
		"nwProto": isNumber(0, 255), "invNwProto": isBool, "nwTos": isNumber(0, 255), "invNwTos": isBool,
		"tpSrc": ports, "invTpSrc": isBool, "tpDst": ports, "invTpDst": isBool,
		"condInvert": isBool, "matchForwardFlow": isBool, "matchReturnFlow": isBool, "noVlan": isBool, "vlan": isNumber(0, 4095),
		"inPorts": isListOf(isUUID), "invInPorts": isBool, "outPorts": isListOf(isUUID), "invOutPorts": isBool,
		"portGroup": isUUID, "invPortGroup": isBool, "ipAddrGroupSrc": isUUID, "invIpAddrGroupSrc": isBool,
		"ipAddrGroupDst": isUUID, "invIpAddrGroupDst": isBool, "traversedDevice": isUUID, "invTraversedDevice": isBool,
		"fragmentPolicy": isOneOf("any", "header", "nonheader", "unfragmented"),
	}
}
