// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"fmt"
	"strings"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// hostInZone is the kind of an alias: a place of a host in any tunnel zone. The server binds no port to a host that
// has none.
const hostInZone = "TunnelZoneHost of host"

// relate fills in what a resource needs, satisfies and occupies. What is not for a Translation to make, a host, is no
// need.
func relate(r *backend.Resource, body midonet.Body) error {
	needs := func(kind string, ids ...string) {
		for _, id := range ids {
			if id != "" {
				// The server takes an id in any case. Groundskeeper uses one spelling.
				r.Needs = append(r.Needs, backend.Key{Kind: kind, ID: strings.ToLower(id)})
			}
		}
	}
	switch body := body.(type) {
	case *midonet.TunnelZoneHost:
		needs("TunnelZone", r.Parent)
		r.Aliases = []backend.Key{{Kind: hostInZone, ID: body.HostID}}
	case *midonet.Router:
		needs("Chain", body.InboundFilterID, body.OutboundFilterID)
	case *midonet.Bridge:
		needs("Chain", body.InboundFilterID, body.OutboundFilterID)
	case *midonet.Port:
		needs(body.Type, r.Parent)
		needs("Chain", body.InboundFilterID, body.OutboundFilterID)
	case *midonet.PortLink:
		needs("Port", r.Parent, body.PeerID)
		r.Slots = []string{"link of Port " + r.Parent, "link of Port " + body.PeerID}
	case *midonet.Route:
		needs("Router", r.Parent)
		needs("Port", body.NextHopPort)
		r.Doubles = true
	case *midonet.Rule:
		needs("Chain", r.Parent, body.JumpChainID)
		r.Ordered, r.Doubles = true, true
	case *midonet.HostInterfacePort:
		// The server uses the path, and would show another host than the body specifies.
		if body.HostID != "" && !strings.EqualFold(body.HostID, r.Parent) {
			return fmt.Errorf("body of HostInterfacePort: hostId: %q is not the parent, %s", body.HostID, r.Parent)
		}
		needs("Port", body.PortID)
		needs(hostInZone, r.Parent)
		r.Slots = []string{"binding of Port " + body.PortID, "interface " + body.InterfaceName + " of Host " + r.Parent}
	case *midonet.MACPort:
		needs("Bridge", r.Parent)
		needs("Port", body.PortID)
	case *midonet.IPv4MACPair:
		needs("Bridge", r.Parent)
	}
	return nil
}
