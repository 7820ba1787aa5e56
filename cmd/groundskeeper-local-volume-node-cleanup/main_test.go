// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// read executes with these arguments and returns what run would see, the exit code and the messages.
func read(t *testing.T, args ...string) (*options, int, string) {
	t.Helper()
	var seen *options
	var out, problems bytes.Buffer
	args = append([]string{}, args...) // cobra takes nil for the arguments of this process
	code := execute(t.Context(), args, &out, &problems, func(_ context.Context, o *options) error {
		seen = o
		return nil
	})
	return seen, code, problems.String()
}

// TestDefaults checks that the flags and their defaults are those of the original.
func TestDefaults(t *testing.T) {
	o, code, _ := read(t)
	if code != 0 {
		t.Fatal(code)
	}
	if o.kubeconfig != "" || o.endpoint != "" || o.resync != 10*time.Minute || len(o.classes) != 0 || o.workers != 10 ||
		o.volumes.PVCDeletionDelay.Duration != time.Minute || o.volumes.StalePVDiscoveryInterval.Duration != 10*time.Second || o.listenAddress != ":8080" || o.metricsPath != "/metrics" {
		t.Errorf("%+v", o)
	}
	if c := o.config().Controllers.LocalVolume; !slices.Equal(c.VolumeSources, []v1alpha1.VolumeSource{"local"}) || len(c.CSIDrivers) != 0 || *c.ReleaseCSIVolumes ||
		*c.DeleteVolumesOfUnknownNodes || c.UnknownNodeDeletionDelay.Duration != time.Hour || c.DriverGracePeriod.Duration != 10*time.Minute {
		t.Errorf("%+v", c)
	}
	if o.qps != 500 || o.burst != 1000 || *o.volumes.DryRun || *o.volumes.MaxMissingNodeFraction != 0.55 || *o.volumes.DeletePendingPods || *o.volumes.IncludeFailedVolumes || !o.leaderElect ||
		!slices.Equal(o.topologyKeys, []string{"kubernetes.io/hostname"}) {
		t.Errorf("%+v", o)
	}
}

