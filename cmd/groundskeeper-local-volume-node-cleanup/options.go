// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	configvalidation "groundskeeper.io/groundskeeper/pkg/apis/config/validation"
	"groundskeeper.io/groundskeeper/pkg/logging"
)

// options has the values of the flags. Flags of the original command have the same names, types and defaults.
type options struct {
	kubeconfig, endpoint       string
	resync                     time.Duration
	classes, topologyKeys      []string
	workers                    uint
	listenAddress, metricsPath string

	qps         float32
	burst       int
	sources     []string
	drivers     []string
	leaderElect bool
	namespace   string
	logFormat   logging.Format
	// volumes has the values of the flags that need no conversion.
	volumes v1alpha1.LocalVolumeConfiguration
}

// namespaceFile contains the namespace of the pod of the process.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func newOptions() *options {
	defaults := &v1alpha1.ControllerManagerConfiguration{}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(defaults)
	volumes, client := defaults.Controllers.LocalVolume, defaults.ClientConnection
	o := &options{
		volumes: volumes, resync: 10 * time.Minute, workers: uint(*volumes.WorkerThreads),
		listenAddress: ":8080", metricsPath: "/metrics",
		qps: *client.QPS, burst: int(*client.Burst), topologyKeys: volumes.NodeTopologyKeys,
		leaderElect: true, namespace: defaults.LeaderElection.ResourceNamespace,
	}
	for _, source := range volumes.VolumeSources {
		o.sources = append(o.sources, string(source))
	}
	if content, err := os.ReadFile(namespaceFile); err == nil {
		o.namespace = strings.TrimSpace(string(content))
	}
	return o
}

func (o *options) addFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig `file` (default: the pod's service account)")
	flags.StringVar(&o.endpoint, "kube-api-endpoint", o.endpoint,
		"`URL` of the API server, instead of the kubeconfig's; without a kubeconfig, requests have no credentials")
	flags.Var(&duration{&o.resync, time.Minute}, "resync", "time between two resyncs of the caches; a number without a unit is minutes")
	flags.StringSliceVar(&o.classes, "storageclass-names", o.classes,
		"`names` of the storage classes whose volumes and claims are cleaned up, separated by commas (default: none)")
	flags.UintVar(&o.workers, "worker-threads", o.workers, "number of objects that are deleted concurrently")
	flags.Var(&duration{&o.volumes.PVCDeletionDelay.Duration, time.Second}, "pvc-deletion-delay",
		"how long a node must be missing before its claims are deleted; a number without a unit is seconds")
	flags.Var(&duration{&o.volumes.StalePVDiscoveryInterval.Duration, time.Second}, "stale-pv-discovery-interval",
		"time between two checks of the volumes of missing nodes if there is no event; a number without a unit is seconds")
	flags.StringVar(&o.listenAddress, "listen-address", o.listenAddress,
		"`HOST:PORT` to serve metrics, /healthz and /readyz on; empty: disabled")
	flags.StringVar(&o.metricsPath, "metrics-path", o.metricsPath, "`path` of the metrics")

	flags.Float32Var(&o.qps, "kube-api-qps", o.qps, "maximum number of requests per second to the API server, averaged, without events")
	flags.IntVar(&o.burst, "kube-api-burst", o.burst, "maximum number of requests in a burst")
	flags.BoolVar(o.volumes.DryRun, "dry-run", *o.volumes.DryRun, "delete nothing, report what would be deleted")
	flags.StringSliceVar(&o.topologyKeys, "node-topology-keys", o.topologyKeys,
		"node `labels` with which a volume names its node, separated by commas")
	flags.Float64Var(o.volumes.MaxMissingNodeFraction, "max-missing-node-fraction", *o.volumes.MaxMissingNodeFraction,
		"delete nothing if this fraction of the nodes with local volumes is missing; 1 disables the limit")
	flags.BoolVar(o.volumes.DeletePendingPods, "delete-pending-pods", *o.volumes.DeletePendingPods,
		"delete Pending pods without a node that use a claim that was deleted")
	flags.BoolVar(o.volumes.IncludeFailedVolumes, "include-failed-volumes", *o.volumes.IncludeFailedVolumes,
		"delete volumes in phase Failed, too, when their reclaim policy is Delete")
	flags.Var(&duration{&o.volumes.UnknownNodeDeletionDelay.Duration, time.Second}, "unknown-node-deletion-delay",
		"how long a node that was never seen must be missing before its claims are deleted, if longer than "+
			"--pvc-deletion-delay; 0: they are never deleted; a number without a unit is seconds")
	flags.BoolVar(o.volumes.OutOfServiceNodes, "out-of-service-nodes", *o.volumes.OutOfServiceNodes,
		"count nodes with the taint node.kubernetes.io/out-of-service as missing")
	flags.Var(&duration{&o.volumes.UnreachableNodeDelay.Duration, time.Second}, "unreachable-node-delay",
		"how long a node must not be ready, or be unknown to be, until it counts as missing; 0: never; a number without a unit is seconds")
	flags.BoolVar(o.volumes.StorageClassAnnotations, "storage-class-annotations", *o.volumes.StorageClassAnnotations,
		"honor the annotations of storage classes that opt them in or out, and set the delay of their claims")
	flags.BoolVar(o.volumes.ProofOfLife, "proof-of-life", *o.volumes.ProofOfLife,
		"retain claims of nodes whose machine renews its lease, or reports the status of a pod, although its node is missing")
	flags.BoolVar(o.volumes.DeleteVolumesOfUnknownNodes, "delete-volumes-of-unknown-nodes", *o.volumes.DeleteVolumesOfUnknownNodes,
		"delete free volumes of nodes that were never seen, too, after --unknown-node-deletion-delay, when their reclaim "+
			"policy is Delete and no claim is reserved for them")
	flags.StringSliceVar(&o.sources, "volume-sources", o.sources,
		"`sources` of the volumes that are cleaned up, separated by commas: local, hostPath")
	flags.StringSliceVar(&o.drivers, "csi-drivers", o.drivers,
		"CSI drivers whose volumes are cleaned up, each with the node label that names the node of a volume: "+
			"`NAME=TOPOLOGY-KEY`, separated by commas (default: none)")
	flags.Var(&duration{&o.volumes.DriverGracePeriod.Duration, time.Second}, "driver-grace-period",
		"how long Kubernetes and the provisioner or driver of a hostPath or CSI volume have to delete it; a number without a "+
			"unit is seconds")
	flags.BoolVar(o.volumes.ReleaseCSIVolumes, "release-csi-volumes", *o.volumes.ReleaseCSIVolumes,
		"delete CSI volumes that their driver did not delete in that time, and remove its finalizers from them; what it stored "+
			"on the disk is not cleaned up")
	flags.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "elect a leader among the replicas")
	flags.StringVar(&o.namespace, "namespace", o.namespace,
		"`namespace` of the lease and of the record of missing nodes (default: the pod's)")

	o.logFormat.AddFlag(flags)
	klogFlags := flag.NewFlagSet(name, flag.ContinueOnError)
	klog.InitFlags(klogFlags)
	flags.AddGoFlagSet(klogFlags)
	for _, old := range []string{"add_dir_header", "alsologtostderr", "log_backtrace_at", "log_dir", "log_file", "log_file_max_size",
		"logtostderr", "one_output", "skip_headers", "skip_log_headers", "stderrthreshold", "legacy_stderr_threshold_behavior", "vmodule"} {
		if known := flags.Lookup(old); known != nil {
			known.Hidden = true // accepted, as by the original
		}
	}
}

