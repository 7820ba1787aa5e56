// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"encoding/json"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// foreign reports whether a resource may be another client's, although it is where Groundskeeper's are.
//
// Bridges, routers and chains that carry Groundskeeper's tenant are owned by Groundskeeper, and so is every rule of such a chain.
// Ports and routes of Groundskeeper's devices are owned by Groundskeeper when their id is derived from a name (a UUID of version
// 5), as all that converters make: an administrator who connects the cluster to the outside gives Groundskeeper's router ports and
// routes with random ids, the server adds a Local route to each port, and agents learn routes from their neighbours. Tunnel zones
// belong to no tenant, hosts are put into them and bound by others too, and entries of MAC and ARP tables are mostly learned. None
// of those can be distinguished from Groundskeeper's. Neither can what is not understood.
func foreign(r midonet.Resource) bool {
	if r.Invalid != nil {
		return true
	}
	switch r.Kind {
	case "Chain", "Router", "Bridge", "Rule":
		return false
	case "Port":
		return !isDerived(r.ID)
	case "Route":
		var route struct {
			Type    string `json:"type"`
			Learned bool   `json:"learned"`
		}
		return json.Unmarshal(r.Body, &route) != nil || route.Type == midonet.LocalRoute || route.Learned || !isDerived(r.ID)
	default:
		return true
	}
}

// isDerived reports whether an id is a UUID of version 5.
func isDerived(id string) bool {
	parsed, err := uuid.Parse(id)
	return err == nil && parsed.Version() == 5
}
