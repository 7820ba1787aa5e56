// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
)

// maxPeriod is the longest pause: jitter is added to it, and a longer one may overflow.
const maxPeriod = 400000 * time.Hour

// validate returns all problems of the options.
func (o *options) validate() error {
	var errs []error
	add := func(flag, format string, args ...any) {
		errs = append(errs, fmt.Errorf("--%s: "+format, append([]any{flag}, args...)...))
	}
	switch {
	case o.Backend == "":
		add("backend-name", "is missing: give the name of the DiscoveryBackend")
	case len(validation.IsDNS1035Label(o.Backend)) > 0 || len(o.Backend) > gimbalv1.MaxNameLength:
		add("backend-name", "%q is not a lower case DNS label of at most %d characters that starts with a letter", o.Backend,
			gimbalv1.MaxNameLength)
	}
	if o.Mode == gimbalv1.BackendKubernetes && o.DiscoverKubeconfig == "" {
		add("discover-kubecfg-file", "is missing: give the kubeconfig of the backend")
	}
	if len(validation.IsDNS1123Label(o.BackendNamespace)) > 0 {
		add("backend-namespace", "%q is not the name of a namespace", o.BackendNamespace)
	}
	for flag, value := range map[string]time.Duration{"resync-interval": o.Resync, "reconciliation-period": o.Probe} {
		if value < time.Second {
			add(flag, "%s is less than a second", value)
		}
		if value > maxPeriod {
			add(flag, "%s is more than %s", value, maxPeriod)
		}
	}
	if o.Timeout <= 0 || o.Timeout > lease.MaxTimeout {
		add("http-client-timeout", "%s is not between 0 and %s, which a discoverer that lost its lease has for its last write", o.Timeout,
			lease.MaxTimeout)
	}
	if o.Threads < 1 || o.Threads > 64 {
		add("num-threads", "%d is not between 1 and 64", o.Threads)
	}
	for flag, qps := range map[string]float32{"gimbal-client-qps": o.QPS, "openstack-client-qps": o.OpenStackQPS} {
		if qps <= 0 {
			add(flag, "%v is not more than 0", qps)
		}
	}
	for flag, burst := range map[string]int{"gimbal-client-burst": o.Burst, "openstack-client-burst": o.OpenStackBurst} {
		if burst < 1 {
			add(flag, "%d is less than 1", burst)
		}
	}
	if slices.Contains(o.Watchlist, "") {
		add("openstack-project-watchlist", "has an empty entry")
	}
	for flag, names := range map[string][]string{"namespaces-allow": o.Policy.Allow, "namespaces-deny": o.Policy.Deny} {
		for _, name := range names {
			if len(validation.IsDNS1123Label(name)) > 0 {
				add(flag, "%q is not the name of a namespace", name)
			}
		}
	}
	if !slices.Contains([]gimbalv1.MissingNamespacePolicy{"Wait", "Create", "Ignore"}, o.Policy.Missing) {
		add("namespaces-missing", "%q is not Wait, Create or Ignore", o.Policy.Missing)
	}
	if !slices.Contains([]gimbalv1.ServicePolicy{"All", "Exported"}, o.Services) {
		add("service-policy", "%q is neither All nor Exported", o.Services)
	}
	if !slices.Contains([]gimbalv1.ZonePolicy{"Copy", "Omit"}, o.Zones) {
		add("zone-policy", "%q is neither Copy nor Omit", o.Zones)
	}
	for _, key := range o.Annotations {
		if len(validation.IsQualifiedName(key)) > 0 {
			add("copy-annotations", "%q is not the key of an annotation", key)
		}
	}
	for flag, keys := range map[string][]string{"labels-include": o.Labels.Include, "labels-exclude": o.Labels.Exclude} {
		for _, key := range keys {
			if !gimbalv1.IsLabelKey(key) {
				add(flag, "%q is neither the key of a label nor a prefix that ends with a slash", key)
			}
		}
	}
	for key, value := range o.Labels.Add {
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			add("labels-add", "%q is not the key of a label", key)
		case gimbalv1.IsReservedKey(key):
			add("labels-add", "%q is a label that Groundskeeper writes: choose another key", key)
		case len(validation.IsValidLabelValue(value)) > 0:
			add("labels-add", "%q is not the value of a label", value)
		}
	}
	if len(o.Policy.Allow) == 1 && o.Policy.Allow[0] == o.BackendNamespace {
		o.Confined = o.BackendNamespace
	}
	networks := func(flag string, texts []string) (networks []netip.Prefix) {
		for _, text := range texts {
			network, err := gimbalv1.ParseNetwork(text)
			if err != nil {
				add(flag, "%q %v", text, err)
			}
			networks = append(networks, network)
		}
		return networks
	}
	o.Addresses = desired.Addresses{
		Allow: networks("addresses-allow", o.allowAddresses), Deny: networks("addresses-deny", o.denyAddresses), Exceptions: o.Confined == "",
	}
	var err error
	if o.Selector, err = labels.Parse(o.selector); err != nil {
		add("selector", "%v", err)
	} else if requirements, selectable := o.Selector.Requirements(); selectable {
		o.Labels.Selected = nil
		for _, requirement := range requirements {
			o.Labels.Selected = append(o.Labels.Selected, requirement.Key())
		}
	}
	address := o.ListenAddress
	if !strings.Contains(address, ":") { // a bare port is one of all addresses
		address = ":" + address
	}
	if !isAddress(address) {
		add("prometheus-listen-address", "%q is not [HOST:]PORT", o.ListenAddress)
	}
	o.ListenAddress = address
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

func isAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return false
	}
	return host == "" || net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(host)) == 0
}
