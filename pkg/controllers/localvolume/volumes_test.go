// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	testingclock "k8s.io/utils/clock/testing"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// withSource returns a volume of a source with these required terms.
func withSource(source corev1.PersistentVolumeSource, terms ...corev1.NodeSelectorTerm) *corev1.PersistentVolume {
	volume := withAffinity(terms...)
	volume.Name, volume.UID = "v", "uid-v"
	volume.Spec.StorageClassName = "local"
	volume.Spec.PersistentVolumeSource = source
	return volume
}

func csiSource(driver string) corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "handle"}}
}

func localSource() corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{}}
}

func hostPathSource() corev1.PersistentVolumeSource {
	return corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{}}
}

// allSources has the sources and CSI drivers of the tests, as a user would enable them.
func allSources() configv1alpha1.LocalVolumeConfiguration {
	config := settings([]string{hostname}, "local")
	config.VolumeSources = []configv1alpha1.VolumeSource{configv1alpha1.VolumeSourceLocal, configv1alpha1.VolumeSourceHostPath}
	config.CSIDrivers = []configv1alpha1.CSIDriver{
		{Name: "topolvm.io", TopologyKey: "topology.topolvm.io/node"},
		{Name: "local.csi.openebs.io", TopologyKey: "openebs.io/nodename"},
		{Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodeid"},
		{Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodename"},
		{Name: "localdisk.csi.acstor.io", TopologyKey: "topology.localdisk.csi.acstor.io/node"},
		{Name: "hostpath.csi.k8s.io", TopologyKey: "topology.hostpath.csi/node"},
	}
	return config
}

// TestRealDrivers checks the volumes that real drivers create, according to their documentation and code.
func TestRealDrivers(t *testing.T) {
	for name, test := range map[string]struct {
		// from names the documentation of the shape.
		from   string
		volume *corev1.PersistentVolume
		want   []string
	}{
		"local static provisioner": {"kubernetes.io/docs/concepts/storage/volumes/#local",
			withSource(localSource(), term(in(hostname, "n"))), []string{"n"}},
		"local-path-provisioner, hostPath": {"github.com/rancher/local-path-provisioner README.md: hostPath is the default; kubectl describe pv of a volume of kind: Term 0: kubernetes.io/hostname in [kind-control-plane]",
			withSource(hostPathSource(), term(in(hostname, "n"))), []string{"n"}},
		"local-path-provisioner, local": {"github.com/rancher/local-path-provisioner README.md, Volume Types: defaultVolumeType local",
			withSource(localSource(), term(in(hostname, "n"))), []string{"n"}},
		"local-path-provisioner, shared file system": {"github.com/rancher/local-path-provisioner README.md, sharedFileSystemPath: on all nodes at the same time",
			withSource(hostPathSource()), nil},
		"TopoLVM": {"github.com/topolvm/topolvm constants.go: PluginName topolvm.io, TopologyNodeKey topology.topolvm.io/node, which has the node's name",
			withSource(csiSource("topolvm.io"), term(in("topology.topolvm.io/node", "n"))), []string{"n"}},
		"OpenEBS LVM": {"github.com/openebs/lvm-localpv docs/storageclasses.md: openebs.io/nodename",
			withSource(csiSource("local.csi.openebs.io"), term(in("openebs.io/nodename", "n"))), []string{"n"}},
		"OpenEBS LVM with all its topology keys": {"github.com/openebs/lvm-localpv: the driver advertises kubernetes.io/hostname and openebs.io/nodename",
			withSource(csiSource("local.csi.openebs.io"), term(in(hostname, "host-n"), in("openebs.io/nodename", "n"))), []string{"host-n", "n"}},
		"OpenEBS ZFS": {"github.com/openebs/zfs-localpv docs/faq.md: openebs.io/nodename and openebs.io/nodeid are the default topology keys",
			withSource(csiSource("zfs.csi.openebs.io"), term(in("openebs.io/nodeid", "5a7f"))), []string{"5a7f"}},
		"OpenEBS ZFS, by name": {"github.com/openebs/zfs-localpv docs/backup-restore.md: nodeAffinity openebs.io/nodename In",
			withSource(csiSource("zfs.csi.openebs.io"), term(in("openebs.io/nodename", "n"))), []string{"n"}},
		"OpenEBS ZFS, old volumes": {"github.com/openebs/zfs-localpv/pull/94: old volumes have kubernetes.io/hostname",
			withSource(csiSource("zfs.csi.openebs.io"), term(in(hostname, "n"))), []string{"n"}},
		"OpenEBS ZFS, a custom key alone": {"github.com/openebs/zfs-localpv docs/faq.md, How to add custom topology key: openebs.io/rack names many nodes",
			withSource(csiSource("zfs.csi.openebs.io"), term(in("openebs.io/rack", "rack1"))), nil},
		"Azure local CSI driver": {"github.com/Azure/local-csi-driver docs/design/pv-recovery.md: topology.localdisk.csi.acstor.io/node In [nvme-node-0]",
			withSource(csiSource("localdisk.csi.acstor.io"), term(in("topology.localdisk.csi.acstor.io/node", "nvme-node-0"))), []string{"nvme-node-0"}},
		"Azure local CSI driver with its webhook": {"github.com/Azure/local-csi-driver docs/design/pv-cleanup.md: CreateVolume omits accessible topology",
			withSource(csiSource("localdisk.csi.acstor.io")), nil},
		"CSI host path driver": {"github.com/kubernetes-csi/csi-driver-host-path pkg/hostpath: TopologyKeyNode topology.hostpath.csi/node",
			withSource(csiSource("hostpath.csi.k8s.io"), term(in("topology.hostpath.csi/node", "n"))), []string{"n"}},
	} {
		t.Run(name, func(t *testing.T) {
			i := NewInventory(allSources(), testingclock.NewFakeClock(noon))
			i.MarkSynced()
			trimmed, err := trimVolume(test.volume) // as the cache has it
			if err != nil {
				t.Fatal(err)
			}
			i.SetVolume(trimmed.(*corev1.PersistentVolume))
			if diff := cmp.Diff(test.want, i.volumes["v"].nodes); diff != "" {
				t.Errorf("%s: nodes (-want +got):\n%s", test.from, diff)
			}
			if found := i.Untouched(); (len(found) == 0) != (test.want != nil) || len(found) > 0 && found[0].Reason != EventNotNodeBound {
				t.Errorf("untouched = %+v, want %v nodes", found, test.want)
			}
		})
	}
}

// TestOneNode checks that volumes of other sources are changed only if their terms name exactly one node.
func TestOneNode(t *testing.T) {
	const key = "topology.topolvm.io/node"
	for name, test := range map[string]struct {
		terms []corev1.NodeSelectorTerm
		want  bool
	}{
		"one node":                            {[]corev1.NodeSelectorTerm{term(in(key, "n"))}, true},
		"by metadata.name":                    {[]corev1.NodeSelectorTerm{field(in("metadata.name", "n"))}, true},
		"a zone beside it":                    {[]corev1.NodeSelectorTerm{term(in(key, "n"), in("topology.kubernetes.io/zone", "z"))}, true},
		"the same in two terms":               {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in(key, "n"))}, true},
		"the same by two keys":                {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in(hostname, "n"))}, true},
		"the same value twice":                {[]corev1.NodeSelectorTerm{term(in(key, "n", "n"))}, true},
		"one of two after all":                {[]corev1.NodeSelectorTerm{term(in(key, "n", "m"), in(key, "n"))}, true},
		"two nodes in a term":                 {[]corev1.NodeSelectorTerm{term(in(key, "n", "m"))}, false},
		"two terms with a node each":          {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in(key, "m"))}, false},
		"two terms by two keys":               {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in(hostname, "m"))}, false},
		"a second term that narrows further":  {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in(key, "n"), in(hostname, "m"))}, false},
		"a second term that names none":       {[]corev1.NodeSelectorTerm{term(in(key, "n")), term(in("topology.kubernetes.io/zone", "z"))}, false},
		"the key of another driver":           {[]corev1.NodeSelectorTerm{term(in("openebs.io/nodename", "n"))}, false},
		"an empty term":                       {[]corev1.NodeSelectorTerm{term()}, false},
		"no term":                             {nil, false},
		"NotIn":                               {[]corev1.NodeSelectorTerm{term(requirement(key, corev1.NodeSelectorOpNotIn, "n"))}, false},
		"two nodes by hostname, one by field": {[]corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in(hostname, "n", "m")}, MatchFields: []corev1.NodeSelectorRequirement{in("metadata.name", "n")}}}, false},
	} {
		for kind, of := range map[string]corev1.PersistentVolumeSource{"CSI": csiSource("topolvm.io"), "hostPath": hostPathSource()} {
			config := allSources()
			if kind == "hostPath" {
				config.NodeTopologyKeys = append(config.NodeTopologyKeys, key)
			}
			t.Run(kind+", "+name, func(t *testing.T) {
				pins, reason, why := volumeSourcesOf(&config).pins(withSource(of, test.terms...))
				wantReason := map[bool]string{false: EventNotNodeBound}[test.want]
				if (len(pins) > 0) != test.want || reason != wantReason || (why == "") != test.want {
					t.Errorf("pins = %v, %q, %q, want reason %q", pins, reason, why, wantReason)
				}
			})
		}
	}
}

