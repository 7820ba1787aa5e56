// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"crypto/fips140"
	"crypto/sha1" //nolint:gosec // a name, not a signature: the ids of running deployments are made so
	"crypto/sha256"
	"encoding/hex"
	"net"
	"strings"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/util/validation"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

// IDVersion is part of every id. It never changes: another value would be another network.
const IDVersion = "4"

// IDs derives the ids of the backend resources of one tenant: UUIDs of version 5, from names alone.
type IDs struct {
	tenant uuid.UUID
}

// NewIDs returns the ids of a tenant.
func NewIDs(tenant string) IDs {
	root := uuid.UUID{0x39, 0x78, 0x56, 0x7e, 0x91, 0xc4, 0x46, 0x5c, 0xa0, 0xd1, 0x67, 0x57, 0x5f, 0x6b, 0x4c, 0x7f}
	return IDs{tenant: SubID(root, IDVersion+"/"+tenant)}
}

// ForKey returns the id of what a key names, for instance Pod and default/web-0.
func (i IDs) ForKey(kind, key string) uuid.UUID {
	return SubID(i.tenant, IDVersion+"/"+kind+"/"+key)
}

// SubID returns the id of a part of the resource with the given id, for instance Router Port of a Node.
func SubID(id uuid.UUID, part string) uuid.UUID {
	var sub uuid.UUID
	fips140.WithoutEnforcement(func() { sub = uuid.NewSHA1(id, []byte(part)) }) // RFC 9562 has SHA-1 for version 5: nothing is secured by it
	return sub
}

// Every bridge sends what comes in through the main chain; the other global ids block off it.
func (i IDs) mainChain() uuid.UUID     { return i.ForKey("midonet-global", "chain") }
func (i IDs) preChain() uuid.UUID      { return SubID(i.mainChain(), "Pre Chain") }
func (i IDs) servicesChain() uuid.UUID { return SubID(i.mainChain(), "Services Chain") }
func (i IDs) clusterRouter() uuid.UUID { return SubID(i.mainChain(), "Cluster Router") }
func (i IDs) tunnelZone() uuid.UUID    { return SubID(i.mainChain(), "Default Tunnel Zone") }

// bridge is that of a Node, and the base of what else the Node becomes.
func (i IDs) bridge(node string) uuid.UUID { return i.ForKey("Node", node) }

// serviceChain returns where the traffic to one port of a Service is spread over its endpoints.
func (i IDs) serviceChain(portKey string) uuid.UUID { return i.ForKey("ServicePort", portKey) }

// MACForKey returns the MAC address of the router's port to a Node: MidoNet would pick another one at each change.
func MACForKey(key string) net.HardwareAddr {
	sum := sha256.Sum256([]byte(key))
	return net.HardwareAddr{0xac, 0xca, 0xba, sum[0], sum[1], sum[2]}
}

// InterfaceName returns the name of the host's end of a Pod's interface, 15 characters as Linux allows. The CNI plugin
// derives the same.
func InterfaceName(namespace, name string) string {
	return "mido" + sha1Hex(namespace + "/" + name)[:11]
}

func sha1Hex(text string) string {
	var sum [sha1.Size]byte
	fips140.WithoutEnforcement(func() { sum = sha1.Sum([]byte(text)) }) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}

// TranslationName returns the name of the Translation of what a key names, for instance pod.4.web-0. A key that is not
// fit for a name of Kubernetes is made so, and a hash of the original keeps it apart from others.
func TranslationName(kind, key string) string {
	return dnsName(strings.ToLower(kind) + "." + midonetv1.TranslationVersion + "." + key)
}

func dnsName(name string) string {
	safe := strings.Map(dnsCharacter, name)
	if safe == name && len(name) <= validation.DNS1123SubdomainMaxLength {
		return name
	}
	suffix := "-" + sha1Hex(name)
	if limit := validation.DNS1123SubdomainMaxLength - len(suffix); len(safe) > limit {
		safe = strings.TrimRight(safe[:limit], ".-") // a label must not end with the dash of the suffix alone
	}
	return safe + suffix
}

func dnsCharacter(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z', '0' <= r && r <= '9', r == '.', r == '-':
		return r
	case 'A' <= r && r <= 'Z':
		return r - 'A' + 'a'
	default: // the slash between the parts of a key, the colon of IPv6
		return '-'
	}
}
