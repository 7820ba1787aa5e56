// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

const (
	retain = kubernikusv1.DeletionPolicyRetain
	remove = kubernikusv1.DeletionPolicyDelete
)

func lasting(duration time.Duration) *metav1.Duration { return &metav1.Duration{Duration: duration} }

func TestAddOns(t *testing.T) {
	testCreate(t, []specCase{
		{"backup off", func(s *kubernikusv1.KlusterSpec) { s.Backup = kubernikusv1.BackupOff }, nil},
		{"backup at AWS", func(s *kubernikusv1.KlusterSpec) { s.Backup = kubernikusv1.BackupExternalAWS }, nil},
		{"backup elsewhere", func(s *kubernikusv1.KlusterSpec) { s.Backup = "true" },
			[]string{`spec.backup: Unsupported value: "true": supported values: "externalAWS", "off", "on"`}},
		{"audit to Elasticsearch", func(s *kubernikusv1.KlusterSpec) { s.Audit = kubernikusv1.AuditElasticsearch }, nil},
		{"audit to Swift", func(s *kubernikusv1.KlusterSpec) { s.Audit = kubernikusv1.AuditSwift }, nil},
		{"audit by HTTP", func(s *kubernikusv1.KlusterSpec) { s.Audit = kubernikusv1.AuditHTTP }, nil},
		{"audit to stdout", func(s *kubernikusv1.KlusterSpec) { s.Audit = kubernikusv1.AuditStdout }, nil},
		{"audit elsewhere", func(s *kubernikusv1.KlusterSpec) { s.Audit = "kafka" }, []string{`spec.audit: Unsupported value: "kafka"`}},
		{"longest key", func(s *kubernikusv1.KlusterSpec) { s.SSHPublicKey = strings.Repeat("a", 10000) }, nil},
		{"longest key, in characters", func(s *kubernikusv1.KlusterSpec) { s.SSHPublicKey = strings.Repeat("ä", 10000) }, nil},
		{"key too long", func(s *kubernikusv1.KlusterSpec) { s.SSHPublicKey = strings.Repeat("a", 10001) }, []string{"spec.sshPublicKey: Too long"}},
		{"own secret", func(s *kubernikusv1.KlusterSpec) { s.SecretRef.Name = "my.secret" }, nil},
		{"two secrets of Cluster API", func(s *kubernikusv1.KlusterSpec) {
			s.SecretRef.Kubeconfig, s.SecretRef.Cloud = &kubernikusv1.KubeconfigReference{Name: "web-kubeconfig"}, &kubernikusv1.CloudReference{Name: "web-cloud-config", CloudName: "openstack"}
		}, nil},
		{"references without names", func(s *kubernikusv1.KlusterSpec) {
			s.SecretRef.Kubeconfig, s.SecretRef.Cloud = &kubernikusv1.KubeconfigReference{}, &kubernikusv1.CloudReference{}
		}, []string{"spec.secretRef.kubeconfig.name: Required value", "spec.secretRef.cloud.name: Required value"}},
		{"references that cannot be", func(s *kubernikusv1.KlusterSpec) {
			s.SecretRef.Kubeconfig, s.SecretRef.Cloud = &kubernikusv1.KubeconfigReference{Name: "web", Key: "a/b"}, &kubernikusv1.CloudReference{Name: "ns/web"}
		}, []string{"spec.secretRef.kubeconfig.key: Invalid value", "spec.secretRef.cloud.name: Invalid value"}},
		{"a secret that cannot be", func(s *kubernikusv1.KlusterSpec) { s.SecretRef.Name = "ns/secret" }, []string{"spec.secretRef.name: Invalid value"}},
	})
}

