// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonetbackend

import (
	"bytes"
	"crypto/fips140"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/push/backend"
	"groundskeeper.io/groundskeeper/pkg/midonet"
)

// withPosition returns the body of a rule with its place in the chain. The rest of it remains as written; when it has a dedicated
// position, the fields come in the order of their names.
func withPosition(body json.RawMessage, position int) (json.RawMessage, error) {
	fields, err := fieldsOf(body)
	if err != nil {
		return nil, err
	}
	if _, has := fields["position"]; has {
		return with(body, "position", position)
	}
	trimmed := bytes.TrimRight(body, " \t\r\n")
	edited := append(make([]byte, 0, len(trimmed)+16), trimmed[:len(trimmed)-1]...)
	if len(fields) > 0 {
		edited = append(edited, ',')
	}
	edited = append(edited, `"position":`...)
	return append(strconv.AppendInt(edited, int64(position), 10), '}'), nil
}

// with returns a body with one field set and all fields in the order of their names.
func with(body json.RawMessage, name string, value any) (json.RawMessage, error) {
	fields, err := fieldsOf(body)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("body: %s: %w", name, err)
	}
	fields[name] = encoded
	return json.Marshal(fields)
}

// fieldsOf takes a body apart.
func fieldsOf(body json.RawMessage) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if fields == nil {
		return nil, errors.New("body: it is null")
	}
	return fields, nil
}

// Copy returns the resource under an id that follows from its own.
func (b *Backend) Copy(r backend.Resource) backend.Resource {
	original, err := uuid.Parse(r.ID)
	if err != nil {
		return r // Resolve has seen to it that it is one
	}
	var id string
	fips140.WithoutEnforcement(func() { id = uuid.NewSHA1(original, []byte("replacement")).String() })
	body, err := with(r.Body, "id", id)
	if err != nil {
		return r // Resolve has read it
	}
	r.ID, r.Body = id, body
	return r
}

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
