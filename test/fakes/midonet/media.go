// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"slices"
)

// media is how a kind is encoded.
type media struct {
	item, collection string
	// plainJSON reports that application/json will do as well.
	plainJSON bool
	// annotated kinds have their media types declared to the server's framework: it compares them without regard to case and
	// parameters, and responds 415 to a wrong Content-Type. The others compare the header letter by letter and respond with 406.
	annotated bool
}

// mediaOf returns the wire form of each kind.
func mediaOf(kind string) media {
	switch kind {
	case "Host":
		return media{item: vendor("Host-v3"), collection: vendor("collection.Host-v3"), plainJSON: true}
	case "TunnelZone":
		return media{item: vendor("TunnelZone-v1"), collection: vendor("collection.TunnelZone-v1"), plainJSON: true}
	case "TunnelZoneHost":
		return media{item: vendor("TunnelZoneHost-v1"), collection: vendor("collection.TunnelZoneHost-v1"), annotated: true}
	case "Router":
		return media{item: vendor("Router-v3"), collection: vendor("collection.Router-v3"), plainJSON: true}
	case "Bridge":
		return media{item: vendor("Bridge-v4"), collection: vendor("collection.Bridge-v4"), plainJSON: true}
	case "Port":
		return media{item: vendor("Port-v3"), collection: vendor("collection.Port-v3"), plainJSON: true}
	case "PortLink":
		return media{item: vendor("PortLink-v1"), plainJSON: true, annotated: true}
	case "Route":
		return media{item: vendor("Route-v1"), collection: vendor("collection.Route-v1"), plainJSON: true}
	case "Chain":
		return media{item: vendor("Chain-v1"), collection: vendor("collection.Chain-v1"), plainJSON: true}
	case "Rule":
		return media{item: vendor("Rule-v2"), collection: vendor("collection.Rule-v2"), plainJSON: true}
	case "HostInterfacePort":
		return media{item: vendor("HostInterfacePort-v1"), collection: vendor("collection.HostInterfacePort-v1"), plainJSON: true, annotated: true}
	case "MACPort":
		return media{item: vendor("macport-v2"), collection: vendor("collection.macport-v2"), plainJSON: true, annotated: true}
	default: // IPv4MACPair
		return media{item: vendor("ip4mac-v1"), collection: vendor("collection.ip4mac-v1"), annotated: true}
	}
}

// matches reports whether a header names the type.
func (m media) matches(header, want string) bool {
	accepted := []string{want}
	if m.plainJSON {
		accepted = append(accepted, "application/json")
	}
	if !m.annotated {
		return slices.Contains(accepted, header)
	}
	parsed, _, err := mime.ParseMediaType(header)
	for _, a := range accepted {
		// ParseMediaType returns lower case.
		if b, _, _ := mime.ParseMediaType(a); err == nil && parsed == b {
			return true
		}
	}
	return false
}

// bodyLimit is the largest body, in bytes.
const bodyLimit = 1 << 20

// fieldsOf checks the Content-Type and reads the body of a POST or a PUT.
func fieldsOf(r *http.Request, kind string) (fields, *problem) {
	m := mediaOf(kind)
	if header := r.Header.Get("Content-Type"); !m.matches(header, m.item) {
		status := http.StatusNotAcceptable
		if m.annotated {
			status = http.StatusUnsupportedMediaType
		}
		return nil, reject(status, "media type %q is not that of %s", header, kind)
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil || len(data) > bodyLimit {
		return nil, reject(http.StatusBadRequest, "the body cannot be read")
	}
	return decodeFields(kind, data)
}

// checkAccept wants a GET to accept what it will get.
func checkAccept(r *http.Request, kind string, collection bool) *problem {
	m := mediaOf(kind)
	want := m.item
	if collection {
		want = m.collection
	}
	if header := r.Header.Get("Accept"); !m.matches(header, want) {
		return reject(http.StatusNotAcceptable, "media type %q is not that of %s", header, kind)
	}
	return nil
}

// writeJSON responds to a GET.
func writeJSON(w http.ResponseWriter, r *http.Request, value any) {
	w.Header().Set("Content-Type", r.Header.Get("Accept"))
	_ = json.NewEncoder(w).Encode(value)
}
