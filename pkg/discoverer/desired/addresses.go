// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// Addresses decides which addresses are published. Otherwise, a user who is allowed to write the endpoints of a backend could
// have a proxy of this cluster send requests to addresses that only the proxy reaches (CVE-2021-25740). The zero value denies
// the addresses that no backend is supposed to have.
type Addresses struct {
	// Allow are the networks whose addresses are published. Empty means all.
	Allow []netip.Prefix
	// Deny are networks of which nothing is published, in addition to those that are denied by default.
	Deny []netip.Prefix
	// Exceptions makes a network in Allow that contains nothing but denied addresses permit them.
	Exceptions bool
}

// Reasons of a denial.
const (
	deniedSpecial   = "it is a loopback, link-local, multicast or unspecified address, or one of the metadata service of a cloud"
	deniedAPIServer = "it is an address of the API server of this cluster"
	deniedAllow     = "it is not in a network of cluster.addresses.allow"
	deniedName      = "the name leads to this cluster or machine"
	deniedInvalid   = "it is not an address"
)

// special are the networks that are denied by default. Nothing writes to them.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("224.0.0.0/4"), netip.MustParsePrefix("255.255.255.255/32"),
	netip.MustParsePrefix("::/128"), netip.MustParsePrefix("::1/128"), netip.MustParsePrefix("fe80::/10"), netip.MustParsePrefix("ff00::/8"),
	// Metadata services that are not link-local: of AWS, Alibaba Cloud, Azure and Oracle.
	netip.MustParsePrefix("fd00:ec2::254/128"), netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("168.63.129.16/32"), netip.MustParsePrefix("192.0.0.192/32"),
}

// Denied returns why an address is not published, "" when it is.
func (a *Addresses) Denied(text string) string {
	address, err := netip.ParseAddr(text)
	if err != nil {
		return deniedInvalid
	}
	address = address.WithZone("").Unmap()
	for _, network := range a.Deny {
		if network.Contains(address) && !a.excepts(address, network) {
			return deniedAPIServer
		}
	}
	for _, network := range special {
		if network.Contains(address) && !a.excepts(address, network) {
			return deniedSpecial
		}
	}
	if len(a.Allow) > 0 && !slices.ContainsFunc(a.Allow, func(network netip.Prefix) bool { return network.Contains(address) }) {
		return deniedAllow
	}
	return ""
}

// excepts reports whether an address of a denied network is allowed by a network within that one.
func (a *Addresses) excepts(address netip.Addr, denied netip.Prefix) bool {
	return a.Exceptions && slices.ContainsFunc(a.Allow, func(network netip.Prefix) bool {
		return network.Contains(address) && denied.Contains(network.Addr()) && network.Bits() >= denied.Bits()
	})
}

// DeniedName returns why a DNS name is not published, "" when it is.
func (a *Addresses) DeniedName(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return a.Denied(name)
	}
	// Services have names in .svc in every cluster: what is meant in the backend is another Service here.
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "metadata.google.internal" ||
		name == "kubernetes" || name == "kubernetes.default" || strings.HasPrefix(name, "kubernetes.default.svc") ||
		strings.HasSuffix(name, ".svc") || strings.HasSuffix(name, ".svc.cluster.local") {
		return deniedName
	}
	return ""
}

// Denial is an address of a source that is not published.
type Denial struct {
	Address, Reason string
}

// Filter returns a source without the endpoints whose addresses are denied, and those addresses, in order and each once. A
// source of which nothing is denied is returned unchanged. The source is nil when the name that it represents is denied.
func (a *Addresses) Filter(source *Source) (*Source, []Denial) {
	if source.ExternalName != "" {
		if why := a.DeniedName(source.ExternalName); why != "" {
			return nil, []Denial{{source.ExternalName, why}}
		}
	}
	denied := map[string]string{}
	for i := range source.Slices {
		for j := range source.Slices[i].Endpoints {
			for _, address := range source.Slices[i].Endpoints[j].Addresses {
				if why := a.deniedOf(source.Slices[i].AddressType, address); why != "" {
					denied[address] = why
				}
			}
		}
	}
	if len(denied) == 0 {
		return source, nil
	}
	filtered := *source
	filtered.Slices = slices.Clone(source.Slices)
	for i := range filtered.Slices {
		slice := &filtered.Slices[i]
		slice.Endpoints = slices.DeleteFunc(slices.Clone(slice.Endpoints), func(endpoint discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(endpoint.Addresses, func(address string) bool { return denied[address] != "" })
		})
	}
	var all []Denial
	for address, why := range denied {
		all = append(all, Denial{address, why})
	}
	slices.SortFunc(all, func(a, b Denial) int { return strings.Compare(a.Address, b.Address) })
	return &filtered, all
}

func (a *Addresses) deniedOf(kind discoveryv1.AddressType, address string) string {
	if kind == discoveryv1.AddressTypeFQDN {
		return a.DeniedName(address)
	}
	return a.Denied(address)
}
