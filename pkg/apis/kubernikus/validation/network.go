// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// validatePodNetwork checks that a cluster on OpenStack has a range for its pods. It holds for updates too, because
// noCloud can be changed.
func validatePodNetwork(spec *kubernikusv1.KlusterSpec, path *field.Path) field.ErrorList {
	if spec.NoCloud || spec.ClusterCIDR == nil || *spec.ClusterCIDR != "" {
		return nil
	}
	return field.ErrorList{field.Required(path.Child("clusterCIDR"), "may be empty only when spec.noCloud is true")}
}

// validateNetwork checks the fields of the network that cannot be changed later.
func validateNetwork(spec *kubernikusv1.KlusterSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var pods [2]netip.Prefix
	if cidr := spec.ClusterCIDR; cidr != nil && *cidr != "" {
		var found field.ErrorList
		pods, found = parseCIDR(*cidr, path.Child("clusterCIDR"))
		errs = append(errs, found...)
	}
	services, found := parseCIDR(spec.ServiceCIDR, path.Child("serviceCIDR"))
	errs = append(errs, found...)
	// Overlaps is false when one of the two is not valid.
	if kubernikusv1.Overlap(pods, services) {
		errs = append(errs, field.Invalid(path.Child("serviceCIDR"), spec.ServiceCIDR,
			fmt.Sprintf("must not overlap with spec.clusterCIDR %s", kubernikusv1.RangesString(pods))))
	}
	// An invalid serviceCIDR yields no address either, and has been reported.
	if spec.DNSAddress != "" || services[0].IsValid() {
		errs = append(errs, validateDNSAddress(spec.DNSAddress, path.Child("dnsAddress"))...)
	}
	return append(errs, invalidIfAny(path.Child("dnsDomain"), spec.DNSDomain, validation.IsDNS1123Subdomain(spec.DNSDomain))...)
}

func parseCIDR(cidr string, path *field.Path) ([2]netip.Prefix, field.ErrorList) {
	ranges, ok := kubernikusv1.ParseRanges(cidr)
	if !ok {
		return ranges, field.ErrorList{field.Invalid(path, cidr,
			"must be a range such as 100.100.0.0/16, or one of IPv4 and one of IPv6 such as 100.100.0.0/16,fd00:100::/56")}
	}
	return ranges, nil
}

func validateDNSAddress(address string, path *field.Path) field.ErrorList {
	if address == "" {
		return field.ErrorList{field.Required(path, "spec.serviceCIDR has no third address to use: set one here, or use a larger range")}
	}
	if parsed, err := netip.ParseAddr(address); err != nil || parsed.Is4In6() || parsed.Zone() != "" {
		return field.ErrorList{field.Invalid(path, address, "must be an address such as 198.18.128.2")}
	}
	return nil
}

func validateAddress(address string, path *field.Path) field.ErrorList {
	if parsed, err := netip.ParseAddr(address); err != nil || parsed.Zone() != "" {
		return field.ErrorList{field.Invalid(path, address, "must be an IP address such as 1.1.1.1")}
	}
	return nil
}