func TestFlags(t *testing.T) {
	for args, check := range map[string]func(*options) bool{
		"--kubeconfig=/k --kube-api-endpoint=http://h": func(o *options) bool { return o.kubeconfig == "/k" && o.endpoint == "http://h" },
		"--resync=5":                                      func(o *options) bool { return o.resync == 5*time.Minute },
		"--resync=90s":                                    func(o *options) bool { return o.resync == 90*time.Second },
		"--resync=0":                                      func(o *options) bool { return o.resync == 0 },
		"--pvc-deletion-delay=90":                         func(o *options) bool { return o.volumes.PVCDeletionDelay.Duration == 90*time.Second },
		"--pvc-deletion-delay 2m":                         func(o *options) bool { return o.volumes.PVCDeletionDelay.Duration == 2*time.Minute },
		"--pvc-deletion-delay=0":                          func(o *options) bool { return o.volumes.PVCDeletionDelay.Duration == 0 },
		"--pvc-deletion-delay=1.5":                        func(o *options) bool { return o.volumes.PVCDeletionDelay.Duration == 1500*time.Millisecond },
		"--stale-pv-discovery-interval=7":                 func(o *options) bool { return o.volumes.StalePVDiscoveryInterval.Duration == 7*time.Second },
		"--storageclass-names=a,b":                        func(o *options) bool { return slices.Equal(listOf(o.classes), []string{"a", "b"}) },
		"--storageclass-names=a --storageclass-names=b,a": func(o *options) bool { return slices.Equal(listOf(o.classes), []string{"a", "b"}) },
		"--storageclass-names=":                           func(o *options) bool { return len(listOf(o.classes)) == 0 },
		"--worker-threads=3":                              func(o *options) bool { return *o.config().Controllers.LocalVolume.WorkerThreads == 3 },
		"--listen-address=127.0.0.1:0":                    func(o *options) bool { return o.listenAddress == "127.0.0.1:0" },
		"--metrics-path=/m":                               func(o *options) bool { return o.metricsPath == "/m" },
		"--max-missing-node-fraction=1":                   func(o *options) bool { return *o.config().Controllers.LocalVolume.MaxMissingNodeFraction == 1 },
		"--node-topology-keys=a/b,c": func(o *options) bool {
			return slices.Equal(o.config().Controllers.LocalVolume.NodeTopologyKeys, []string{"a/b", "c"})
		},
		"--out-of-service-nodes --unreachable-node-delay=600": func(o *options) bool {
			return *o.volumes.OutOfServiceNodes && o.volumes.UnreachableNodeDelay.Duration == 10*time.Minute
		},
		"--storage-class-annotations":     func(o *options) bool { return *o.volumes.StorageClassAnnotations },
		"--proof-of-life":                 func(o *options) bool { return *o.volumes.ProofOfLife },
		"--dry-run --delete-pending-pods": func(o *options) bool { return *o.volumes.DryRun && *o.volumes.DeletePendingPods },
		"--include-failed-volumes":        func(o *options) bool { return *o.config().Controllers.LocalVolume.IncludeFailedVolumes },
		"--listen-address=":               func(o *options) bool { return o.listenAddress == "" },
		"--unknown-node-deletion-delay=30": func(o *options) bool {
			return o.config().Controllers.LocalVolume.UnknownNodeDeletionDelay.Duration == 30*time.Second
		},
		"--delete-volumes-of-unknown-nodes": func(o *options) bool { return *o.config().Controllers.LocalVolume.DeleteVolumesOfUnknownNodes },
		"--volume-sources=local,hostPath": func(o *options) bool {
			return slices.Equal(o.config().Controllers.LocalVolume.VolumeSources, []v1alpha1.VolumeSource{"local", "hostPath"})
		},
		"--csi-drivers=topolvm.io=topology.topolvm.io/node,zfs.csi.openebs.io=openebs.io/nodeid --csi-drivers=zfs.csi.openebs.io=openebs.io/nodename": func(o *options) bool {
			return slices.Equal(o.config().Controllers.LocalVolume.CSIDrivers, []v1alpha1.CSIDriver{{Name: "topolvm.io", TopologyKey: "topology.topolvm.io/node"},
				{Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodeid"}, {Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodename"}})
		},
		"--volume-sources= --csi-drivers=topolvm.io=topology.topolvm.io/node --release-csi-volumes --driver-grace-period=90": func(o *options) bool {
			c := o.config().Controllers.LocalVolume
			return len(c.VolumeSources) == 0 && *c.ReleaseCSIVolumes && c.DriverGracePeriod.Duration == 90*time.Second
		},
		"--leader-elect=false --namespace=x": func(o *options) bool { return !o.leaderElect && o.namespace == "x" },
		"-v=4 --logtostderr=true":            func(*options) bool { return true },
	} {
		o, code, problems := read(t, strings.Fields(args)...)
		if code != 0 || !check(o) {
			t.Errorf("%s: exit code %d, %s%+v", args, code, problems, o)
		}
	}
	if o, code, _ := read(t, "--storageclass-names=a, b"); code != 0 || !slices.Equal(listOf(o.classes), []string{"a", "b"}) {
		t.Errorf("blanks: %+v", o)
	}
}

