// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/spf13/pflag"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.gimbalKubeconfig, "gimbal-kubecfg-file", o.gimbalKubeconfig, "kubeconfig `file` of this cluster (default: the pod's service account)")
	flags.StringVar(&o.backend, "backend-name", o.backend, "`name` of the backend, as its DiscoveryBackend has it")
	flags.StringVar(&o.backendNamespace, "backend-namespace", o.backendNamespace, "`namespace` of the DiscoveryBackend and of the lease (default: the pod's)")
	flags.DurationVar(&o.resync, "resync-interval", o.resync, "how often everything is compared when nothing changes")
	flags.DurationVar(&o.timeout, "http-client-timeout", o.timeout, "how long a request may take; watches have no limit")
	flags.IntVar(&o.threads, "num-threads", o.threads, "how many services are worked on in parallel, and how many requests to OpenStack")
	flags.BoolVar(&o.debug, "debug", o.debug, "log more")
	o.logFormat.AddFlag(flags)
	flags.StringVar(&o.listenAddress, "prometheus-listen-address", o.listenAddress, "`[HOST:]PORT` to serve /metrics, /healthz and /readyz on")
	flags.Float32Var(&o.qps, "gimbal-client-qps", o.qps, "how many requests per second go to this cluster at most, averaged")
	flags.IntVar(&o.burst, "gimbal-client-burst", o.burst, "how many requests may exceed that rate for a short time")
	flags.StringSliceVar(&o.allow, "namespaces-allow", o.allow, "`namespaces` that are discovered, separated by commas (default: all). The namespace of the DiscoveryBackend alone means that the discoverer needs no permissions beyond it")
	flags.StringSliceVar(&o.deny, "namespaces-deny", o.deny, "`namespaces` that are not discovered, even when they are allowed")
	flags.StringVar(&o.missing, "namespaces-missing", o.missing, "what happens to services whose namespace does not exist here: Wait, Create or Ignore")
	flags.StringSliceVar(&o.allowAddresses, "addresses-allow", o.allowAddresses, "`networks` of the addresses that are copied, in CIDR notation, separated by commas (default: all). Loopback, link-local, multicast and metadata addresses, and those of --addresses-deny, are copied only if a network has no other addresses than such, and not if the discoverer is confined to the namespace of the DiscoveryBackend")
	flags.StringSliceVar(&o.denyAddresses, "addresses-deny", o.denyAddresses, "`networks` of addresses that are not copied, in addition to those that are denied by default; those of the API server of this cluster belong here")
	flags.StringVar(&o.selector, "selector", o.selector, "label `selector` of the services that are discovered (default: all)")
	flags.StringSliceVar(&o.labels.Include, "labels-include", o.labels.Include, "`keys` of labels that are copied although they are excluded by default, separated by commas; a key that ends with a slash stands for all keys with this prefix")
	flags.StringSliceVar(&o.labels.Exclude, "labels-exclude", o.labels.Exclude, "`keys` of labels that are not copied, in addition to those that are excluded by default")
	flags.StringToStringVar(&o.labels.Add, "labels-add", o.labels.Add, "labels that every copied Service gets, as `key=value`, separated by commas")
	if o.mode == gimbalv1.BackendOpenStack {
		o.addOpenStackFlags(flags)
	} else {
		o.addKubernetesFlags(flags)
	}
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "cluster-name" { // the word of the operator's design
			name = "backend-name"
		}
		return pflag.NormalizedName(name)
	})
}

func (o *options) addKubernetesFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.discoverKubeconfig, "discover-kubecfg-file", o.discoverKubeconfig, "kubeconfig `file` of the backend: with a token or a client certificate in it, without commands and other files")
	flags.DurationVar(&o.probe, "reconciliation-period", o.probe, "how often to check that the backend responds and accepts the credentials")
	flags.BoolVar(&o.externalNames, "external-names", o.externalNames, "copy Services of type ExternalName, too")
	flags.StringSliceVar(&o.annotations, "copy-annotations", o.annotations, "`keys` of the annotations that are copied, separated by commas (default: none)")
}

func (o *options) addOpenStackFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.caFile, "openstack-certificate-authority", o.caFile, "`file` with a CA bundle in PEM that is trusted in addition to that of the system (default: that of OS_CACERT)")
	flags.StringSliceVar(&o.watchlist, "openstack-project-watchlist", o.watchlist, "names or ids of the `projects` that are discovered, separated by commas (default: all that the user has a role in)")
	flags.DurationVar(&o.probe, "reconciliation-period", o.probe, "how often the cloud is listed")
	flags.Float32Var(&o.openstackQPS, "openstack-client-qps", o.openstackQPS, "how many requests per second go to the cloud at most, averaged")
	flags.IntVar(&o.openstackBurst, "openstack-client-burst", o.openstackBurst, "how many requests to the cloud may exceed that rate for a short time")
}