// By default volumes of other sources are reported with what enables them.
func TestUnsupported(t *testing.T) {
	for name, test := range map[string]struct {
		source corev1.PersistentVolumeSource
		want   string
	}{
		"local":    {localSource(), ""},
		"hostPath": {hostPathSource(), "source hostPath are not enabled; add it to --volume-sources"},
		"CSI":      {csiSource("topolvm.io"), "CSI driver topolvm.io is not enabled; add it with its topology key to --csi-drivers"},
		"NFS":      {corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}, "source nfs are not bound to a node"},
	} {
		i := NewInventory(settings([]string{hostname}, "local"), testingclock.NewFakeClock(noon))
		i.MarkSynced()
		trimmed, err := trimVolume(withSource(test.source, term(in(hostname, "n"))))
		if err != nil {
			t.Fatal(err)
		}
		if !i.SetVolume(trimmed.(*corev1.PersistentVolume)) {
			t.Errorf("%s: it is not worth a reconciliation", name)
		}
		found := i.Untouched()
		if (len(found) == 1) != (test.want != "") || len(found) == 1 && (!strings.Contains(found[0].Why, test.want) || found[0].Reason != EventUnsupported) {
			t.Errorf("%s: unsupported = %+v", name, found)
		}
		if i.IsStale("v") != (test.want == "") {
			t.Errorf("%s: stale = %v", name, i.IsStale("v"))
		}
	}
}