func TestCloudProvider(t *testing.T) {
	const clusterName, csiClusterID = "spec.cloudProvider.clusterName: Invalid value", "spec.cloudProvider.csiClusterID: Invalid value"
	names := func(clusterName, csiClusterID string, deorbit kubernikusv1.DeorbitSpec) func(*kubernikusv1.KlusterSpec) {
		return func(s *kubernikusv1.KlusterSpec) {
			s.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &clusterName, CSIClusterID: &csiClusterID}
			s.Deorbit = deorbit
		}
	}
	testCreate(t, []specCase{
		{"own names", names("occm", "csi", kubernikusv1.DeorbitSpec{}), nil},
		{"shared names", names("kubernetes", "kubernetes", kubernikusv1.DeorbitSpec{}), nil},
		{"empty names", names("", "", kubernikusv1.DeorbitSpec{}), []string{clusterName + `: ""`, csiClusterID + `: ""`}},
		{"named kubernetes", func(s *kubernikusv1.KlusterSpec) { s.Name = "kubernetes" }, nil},
		{"empty, nothing is deleted by them", names("", "", kubernikusv1.DeorbitSpec{
			LoadBalancers: retain, FloatingIPs: retain, PersistentVolumes: retain, Snapshots: retain}), nil},
		{"empty, load balancers go", names("", "csi", kubernikusv1.DeorbitSpec{LoadBalancers: remove, FloatingIPs: retain}), []string{clusterName}},
		{"empty, floating IPs go", names("", "csi", kubernikusv1.DeorbitSpec{LoadBalancers: retain, FloatingIPs: remove}), []string{clusterName}},
		{"empty, volumes go", names("occm", "", kubernikusv1.DeorbitSpec{PersistentVolumes: remove, Snapshots: retain}), []string{csiClusterID}},
		{"empty, snapshots go", names("occm", "", kubernikusv1.DeorbitSpec{PersistentVolumes: retain, Snapshots: remove}), []string{csiClusterID}},
		{"empty, no cloud", func(s *kubernikusv1.KlusterSpec) {
			names("", "", kubernikusv1.DeorbitSpec{})(s)
			s.NoCloud = true
		}, nil},
	})
	t.Run("policies are changed to Delete later", func(t *testing.T) {
		kept := kubernikusv1.DeorbitSpec{LoadBalancers: retain, FloatingIPs: retain, PersistentVolumes: retain, Snapshots: retain}
		old := kluster(with(names("", "", kept)))
		expect(t, newRules(t).update(kluster(with(names("", "", kubernikusv1.DeorbitSpec{}))), old), clusterName, csiClusterID)
	})
}

func TestDeorbit(t *testing.T) {
	deorbit := func(deorbit kubernikusv1.DeorbitSpec) func(*kubernikusv1.KlusterSpec) {
		return func(s *kubernikusv1.KlusterSpec) { s.Deorbit = deorbit }
	}
	testCreate(t, []specCase{
		{"keep all", deorbit(kubernikusv1.DeorbitSpec{PersistentVolumes: retain, LoadBalancers: retain, FloatingIPs: retain, Snapshots: retain, UnseenVolumes: retain}), nil},
		{"delete all", deorbit(kubernikusv1.DeorbitSpec{PersistentVolumes: remove, LoadBalancers: remove, FloatingIPs: remove, Snapshots: remove, UnseenVolumes: remove}), nil},
		{"unknown policies", deorbit(kubernikusv1.DeorbitSpec{PersistentVolumes: "retain", LoadBalancers: "Keep", FloatingIPs: "no", Snapshots: "x", UnseenVolumes: "y"}), []string{
			`spec.deorbit.persistentVolumes: Unsupported value: "retain": supported values: "Delete", "Retain"`,
			"spec.deorbit.loadBalancers: Unsupported value", "spec.deorbit.floatingIPs: Unsupported value",
			"spec.deorbit.snapshots: Unsupported value", "spec.deorbit.unseenVolumes: Unsupported value"}},
		{"own times", deorbit(kubernikusv1.DeorbitSpec{Timeout: lasting(1), StageTimeout: lasting(1), APIUnavailableTimeout: lasting(1), ServiceGracePeriod: lasting(0)}), nil},
		{"no time", deorbit(kubernikusv1.DeorbitSpec{Timeout: lasting(0), StageTimeout: lasting(0), APIUnavailableTimeout: lasting(0)}), []string{
			`spec.deorbit.timeout: Invalid value: "0s": must be more than 0`,
			"spec.deorbit.stageTimeout: Invalid value", "spec.deorbit.apiUnavailableTimeout: Invalid value"}},
		{"time back", deorbit(kubernikusv1.DeorbitSpec{Timeout: lasting(-1), ServiceGracePeriod: lasting(-time.Minute)}), []string{
			"spec.deorbit.timeout: Invalid value", `spec.deorbit.serviceGracePeriod: Invalid value: "-1m0s": must be at least 0s`}},
	})
}

