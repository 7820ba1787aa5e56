// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Listing returns all that the fake holds as a tree for users: names where there are names, chains in their order.
func (s *Server) Listing() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := &listing{store: s.store}
	l.hosts()
	l.zones()
	l.devices("Router", "routers")
	l.devices("Bridge", "bridges")
	l.chains()
	return l.text.String()
}

type listing struct {
	store *store
	text  strings.Builder
}

func (l *listing) line(depth int, format string, args ...any) {
	line := strings.TrimRight(fmt.Sprintf(format, args...), " ")
	l.text.WriteString(strings.Repeat("  ", depth) + line + "\n")
}

// name returns what users call a resource; its id when they call it nothing.
func (l *listing) name(kind, id string) string {
	if o := l.store.objects[key{kind, id}]; o != nil && o.fields.text("name") != "" {
		return o.fields.text("name")
	}
	return id
}

func (l *listing) hosts() {
	hosts := l.store.all("Host")
	l.line(0, "hosts (%d)", len(hosts))
	for _, h := range hosts {
		l.line(1, "%s  %s", h.fields.text("name"), h.id)
	}
}

func (l *listing) zones() {
	zones := l.store.all("TunnelZone")
	l.line(0, "tunnel zones (%d)", len(zones))
	for _, z := range zones {
		l.line(1, "%s %s  %s", z.fields.text("name"), z.fields.text("type"), z.id)
		for _, h := range l.store.children[key{"TunnelZoneHost", z.id}] {
			l.line(2, "host %s at %s", l.name("Host", h.fields.text("hostId")), h.fields.text("ipAddress"))
		}
	}
}

func (l *listing) devices(kind, title string) {
	devices := l.store.all(kind)
	l.line(0, "%s (%d)", title, len(devices))
	for _, d := range devices {
		l.line(1, "%s  %s%s", l.name(kind, d.id), d.id, l.filters(d.fields))
		for _, p := range l.store.children[key{"Port", d.id}] {
			l.port(p)
		}
		for _, r := range l.store.children[key{"Route", d.id}] {
			f := r.fields
			l.line(2, "route %s/%d via %s port %s (%s)", f.text("dstNetworkAddr"), f.number("dstNetworkLength"), f.text("nextHopGateway"), f.text("nextHopPort"), f.text("type"))
		}
		for _, m := range l.store.children[key{"MACPort", d.id}] {
			l.line(2, "mac %s at port %s", m.fields.text("macAddr"), m.fields.text("portId"))
		}
		for _, a := range l.store.children[key{"IPv4MACPair", d.id}] {
			l.line(2, "arp %s is %s", a.fields.text("ip"), a.fields.text("mac"))
		}
	}
}

func (l *listing) port(p *object) {
	f := p.fields
	line := "port " + p.id
	if subnets, ok := f["portSubnet"].([]any); ok {
		line += fmt.Sprintf(" %v %s", subnets, f.text("portMac"))
	}
	if host := f.text("hostId"); host != "" {
		line += fmt.Sprintf(" bound to %s of %s", f.text("interfaceName"), l.name("Host", host))
	}
	if peer := f.text("peerId"); peer != "" {
		line += " linked to " + peer
	}
	l.line(2, "%s%s", line, l.filters(f))
}

func (l *listing) filters(f fields) string {
	text := ""
	if id := f.text("inboundFilterId"); id != "" {
		text += " in: " + l.name("Chain", id)
	}
	if id := f.text("outboundFilterId"); id != "" {
		text += " out: " + l.name("Chain", id)
	}
	return text
}

func (l *listing) chains() {
	chains := l.store.all("Chain")
	l.line(0, "chains (%d)", len(chains))
	for _, c := range chains {
		l.line(1, "%s  %s", l.name("Chain", c.id), c.id)
		for i, r := range l.store.children[key{"Rule", c.id}] {
			l.line(2, "%d. %s", i+1, l.rule(r.fields))
		}
	}
}

// rule returns a rule in a line: what it does, and to what.
func (l *listing) rule(f fields) string {
	text := f.text("type")
	if chain := f.text("jumpChainId"); chain != "" {
		text += " to " + l.name("Chain", chain)
	}
	if targets, ok := f["natTargets"]; ok {
		data, _ := json.Marshal(targets)
		text += " " + string(data)
	}
	if action := f.text("flowAction"); action != "" {
		text += " then " + action
	}
	if a := f.text("nwSrcAddress"); a != "" {
		text += fmt.Sprintf(" from %s/%d", a, f.number("nwSrcLength"))
	}
	if a := f.text("nwDstAddress"); a != "" {
		text += fmt.Sprintf(" to %s/%d", a, f.number("nwDstLength"))
	}
	if f["nwProto"] != nil {
		text += fmt.Sprintf(" protocol %d", f.number("nwProto"))
	}
	if ports, ok := f["tpDst"].(map[string]any); ok {
		text += fmt.Sprintf(" port %v to %v", ports["start"], ports["end"])
	}
	return text
}
