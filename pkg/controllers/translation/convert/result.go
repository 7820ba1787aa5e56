// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// Reasons of Problems.
const (
	// ReasonHostIDMissing: the Node has no host-id that is a UUID.
	ReasonHostIDMissing = "HostIDMissing"
	// ReasonPodCIDRMissing: the Node has no IPv4 range of pod addresses that can be used.
	ReasonPodCIDRMissing = "PodCIDRMissing"
	// ReasonNodeMissing: the Node that a Pod runs on is not known.
	ReasonNodeMissing = "NodeMissing"
	// ReasonIPv6NotSupported: an address is not one of IPv4, which alone the backend translates.
	ReasonIPv6NotSupported = "IPv6NotSupported"
	// ReasonProtocolNotSupported: a port is neither TCP nor UDP.
	ReasonProtocolNotSupported = "ProtocolNotSupported"
	// ReasonInvalidAddress: an address is no IP address, or no MAC address.
	ReasonInvalidAddress = "InvalidAddress"
	// ReasonPodCIDRShared: the range of pod addresses of a Node overlaps with that of another Node.
	ReasonPodCIDRShared = "PodCIDRShared"
	// ReasonNodeAddressShared: a Node has an address that another Node has, too.
	ReasonNodeAddressShared = "NodeAddressShared"
	// ReasonInvalidGateway: the annotations of a Node do not describe a gateway of OVN.
	ReasonInvalidGateway = "InvalidGateway"
	// ReasonAddressTaken: an address of a Pod is that of another interface on its switch.
	ReasonAddressTaken = "AddressTaken"
	// ReasonAddressOutsidePodCIDR: an address of a Pod is in none of its Node's ranges.
	ReasonAddressOutsidePodCIDR = "AddressOutsidePodCIDR"
	// ReasonMACAddressNotPermitted: a Pod has the annotation of a MAC address, and the configuration does not permit it.
	ReasonMACAddressNotPermitted = "MACAddressNotPermitted"
	// ReasonNodeAddressTaken: an address of a Node is that of a Service, or of a Pod of another Node.
	ReasonNodeAddressTaken = "NodeAddressTaken"
	// ReasonExternalAddressTaken: an external address of a Service, or a port at it, is that of another object.
	ReasonExternalAddressTaken = "ExternalAddressTaken"
	// ReasonInvalidTunnelZone: the tunnel zone of a Node is no UUID.
	ReasonInvalidTunnelZone = "InvalidTunnelZone"
)

// Problem is why something was not translated, for an event and a condition.
type Problem struct {
	// Reason is one of the constants above.
	Reason string
	// Message names the field, what it holds and what to do. It is short enough for an event, whatever the field holds.
	Message string
}

// Note returns the message as an event takes it.
func (p Problem) Note() string { return kit.Bounded(p.Message, kit.MaxEventMessage) }

// Result is what an object becomes.
type Result struct {
	// Translations are those that are wanted, sorted by name. When Waiting is nil, any other of the same owner is
	// stale.
	Translations []midonetv1.Translation
	// Waiting reports what must be known before the object can be translated at all. Until then there are no Translations, and
	// those that exist stay: a Node that loses its host-id must not lose its bridge immediately, and every Pod's port with it.
	Waiting *Problem
	// Skipped are the parts of the object that have no translation, sorted. The rest of it is translated.
	Skipped []Problem
}

// Join returns what several results want together, those of a Service and its Endpoints. It waits when one of them
// does.
func Join(results ...Result) Result {
	var joined Result
	for _, result := range results {
		joined.Translations = append(joined.Translations, result.Translations...)
		joined.Skipped = append(joined.Skipped, result.Skipped...)
		if joined.Waiting == nil {
			joined.Waiting = result.Waiting
		}
	}
	joined.sort()
	return joined
}

func (r *Result) sort() {
	slices.SortFunc(r.Translations, func(a, b midonetv1.Translation) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Skipped, func(a, b Problem) int {
		return cmp.Or(strings.Compare(a.Reason, b.Reason), strings.Compare(a.Message, b.Message))
	})
	r.Skipped = slices.Compact(r.Skipped)
}

// collector gathers the Translations of one owner. One that is added twice is there once: addresses are listed twice,
// and an endpoint may be in two slices while it moves between them.
type collector struct {
	owner  Owner
	keys   map[string]struct{}
	result Result
}

func newCollector(owner Owner) *collector {
	return &collector{owner: owner, keys: map[string]struct{}{}}
}

// has reports whether there is a Translation for the kind and key, so that its resources need not be built again.
func (c *collector) has(kind, key string) bool {
	_, found := c.keys[kind+"/"+key]
	return found
}

// add wants a Translation. One without resources is not written.
func (c *collector) add(kind, key string, resources ...midonetv1.BackendResource) {
	if len(resources) == 0 || c.has(kind, key) {
		return
	}
	c.keys[kind+"/"+key] = struct{}{}
	c.result.Translations = append(c.result.Translations, c.owner.Translation(kind, key, resources...))
}

func (c *collector) skip(problem Problem) {
	c.result.Skipped = append(c.result.Skipped, problem)
}

func (c *collector) done() Result {
	c.result.sort()
	return c.result
}

func problem(reason, format string, values ...any) *Problem {
	return &Problem{Reason: reason, Message: fmt.Sprintf(format, values...)}
}
