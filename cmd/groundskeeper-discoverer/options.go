// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// namespaceFile contains the namespace of the pod of the process.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// options are the flags. Those of the original keep their names.
type options struct {
	// mode is the type of the backend.
	mode                                 gimbalv1.BackendType
	gimbalKubeconfig, discoverKubeconfig string
	backend, backendNamespace            string
	resync, probe, timeout               time.Duration
	threads                              int
	debug                                bool
	logFormat                            logging.Format
	listenAddress                        string
	qps                                  float32
	burst                                int
	allow, deny                          []string
	missing                              string
	services                             string
	externalNames                        bool
	annotations                          []string
	labels                               desired.Labels
	selector                             string
	allowAddresses, denyAddresses        []string
	// addresses are the parsed networks; validate sets them.
	addresses desired.Addresses
	// selected is the parsed selector; validate sets it.
	selected labels.Selector
	identity string
	// The following options are for OpenStack.
	getenv         func(string) string
	caFile         string
	watchlist      []string
	openstackQPS   float32
	openstackBurst int
}

func newOptions(mode gimbalv1.BackendType, getenv func(string) string) *options {
	o := &options{
		mode: mode, getenv: getenv,
		backendNamespace: "gimbal-discovery",
		resync:           30 * time.Minute, probe: 30 * time.Second, timeout: 5 * time.Second,
		threads: 8, listenAddress: "8080", qps: 500, burst: 1000,
		missing: string(gimbalv1.MissingNamespaceWait), services: string(gimbalv1.ServicesAll),
		openstackQPS: 100, openstackBurst: 200,
		// The names of pods differ, those of processes on one machine do not.
		identity: getenv("HOSTNAME") + "_" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		o.backendNamespace = strings.TrimSpace(string(content))
	}
	return o
}

// policy returns the policy of namespaces that the flags specify.
func (o *options) policy() replica.Policy {
	return replica.Policy{Allow: o.allow, Deny: o.deny, Missing: gimbalv1.MissingNamespacePolicy(o.missing)}
}

// confined returns the only namespace that may be touched here, "" when all may.
func (o *options) confined() string {
	if len(o.allow) == 1 && o.allow[0] == o.backendNamespace {
		return o.backendNamespace
	}
	return ""
}

// address returns what to listen on: a bare port is one of all addresses.
func (o *options) address() string {
	if strings.Contains(o.listenAddress, ":") {
		return o.listenAddress
	}
	return ":" + o.listenAddress
}

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
	flags.StringSliceVar(&o.labels.Include, "labels-include", o.labels.Include, "`keys` of labels that are copied, separated by commas; a key that ends with a slash stands for all keys with this prefix")
	flags.StringSliceVar(&o.labels.Exclude, "labels-exclude", o.labels.Exclude, "`keys` of labels that are not copied, even if they are included or selected by")
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
	flags.StringVar(&o.services, "service-policy", o.services, "which Services are discovered: All, or Exported, those with a ServiceExport (multicluster.x-k8s.io) of their name")
	flags.StringSliceVar(&o.annotations, "copy-annotations", o.annotations, "`keys` of the annotations that are copied, separated by commas (default: none)")
}

func (o *options) addOpenStackFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.caFile, "openstack-certificate-authority", o.caFile, "`file` with a CA bundle in PEM that is trusted in addition to that of the system (default: that of OS_CACERT)")
	flags.StringSliceVar(&o.watchlist, "openstack-project-watchlist", o.watchlist, "names or ids of the `projects` that are discovered, separated by commas (default: all that the user has a role in)")
	flags.DurationVar(&o.probe, "reconciliation-period", o.probe, "how often the cloud is listed")
	flags.Float32Var(&o.openstackQPS, "openstack-client-qps", o.openstackQPS, "how many requests per second go to the cloud at most, averaged")
	flags.IntVar(&o.openstackBurst, "openstack-client-burst", o.openstackBurst, "how many requests to the cloud may exceed that rate for a short time")
}
