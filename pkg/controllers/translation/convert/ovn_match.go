// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package convert

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
)

func inParentheses(match string) string {
	if match == "" {
		return ""
	}
	return "(" + match + ")"
}

// peersMatch matches packets whose source or destination, src or dst, is in one of the groups or ranges; empty without any. OVN keeps
// the addresses of the ports of a group in sets that have its name.
func peersMatch(side string, groups []uuid.UUID, blocks []addressBlock) string {
	var parts []string
	for _, family := range []string{"4", "6"} {
		var sets, plain []string
		for _, id := range groups {
			sets = append(sets, "$"+groupName(id)+"_ip"+family)
		}
		var excluding []string
		for _, block := range blocks {
			switch {
			case block.Addr().Is4() != (family == "4"):
			case len(block.except) > 0:
				excluding = append(excluding, block.match("ip"+family, side))
			case block.Bits() == 0:
				excluding = append(excluding, "ip"+family)
			default:
				plain = append(plain, address(block.Prefix))
			}
		}
		if all := slices.Concat(sets, plain); len(all) > 0 {
			parts = append(parts, fmt.Sprintf("ip%s.%s == {%s}", family, side, strings.Join(all, ", ")))
		}
		parts = append(parts, excluding...)
	}
	return strings.Join(parts, " || ")
}

// match matches a range with exceptions.
func (b addressBlock) match(protocol, side string) string {
	var except []string
	for _, prefix := range b.except {
		except = append(except, address(prefix))
	}
	within := protocol
	if b.Bits() > 0 {
		within = fmt.Sprintf("%s.%s == %s", protocol, side, address(b.Prefix))
	}
	return fmt.Sprintf("(%s && %s.%s != {%s})", within, protocol, side, strings.Join(except, ", "))
}

// address returns a range as a match has it.
func address(prefix netip.Prefix) string {
	if prefix.IsSingleIP() {
		return prefix.Addr().String()
	}
	return prefix.String()
}

// portsMatch matches packets to ports.
func portsMatch(ranges []portRange) string {
	var parts []string
	for _, r := range ranges {
		protocol := strings.ToLower(string(r.protocol))
		switch r.first {
		case 0:
			parts = append(parts, protocol)
		case r.last:
			parts = append(parts, fmt.Sprintf("%s.dst == %d", protocol, r.first))
		default:
			parts = append(parts, fmt.Sprintf("%d <= %s.dst <= %d", r.first, protocol, r.last))
		}
	}
	return strings.Join(parts, " || ")
}