// duration is the value of a flag: a Go duration, or a bare number of units.
type duration struct {
	value *time.Duration
	unit  time.Duration
}

// Set implements pflag.Value.
func (d *duration) Set(text string) error {
	parsed, err := parseDuration(text, d.unit)
	if err == nil {
		*d.value = parsed
	}
	return err
}

// String implements pflag.Value.
func (d *duration) String() string {
	if d.value == nil {
		return ""
	}
	return d.value.String()
}

// Type implements pflag.Value.
func (d *duration) Type() string { return "duration" }

// config returns the configuration of the two controllers, in the format of the controller manager.
func (o *options) config() *v1alpha1.ControllerManagerConfiguration {
	config := &v1alpha1.ControllerManagerConfiguration{}
	config.ClientConnection = v1alpha1.ClientConnectionConfiguration{
		Kubeconfig: o.kubeconfig, QPS: new(o.qps), Burst: new(int32(max(math.MinInt32, min(o.burst, math.MaxInt32)))),
	}
	config.LeaderElection = v1alpha1.LeaderElectionConfiguration{
		LeaderElect: new(o.leaderElect), ResourceNamespace: o.namespace, ResourceName: name,
	}
	config.Controllers.LocalVolume = o.volumes
	volumes := &config.Controllers.LocalVolume
	volumes.StorageClassNames, volumes.NodeTopologyKeys = listOf(o.classes), listOf(o.topologyKeys)
	volumes.WorkerThreads = new(int32(min(o.workers, math.MaxInt32)))
	volumes.VolumeSources, volumes.CSIDrivers = []v1alpha1.VolumeSource{}, []v1alpha1.CSIDriver{}
	for _, source := range listOf(o.sources) {
		volumes.VolumeSources = append(volumes.VolumeSources, v1alpha1.VolumeSource(source))
	}
	for _, driver := range listOf(o.drivers) {
		name, key, _ := strings.Cut(driver, "=")
		volumes.CSIDrivers = append(volumes.CSIDrivers, v1alpha1.CSIDriver{Name: name, TopologyKey: key})
	}
	v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	return config
}

