// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"errors"
	"net/netip"
)

// ParseNetwork reads a network of addresses in CIDR notation, for instance 10.1.0.0/16.
func ParseNetwork(text string) (netip.Prefix, error) {
	network, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, errors.New("must be a network in CIDR notation, for instance 10.1.0.0/16 or 2001:db8::/32")
	case network.Addr().Is4In6():
		return netip.Prefix{}, errors.New("must not contain IPv4 addresses in the form of IPv6 ones, write them as IPv4")
	case network != network.Masked():
		return netip.Prefix{}, errors.New("must begin with the first address of the network: write " + network.Masked().String())
	}
	return network, nil
}