// TestBadFlags checks that invalid flags are named, with exit code 2.
func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"--unknown":                                        "unknown flag: --unknown",
		"extra":                                            `groundskeeper-local-volume-node-cleanup has no arguments, remove "extra"`,
		"--pvc-deletion-delay=soon":                        `"soon" is neither a duration, for instance 90s, nor a number of seconds`,
		"--resync=x":                                       "nor a number of minutes",
		"--resync=1e300":                                   "nor a number of minutes",
		"--resync=-1":                                      "--resync: -1m0s is negative",
		"--pvc-deletion-delay=-1s":                         "--pvc-deletion-delay: ",
		"--stale-pv-discovery-interval=0":                  "--stale-pv-discovery-interval: ",
		"--worker-threads=0":                               "--worker-threads: ",
		"--worker-threads=-1":                              "--worker-threads",
		"--max-missing-node-fraction=0":                    "--max-missing-node-fraction: ",
		"--max-missing-node-fraction=2":                    "--max-missing-node-fraction: ",
		"--max-missing-node-fraction=NaN":                  "--max-missing-node-fraction: ",
		"--storageclass-names=A_B":                         "--storageclass-names: ",
		"--node-topology-keys=":                            "--node-topology-keys: ",
		"--node-topology-keys=-x":                          "--node-topology-keys: ",
		"--node-topology-keys=topology.kubernetes.io/zone": "must be a label that names one node",
		"--node-topology-keys=a,topology.kubernetes.io/region": "must be a label that names one node",
		"--kube-api-qps=0":                                        "--kube-api-qps: ",
		"--kube-api-burst=0":                                      "--kube-api-burst: ",
		"--namespace=A_B":                                         "--namespace: ",
		"--listen-address=8080":                                   "--listen-address: ",
		"--listen-address=:http-and-so-on":                        "--listen-address: ",
		"--metrics-path=metrics":                                  "--metrics-path: ",
		"--metrics-path=/healthz":                                 "--metrics-path: ",
		"--volume-sources=nfs":                                    "--volume-sources: ",
		"--volume-sources=":                                       "--volume-sources: ",
		"--csi-drivers=topolvm.io":                                "--csi-drivers: \"topolvm.io\" is not NAME=TOPOLOGY-KEY",
		"--csi-drivers=a/b=c":                                     "--csi-drivers: ",
		"--csi-drivers=topolvm.io=-":                              "--csi-drivers: ",
		"--driver-grace-period=-1s":                               "--driver-grace-period: ",
		"--release-csi-volumes":                                   "--csi-drivers: ",
		"--csi-drivers=driver.longhorn.io=kubernetes.io/hostname": "Longhorn has replicas on other nodes",
		"--csi-drivers=io.openebs.csi-mayastor=kubernetes.io/hostname":    "Mayastor has replicas on other nodes",
		"--csi-drivers=rbd.csi.ceph.com=kubernetes.io/hostname":           "Ceph RBD stores them in the Ceph cluster",
		"--csi-drivers=rook-ceph.rbd.csi.ceph.com=kubernetes.io/hostname": "Ceph RBD stores them in the Ceph cluster",
		"--csi-drivers=topolvm.io=topology.kubernetes.io/zone":            "must be a label that names one node",
		"--resync=2562047h":                 "--resync: 2562047h0m0s is more than 400000h",
		"--pvc-deletion-delay=2562047h":     `--pvc-deletion-delay: Invalid value: "2562047h0m0s": must be at most 400000h`,
		"--worker-threads=4294967296":       "--worker-threads: Invalid value: 2147483647: must be at most 10000",
		"--kube-api-burst=-4294967295":      "--kube-api-burst: ",
		"--dry-run=perhaps":                 "--dry-run",
		"--worker-threads=0 --resync=-1":    "--resync: ",
		"--listen-address=host.name_x:8080": "--listen-address: ",
	} {
		o, code, problems := read(t, strings.Fields(args)...)
		if code != 2 || o != nil || !strings.Contains(problems, want) || !strings.Contains(problems, "--help") {
			t.Errorf("%s: exit code %d, %q", args, code, problems)
		}
		// Each wrong value is reported once.
		if got := strings.Count(problems, "--csi-drivers: ") + strings.Count(problems, "--node-topology-keys: "); got > 1 {
			t.Errorf("%s: %d errors, want 1: %q", args, got, problems)
		}
	}
}

func TestExitCodes(t *testing.T) {
	var out, problems bytes.Buffer
	if code := execute(t.Context(), nil, &out, &problems, func(context.Context, *options) error { return errors.New("broken") }); code != 1 || problems.String() != "error: broken\n" {
		t.Errorf("exit code %d, %q", code, problems.String())
	}
	for _, flag := range []string{"--help", "--version"} {
		out.Reset()
		if code := execute(t.Context(), []string{flag}, &out, &problems, run); code != 0 || out.Len() == 0 {
			t.Errorf("%s: exit code %d", flag, code)
		}
	}
}

func TestRestConfig(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	t.Setenv("KUBECONFIG", "/nowhere")
	file := filepath.Join(t.TempDir(), "kubeconfig")
	const content = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: u}}], users: [{name: u, user: {username: me, password: x}}], clusters: [{name: a, cluster: {server: "https://file:1"}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ kubeconfig, endpoint, host, user, fails string }{
		"a kubeconfig":    {file, "", "https://file:1", "me", ""},
		"an endpoint":     {"", "https://endpoint:2", "https://endpoint:2", "", ""},
		"both":            {file, "https://endpoint:2", "https://endpoint:2", "me", ""},
		"neither":         {"", "", "", "", "neither --kubeconfig nor --kube-api-endpoint is set"},
		"no such file":    {"/nowhere", "", "", "", "--kubeconfig"},
		"not an endpoint": {"", "http://[", "", "", ""},
	} {
		o := newOptions()
		o.kubeconfig, o.endpoint = test.kubeconfig, test.endpoint
		config, err := restConfig(o)
		if test.fails != "" {
			if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if name == "not an endpoint" {
			continue // the first request covers it
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if config.Host != test.host || config.Username != test.user || config.QPS != 500 || config.Burst != 1000 || !strings.HasPrefix(config.UserAgent, "groundskeeper-local-volume-node-cleanup/") {
			t.Errorf("%s: %+v", name, config)
		}
	}
}
