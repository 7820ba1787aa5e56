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
	case o.backend == "":
		add("backend-name", "is missing: give the name of the DiscoveryBackend")
	case len(validation.IsDNS1035Label(o.backend)) > 0 || len(o.backend) > gimbalv1.MaxNameLength:
		add("backend-name", "%q is not a lower case DNS label of at most %d characters that starts with a letter", o.backend, gimbalv1.MaxNameLength)
	}
	if o.mode == gimbalv1.BackendKubernetes && o.discoverKubeconfig == "" {
		add("discover-kubecfg-file", "is missing: give the kubeconfig of the backend")
	}
	if len(validation.IsDNS1123Label(o.backendNamespace)) > 0 {
		add("backend-namespace", "%q is not the name of a namespace", o.backendNamespace)
	}
	for flag, value := range map[string]time.Duration{"resync-interval": o.resync, "reconciliation-period": o.probe} {
		if value < time.Second {
			add(flag, "%s is less than a second", value)
		}
		if value > maxPeriod {
			add(flag, "%s is more than %s", value, maxPeriod)
		}
	}
	if o.timeout <= 0 || o.timeout > lease.MaxTimeout {
		add("http-client-timeout", "%s is not between 0 and %s, which a discoverer that lost its lease has for its last write", o.timeout, lease.MaxTimeout)
	}
	if o.threads < 1 || o.threads > 64 {
		add("num-threads", "%d is not between 1 and 64", o.threads)
	}
	for flag, qps := range map[string]float32{"gimbal-client-qps": o.qps, "openstack-client-qps": o.openstackQPS} {
		if qps <= 0 {
			add(flag, "%v is not more than 0", qps)
		}
	}
	for flag, burst := range map[string]int{"gimbal-client-burst": o.burst, "openstack-client-burst": o.openstackBurst} {
		if burst < 1 {
			add(flag, "%d is less than 1", burst)
		}
	}
	if slices.Contains(o.watchlist, "") {
		add("openstack-project-watchlist", "has an empty entry")
	}
	for flag, names := range map[string][]string{"namespaces-allow": o.allow, "namespaces-deny": o.deny} {
		for _, name := range names {
			if len(validation.IsDNS1123Label(name)) > 0 {
				add(flag, "%q is not the name of a namespace", name)
			}
		}
	}
	if !slices.Contains([]string{"Wait", "Create", "Ignore"}, o.missing) {
		add("namespaces-missing", "%q is not Wait, Create or Ignore", o.missing)
	}
	if !slices.Contains([]string{"All", "Exported"}, o.services) {
		add("service-policy", "%q is neither All nor Exported", o.services)
	}
	for _, key := range o.annotations {
		if len(validation.IsQualifiedName(key)) > 0 {
			add("copy-annotations", "%q is not the key of an annotation", key)
		}
	}
	for flag, keys := range map[string][]string{"labels-include": o.labels.Include, "labels-exclude": o.labels.Exclude} {
		for _, key := range keys {
			if !gimbalv1.IsLabelKey(key) {
				add(flag, "%q is neither the key of a label nor a prefix that ends with a slash", key)
			}
		}
	}
	for key, value := range o.labels.Add {
		switch {
		case len(validation.IsQualifiedName(key)) > 0:
			add("labels-add", "%q is not the key of a label", key)
		case gimbalv1.IsReservedKey(key):
			add("labels-add", "%q is a label that Groundskeeper writes: choose another key", key)
		case len(validation.IsValidLabelValue(value)) > 0:
			add("labels-add", "%q is not the value of a label", value)
		}
	}
	o.addresses = desired.Addresses{Exceptions: o.confined() == ""}
	for flag, networks := range map[string]*[]netip.Prefix{"addresses-allow": &o.addresses.Allow, "addresses-deny": &o.addresses.Deny} {
		for _, text := range map[string][]string{"addresses-allow": o.allowAddresses, "addresses-deny": o.denyAddresses}[flag] {
			network, err := gimbalv1.ParseNetwork(text)
			if err != nil {
				add(flag, "%q %v", text, err)
			}
			*networks = append(*networks, network)
		}
	}
	var err error
	if o.selected, err = labels.Parse(o.selector); err != nil {
		add("selector", "%v", err)
	} else if requirements, selectable := o.selected.Requirements(); selectable {
		o.labels.Selected = nil
		for _, requirement := range requirements {
			o.labels.Selected = append(o.labels.Selected, requirement.Key())
		}
	}
	if !isAddress(o.address()) {
		add("prometheus-listen-address", "%q is not [HOST:]PORT", o.listenAddress)
	}
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