// TestDriverFinalizers checks that only finalizers that the driver should have removed are removed.
func TestDriverFinalizers(t *testing.T) {
	volume := withSource(csiSource("topolvm.io"))
	volume.Finalizers = []string{"kubernetes.io/pv-protection", provisionerFinalizer, "topolvm.io/pv", "node.topolvm.io/f", "external-attacher/topolvm-io", "example.com/f", "nottopolvm.io/f", "foregroundDeletion"}
	if diff := cmp.Diff([]string{provisionerFinalizer, "topolvm.io/pv", "node.topolvm.io/f"}, driverFinalizers(volume)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPhaseSince checks that the time of a phase starts with the phase, and again for another volume with the same name.
func TestPhaseSince(t *testing.T) {
	i, clock := newTestInventory(t)
	set := func(uid string, phase corev1.PersistentVolumePhase) {
		v := on("v", "a")
		v.UID, v.Status.Phase = types.UID(uid), phase
		i.SetVolume(v)
	}
	for step, phase := range []struct {
		uid       string
		phase     corev1.PersistentVolumePhase
		restarted bool
	}{{"1", corev1.VolumeBound, true}, {"1", corev1.VolumeBound, false}, {"1", corev1.VolumeReleased, true}, {"1", corev1.VolumeReleased, false}, {"2", corev1.VolumeReleased, true}} {
		clock.Step(1)
		set(phase.uid, phase.phase)
		if got := i.Stale()[0].PhaseSince.Equal(clock.Now()); got != phase.restarted {
			t.Errorf("step %d: starts over = %v", step, got)
		}
	}
}
