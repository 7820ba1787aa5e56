// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
	"groundskeeper.io/groundskeeper/pkg/discoverer/run"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// namespaceFile contains the namespace of the pod of the process.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// options are the flags. Those of the original keep their names.
type options struct {
	run.Options
	debug     bool
	logFormat logging.Format
	// validate reads these texts.
	selector                      string
	allowAddresses, denyAddresses []string
}

func newOptions(mode gimbalv1.BackendType, getenv func(string) string) *options {
	o := &options{Options: run.Options{
		Mode: mode, Getenv: getenv,
		BackendNamespace: "gimbal-discovery",
		Resync:           30 * time.Minute, Probe: 30 * time.Second, Timeout: 5 * time.Second,
		Threads: 8, ListenAddress: "8080", QPS: 500, Burst: 1000,
		Policy: replica.Policy{Missing: gimbalv1.MissingNamespaceWait}, Services: gimbalv1.ServicesAll, Zones: gimbalv1.ZonesCopy,
		OpenStackQPS: 100, OpenStackBurst: 200,
		// The names of pods differ, those of processes on one machine do not.
		Identity: getenv("HOSTNAME") + "_" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		o.BackendNamespace = strings.TrimSpace(string(content))
	}
	return o
}

// logger returns the logger of the process.
func (o *options) logger() logr.Logger {
	flags := flag.NewFlagSet(run.Name, flag.ContinueOnError)
	klog.InitFlags(flags)
	if o.debug {
		_ = flags.Set("v", "1") // a number is always valid
	}
	o.logFormat.Install(os.Stderr)
	return klog.Background().WithValues("backend", o.Backend)
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.GimbalKubeconfig, "gimbal-kubecfg-file", o.GimbalKubeconfig,
		"kubeconfig `file` of this cluster (default: the pod's service account)")
	flags.StringVar(&o.Backend, "backend-name", o.Backend, "`name` of the backend, as its DiscoveryBackend has it")
	flags.StringVar(&o.BackendNamespace, "backend-namespace", o.BackendNamespace,
		"`namespace` of the DiscoveryBackend and of the lease (default: the pod's)")
	flags.DurationVar(&o.Resync, "resync-interval", o.Resync, "how often everything is compared when nothing changes")
	flags.DurationVar(&o.Timeout, "http-client-timeout", o.Timeout, "how long a request may take; watches have no limit")
	flags.IntVar(&o.Threads, "num-threads", o.Threads, "how many services are worked on in parallel, and how many requests to OpenStack")
	flags.BoolVar(&o.debug, "debug", o.debug, "log more")
	o.logFormat.AddFlag(flags)
	flags.StringVar(&o.ListenAddress, "prometheus-listen-address", o.ListenAddress, "`[HOST:]PORT` to serve /metrics, /healthz and /readyz on")
	flags.Float32Var(&o.QPS, "gimbal-client-qps", o.QPS, "how many requests per second go to this cluster at most, averaged")
	flags.IntVar(&o.Burst, "gimbal-client-burst", o.Burst, "how many requests may exceed that rate for a short time")
	flags.StringSliceVar(&o.Policy.Allow, "namespaces-allow", o.Policy.Allow, "`namespaces` that are discovered, separated by commas "+
		"(default: all). The namespace of the DiscoveryBackend alone means that the discoverer needs no permissions beyond it")
	flags.StringSliceVar(&o.Policy.Deny, "namespaces-deny", o.Policy.Deny, "`namespaces` that are not discovered, even when they are allowed")
	flags.StringVar((*string)(&o.Policy.Missing), "namespaces-missing", string(o.Policy.Missing),
		"what happens to services whose namespace does not exist here: Wait, Create or Ignore")
	flags.StringSliceVar(&o.allowAddresses, "addresses-allow", o.allowAddresses, "`networks` of the addresses that are copied, in CIDR "+
		"notation, separated by commas (default: all). Loopback, link-local, multicast and metadata addresses, and those of --addresses-deny, "+
		"are copied only if a network has no other addresses than such, and not if the discoverer is confined to the namespace of the "+
		"DiscoveryBackend")
	flags.StringSliceVar(&o.denyAddresses, "addresses-deny", o.denyAddresses, "`networks` of addresses that are not copied, in addition to "+
		"those that are denied by default; those of the API server of this cluster belong here")
	flags.StringVar(&o.selector, "selector", o.selector, "label `selector` of the services that are discovered (default: all)")
	flags.StringSliceVar(&o.Labels.Include, "labels-include", o.Labels.Include,
		"`keys` of labels that are copied, separated by commas; a key that ends with a slash stands for all keys with this prefix")
	flags.StringSliceVar(&o.Labels.Exclude, "labels-exclude", o.Labels.Exclude,
		"`keys` of labels that are not copied, even if they are included or selected by")
	flags.StringToStringVar(&o.Labels.Add, "labels-add", o.Labels.Add,
		"labels that every copied Service gets, as `key=value`, separated by commas")
	if o.Mode == gimbalv1.BackendOpenStack {
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
	flags.StringVar(&o.DiscoverKubeconfig, "discover-kubecfg-file", o.DiscoverKubeconfig,
		"kubeconfig `file` of the backend: with a token or a client certificate in it, without commands and other files")
	flags.BoolVar(&o.AllowProxyURL, "allow-proxy-url", o.AllowProxyURL, "accept a proxy-url in the kubeconfig of the backend")
	flags.DurationVar(&o.Probe, "reconciliation-period", o.Probe, "how often to check that the backend responds and accepts the credentials")
	flags.BoolVar(&o.ExternalNames, "external-names", o.ExternalNames, "copy Services of type ExternalName, too")
	flags.StringVar((*string)(&o.Services), "service-policy", string(o.Services),
		"which Services are discovered: All, or Exported, those with a ServiceExport (multicluster.x-k8s.io) of their name")
	flags.StringVar((*string)(&o.Zones), "zone-policy", string(o.Zones),
		"what happens to the zones of endpoints and their hints for zones: Copy or Omit")
	flags.StringSliceVar(&o.Annotations, "copy-annotations", o.Annotations,
		"`keys` of the annotations that are copied, separated by commas (default: none)")
}

func (o *options) addOpenStackFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.CAFile, "openstack-certificate-authority", o.CAFile,
		"`file` with a CA bundle in PEM that is trusted in addition to that of the system (default: that of OS_CACERT)")
	flags.BoolVar(&o.AllowPlainHTTP, "allow-plain-http", o.AllowPlainHTTP,
		"accept Keystone over plain HTTP, which sends the password and tokens in clear text")
	flags.StringSliceVar(&o.Watchlist, "openstack-project-watchlist", o.Watchlist,
		"names or ids of the `projects` that are discovered, separated by commas (default: all that the user has a role in)")
	flags.DurationVar(&o.Probe, "reconciliation-period", o.Probe, "how often the cloud is listed")
	flags.Float32Var(&o.OpenStackQPS, "openstack-client-qps", o.OpenStackQPS, "how many requests per second go to the cloud at most, averaged")
	flags.IntVar(&o.OpenStackBurst, "openstack-client-burst", o.OpenStackBurst,
		"how many requests to the cloud may exceed that rate for a short time")
}