// listOf returns the values without surrounding space, empty values and duplicates.
func listOf(values []string) []string {
	list := []string{}
	for _, value := range values {
		if value = strings.TrimSpace(value); value != "" && !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

var flagOf = map[string]string{
	"clientConnection.qps":                             "kube-api-qps",
	"clientConnection.burst":                           "kube-api-burst",
	"leaderElection.resourceNamespace":                 "namespace",
	"controllers.localVolume.storageClassNames":        "storageclass-names",
	"controllers.localVolume.pvcDeletionDelay":         "pvc-deletion-delay",
	"controllers.localVolume.unknownNodeDeletionDelay": "unknown-node-deletion-delay",
	"controllers.localVolume.unreachableNodeDelay":     "unreachable-node-delay",
	"controllers.localVolume.stalePVDiscoveryInterval": "stale-pv-discovery-interval",
	"controllers.localVolume.maxMissingNodeFraction":   "max-missing-node-fraction",
	"controllers.localVolume.nodeTopologyKeys":         "node-topology-keys",
	"controllers.localVolume.workerThreads":            "worker-threads",
	"controllers.localVolume.volumeSources":            "volume-sources",
	"controllers.localVolume.csiDrivers":               "csi-drivers",
	"controllers.localVolume.driverGracePeriod":        "driver-grace-period",
}

func (o *options) validate() error {
	var errs []error
	reported := map[string]bool{} // values that are wrong are reported once
	for i, driver := range listOf(o.drivers) {
		if name, key, ok := strings.Cut(driver, "="); !ok || name == "" || key == "" {
			errs = append(errs, fmt.Errorf("--csi-drivers: %q is not NAME=TOPOLOGY-KEY, for instance topolvm.io=topology.topolvm.io/node", driver))
			reported[fmt.Sprintf("controllers.localVolume.csiDrivers[%d]", i)] = true
		}
	}
	for _, err := range configvalidation.ValidateControllerManagerConfiguration(o.config(), nil) {
		if err.Field == "controllers.enabled[0]" { // the default is for the controller manager
			continue
		}
		value := err.Field
		if end := strings.Index(value, "]"); end >= 0 {
			value = value[:end+1]
		}
		if reported[value] {
			continue
		}
		reported[value] = true
		field, _, _ := strings.Cut(err.Field, "[")
		flag, known := flagOf[field]
		if !known {
			flag = field
		}
		errs = append(errs, fmt.Errorf("--%s: %s", flag, err.ErrorBody()))
	}
	if o.resync < 0 {
		errs = append(errs, fmt.Errorf("--resync: %s is negative", o.resync))
	}
	if o.resync > configvalidation.MaxDuration { // up to a tenth is added as jitter
		errs = append(errs, fmt.Errorf("--resync: %s is more than %s", o.resync, configvalidation.MaxDuration))
	}
	if o.listenAddress != "" && !isAddress(o.listenAddress) {
		errs = append(errs, fmt.Errorf("--listen-address: %q is not HOST:PORT", o.listenAddress))
	}
	if !strings.HasPrefix(o.metricsPath, "/") || slices.Contains([]string{"/healthz", "/readyz"}, o.metricsPath) ||
		strings.ContainsAny(o.metricsPath, " {}") {
		errs = append(errs, fmt.Errorf("--metrics-path: %q must be a separate path, for instance /metrics", o.metricsPath))
	}
	return errors.Join(errs...)
}

func isAddress(address string) bool {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	_, err = net.DefaultResolver.LookupPort(context.Background(), "tcp", port)
	return err == nil && (host == "" || net.ParseIP(host) != nil || len(validation.IsDNS1123Subdomain(host)) == 0)
}

// parseDuration reads a Go duration, or a bare number of units, as the documentation of the original has them.
func parseDuration(text string, unit time.Duration) (time.Duration, error) {
	if parsed, err := time.ParseDuration(text); err == nil {
		return parsed, nil
	}
	units := "seconds"
	if unit == time.Minute {
		units = "minutes"
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.Abs(number*float64(unit)) >= math.MaxInt64 {
		return 0, fmt.Errorf("%q is neither a duration, for instance 90s, nor a number of %s", text, units)
	}
	return time.Duration(number * float64(unit)), nil
}
