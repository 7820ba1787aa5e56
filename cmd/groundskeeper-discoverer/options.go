// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/lease"
	"groundskeeper.io/groundskeeper/pkg/discoverer/replica"
)

// namespaceFile says in which namespace the pod of the process runs.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// options are the flags. Those of the original keep their names.
type options struct {
	gimbalKubeconfig, discoverKubeconfig string
	backend, backendNamespace            string
	resync, probe, timeout               time.Duration
	threads                              int
	debug                                bool
	listenAddress                        string
	qps                                  float32
	burst                                int
	allow, deny                          []string
	missing                              string
	externalNames                        bool
	annotations                          []string
	identity                             string
}

func newOptions(getenv func(string) string) *options {
	o := &options{
		backendNamespace: "gimbal-discovery",
		resync:           30 * time.Minute, probe: 30 * time.Second, timeout: 5 * time.Second,
		threads: 8, listenAddress: "8080", qps: 500, burst: 1000,
		missing: string(gimbalv1.MissingNamespaceWait),
		// The names of pods differ, those of processes on one machine do not.
		identity: getenv("HOSTNAME") + "_" + strconv.FormatInt(time.Now().UnixNano(), 36),
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		o.backendNamespace = strings.TrimSpace(string(content))
	}
	return o
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.gimbalKubeconfig, "gimbal-kubecfg-file", o.gimbalKubeconfig, "kubeconfig `file` of this cluster (default: the pod's service account)")
	flags.StringVar(&o.discoverKubeconfig, "discover-kubecfg-file", o.discoverKubeconfig, "kubeconfig `file` of the backend: with a token or a client certificate in it, without commands and other files")
	flags.StringVar(&o.backend, "backend-name", o.backend, "`name` of the backend, as its DiscoveryBackend has it")
	flags.StringVar(&o.backendNamespace, "backend-namespace", o.backendNamespace, "`namespace` of the DiscoveryBackend and of the lease (default: the pod's)")
	flags.DurationVar(&o.resync, "resync-interval", o.resync, "how often everything is compared when nothing changes")
	flags.DurationVar(&o.probe, "reconciliation-period", o.probe, "how often the backend is asked whether it answers and takes the credentials")
	flags.DurationVar(&o.timeout, "http-client-timeout", o.timeout, "how long a request may take; watches have no limit")
	flags.IntVar(&o.threads, "num-threads", o.threads, "how many services are worked on in parallel")
	flags.BoolVar(&o.debug, "debug", o.debug, "log more")
	flags.StringVar(&o.listenAddress, "prometheus-listen-address", o.listenAddress, "`[HOST:]PORT` to serve /metrics, /healthz and /readyz on")
	flags.Float32Var(&o.qps, "gimbal-client-qps", o.qps, "how many requests per second go to this cluster at most, averaged")
	flags.IntVar(&o.burst, "gimbal-client-burst", o.burst, "how many requests may go out at once on top of that")
	flags.StringSliceVar(&o.allow, "namespaces-allow", o.allow, "`namespaces` that are discovered, separated by commas (default: all). The namespace of the DiscoveryBackend alone means that the discoverer needs no rights beyond it")
	flags.StringSliceVar(&o.deny, "namespaces-deny", o.deny, "`namespaces` that are not discovered, even when they are allowed")
	flags.StringVar(&o.missing, "namespaces-missing", o.missing, "what happens to services whose namespace does not exist here: Wait, Create or Ignore")
	flags.BoolVar(&o.externalNames, "external-names", o.externalNames, "copy Services of type ExternalName, too")
	flags.StringSliceVar(&o.annotations, "copy-annotations", o.annotations, "`keys` of the annotations that are copied, separated by commas (default: none)")
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == "cluster-name" { // the word of the operator's design
			name = "backend-name"
		}
		return pflag.NormalizedName(name)
	})
}

// policy is what the flags say about namespaces.
func (o *options) policy() replica.Policy {
	return replica.Policy{Allow: o.allow, Deny: o.deny, Missing: gimbalv1.MissingNamespacePolicy(o.missing)}
}

// confined is the only namespace that may be touched here, "" when all may.
func (o *options) confined() string {
	if len(o.allow) == 1 && o.allow[0] == o.backendNamespace {
		return o.backendNamespace
	}
	return ""
}

// address is what to listen on: a bare port is one of all addresses.
func (o *options) address() string {
	if strings.Contains(o.listenAddress, ":") {
		return o.listenAddress
	}
	return ":" + o.listenAddress
}

// validate says everything that is wrong.
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
	if o.discoverKubeconfig == "" {
		add("discover-kubecfg-file", "is missing: give the kubeconfig of the backend")
	}
	if len(validation.IsDNS1123Label(o.backendNamespace)) > 0 {
		add("backend-namespace", "%q is not the name of a namespace", o.backendNamespace)
	}
	for flag, value := range map[string]time.Duration{"resync-interval": o.resync, "reconciliation-period": o.probe} {
		if value < time.Second {
			add(flag, "%s is less than a second", value)
		}
	}
	if o.timeout <= 0 || o.timeout > lease.MaxTimeout {
		add("http-client-timeout", "%s is not between 0 and %s, which a discoverer that lost its lease has for its last write", o.timeout, lease.MaxTimeout)
	}
	if o.threads < 1 || o.threads > 64 {
		add("num-threads", "%d is not between 1 and 64", o.threads)
	}
	if o.qps <= 0 {
		add("gimbal-client-qps", "%v is not more than 0", o.qps)
	}
	if o.burst < 1 {
		add("gimbal-client-burst", "%d is less than 1", o.burst)
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
	for _, key := range o.annotations {
		if len(validation.IsQualifiedName(key)) > 0 {
			add("copy-annotations", "%q is not the key of an annotation", key)
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
