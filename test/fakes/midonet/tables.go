// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package midonet

import (
	"net"
	"net/http"
	"strings"
)

// createRoute adds a route to a router. A next hop that is not a port of it is 400, not 404.
func (s *Server) createRoute(kind, router string, f fields) (string, *problem) {
	if p := required(f, "srcNetworkAddr", "dstNetworkAddr", "type"); p != nil {
		return "", p
	}
	id, p := s.newID(kind, f)
	if p != nil {
		return "", p
	}
	if !s.store.has("Router", router) {
		return "", missing("Router", router)
	}
	if f.text("type") == "Normal" {
		if port := s.store.objects[key{"Port", f.text("nextHopPort")}]; port == nil || port.parent != router {
			return "", reject(http.StatusBadRequest, "the next hop port must be a port of the router")
		}
	}
	delete(f, "routerId")
	s.store.add(kind, id, router, -1, f)
	return id, nil
}

func (s *Server) createChain(kind, _ string, f fields) (string, *problem) {
	id, p := s.newID(kind, f)
	if p != nil {
		return "", p
	}
	s.store.add(kind, id, "", -1, f)
	return id, nil
}

// createRule puts a rule into a chain at its position, the head when it has none.
func (s *Server) createRule(kind, chain string, f fields) (string, *problem) {
	if p := checkRule(f); p != nil {
		return "", p
	}
	id, p := s.newID(kind, f)
	if p != nil {
		return "", p
	}
	if !s.store.has("Chain", chain) {
		return "", missing("Chain", chain)
	}
	if target := f.text("jumpChainId"); target != "" && !s.store.has("Chain", target) {
		return "", missing("Chain", target)
	}
	position := max(int(f.number("position")), 1)
	if end := len(s.store.children[key{kind, chain}]); position > end+1 {
		return "", reject(http.StatusBadRequest, "position %d is beyond the end of the chain, which has %d rules", position, end)
	}
	// Both are read off the place in the chain.
	delete(f, "position")
	delete(f, "chainId")
	l4 := f["tpDst"] != nil || f["tpSrc"] != nil
	if l4 {
		setDefault(f, "fragmentPolicy", "header")
	} else {
		setDefault(f, "fragmentPolicy", "any")
	}
	s.store.add(kind, id, chain, position-1, f)
	return id, nil
}

// checkRule returns what a rule needs by its type.
func checkRule(f fields) *problem {
	if p := required(f, "type"); p != nil {
		return p
	}
	if policy := f.text("fragmentPolicy"); (f["tpDst"] != nil || f["tpSrc"] != nil) && (policy == "any" || policy == "nonheader") {
		return reject(http.StatusBadRequest, "fragmentPolicy %s cannot be combined with ports", policy)
	}
	switch f.text("type") {
	case "jump":
		return required(f, "jumpChainId")
	case "dnat", "snat":
		if targets, _ := f["natTargets"].([]any); len(targets) == 0 {
			return reject(http.StatusBadRequest, "natTargets may not be empty")
		}
		return required(f, "flowAction")
	case "rev_dnat", "rev_snat":
		return required(f, "flowAction")
	}
	return nil
}

// createMACPort adds an entry to a bridge's MAC table. One that exists is 500: the server does not expect it.
func (s *Server) createMACPort(kind, bridge string, f fields) (string, *problem) {
	if p := required(f, "macAddr", "portId"); p != nil {
		return "", p
	}
	port := s.store.objects[key{"Port", f.text("portId")}]
	switch {
	case !s.store.has("Bridge", bridge):
		return "", missing("Bridge", bridge)
	case port == nil:
		return "", missing("Port", f.text("portId"))
	case port.parent != bridge:
		return "", reject(http.StatusBadRequest, "the port is not on the bridge")
	}
	id := dashed(f.text("macAddr")) + "_" + port.id
	if s.store.has(kind, below(bridge, id)) {
		return "", reject(http.StatusInternalServerError, "the node exists")
	}
	delete(f, "bridgeId")
	s.store.add(kind, below(bridge, id), bridge, -1, f)
	return id, nil
}

// createARP adds an entry to a bridge's ARP table. One that exists is 500, and so is a bridge that does not.
func (s *Server) createARP(kind, bridge string, f fields) (string, *problem) {
	if p := required(f, "ip", "mac"); p != nil {
		return "", p
	}
	id := f.text("ip") + "_" + dashed(f.text("mac"))
	switch {
	case !s.store.has("Bridge", bridge):
		return "", reject(http.StatusInternalServerError, "there is no node for bridge %s", bridge)
	case s.store.has(kind, below(bridge, id)):
		return "", reject(http.StatusInternalServerError, "the node exists")
	}
	s.store.add(kind, below(bridge, id), bridge, -1, f)
	return id, nil
}

// dashed returns a MAC address as written in a path. isMAC has seen it.
func dashed(mac string) string {
	a, _ := net.ParseMAC(mac)
	return strings.ReplaceAll(a.String(), ":", "-")
}