func TestRouteGC(t *testing.T) {
	interval := func(interval *metav1.Duration) func(*kubernikusv1.KlusterSpec) {
		return func(s *kubernikusv1.KlusterSpec) {
			s.RouteGC = &kubernikusv1.RouteGCSpec{Enabled: new(false), Interval: interval, DryRun: new(true)}
		}
	}
	testCreate(t, []specCase{
		{"no interval", interval(nil), nil},
		{"shortest interval", interval(lasting(time.Second)), nil},
		{"shorter", interval(lasting(time.Second - 1)), []string{`spec.routeGC.interval: Invalid value: "999.999999ms": must be at least 1s`}},
		{"negative", interval(lasting(-time.Hour)), []string{"spec.routeGC.interval: Invalid value"}},
	})
}

func TestDiscovery(t *testing.T) {
	discovery := func(namespace string, policy kubernikusv1.DrainPolicy) func(*kubernikusv1.KlusterSpec) {
		return func(s *kubernikusv1.KlusterSpec) {
			s.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true, Namespace: namespace, DrainPolicy: policy}
		}
	}
	testCreate(t, []specCase{
		{"defaults", discovery("", ""), nil},
		{"own", discovery("my-discovery", kubernikusv1.DrainKeepSole), nil},
		{"a namespace that cannot be", discovery("my.discovery", ""), []string{"spec.discovery.namespace: Invalid value"}},
		{"an unknown policy", discovery("", "strict"), []string{`spec.discovery.drainPolicy: Unsupported value: "strict"`}},
	})
}

func TestLocalVolumeCleanup(t *testing.T) {
	cleanup := func(cleanup kubernikusv1.LocalVolumeCleanupSpec) func(*kubernikusv1.KlusterSpec) {
		return func(s *kubernikusv1.KlusterSpec) { s.LocalVolumeCleanup = &cleanup }
	}
	fraction := func(fraction float64) func(*kubernikusv1.KlusterSpec) {
		return cleanup(kubernikusv1.LocalVolumeCleanupSpec{MaxMissingNodeFraction: &fraction})
	}
	const path = "spec.localVolumeCleanup."
	testCreate(t, []specCase{
		{"nothing set", cleanup(kubernikusv1.LocalVolumeCleanupSpec{}), nil},
		{"all set", cleanup(kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{"local", "fast.local"},
			PVCDeletionDelay: lasting(0), MaxMissingNodeFraction: new(0.55)}), nil},
		{"a class twice", cleanup(kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{"a", "b", "a"}}), []string{path + "storageClassNames[2]: Duplicate value"}},
		{"a class that cannot be", cleanup(kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{"Local"}}), []string{path + "storageClassNames[0]: Invalid value"}},
		{"an empty class", cleanup(kubernikusv1.LocalVolumeCleanupSpec{StorageClassNames: []string{""}}), []string{path + "storageClassNames[0]: Invalid value"}},
		{"negative delay", cleanup(kubernikusv1.LocalVolumeCleanupSpec{PVCDeletionDelay: lasting(-1)}), []string{path + "pvcDeletionDelay: Invalid value"}},
		{"the whole", fraction(1), nil},
		{"nothing", fraction(0), []string{path + "maxMissingNodeFraction: Invalid value"}},
		{"less than nothing", fraction(-0.1), []string{path + "maxMissingNodeFraction: Invalid value"}},
		{"more than the whole", fraction(1.01), []string{path + "maxMissingNodeFraction: Invalid value"}},
		{"no number", fraction(math.NaN()), []string{path + "maxMissingNodeFraction: Invalid value"}},
	})
}
