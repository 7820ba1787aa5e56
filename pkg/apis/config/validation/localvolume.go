// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

func validateLocalVolume(config *v1alpha1.LocalVolumeConfiguration, path *field.Path) field.ErrorList {
	errs := each(config.StorageClassNames, path.Child("storageClassNames"), by(validation.IsDNS1123Subdomain))
	errs = append(errs, each(config.NodeTopologyKeys, path.Child("nodeTopologyKeys"), by(content.IsLabelKey))...)
	if len(config.NodeTopologyKeys) == 0 {
		errs = append(errs, field.Required(path.Child("nodeTopologyKeys"), "without one no volume names its node"))
	}
	for i, key := range config.NodeTopologyKeys {
		if slices.Contains(sharedTopologyKeys, key) {
			errs = append(errs, field.Invalid(path.Child("nodeTopologyKeys").Index(i), key, "must be a label that names one node"))
		}
	}
	errs = append(errs, atLeast(0, config.PVCDeletionDelay, path.Child("pvcDeletionDelay"))...)
	for name, delay := range map[string]time.Duration{"unknownNodeDeletionDelay": config.UnknownNodeDeletionDelay.Duration,
		"unreachableNodeDelay": config.UnreachableNodeDelay.Duration} {
		if delay < 0 {
			errs = append(errs, field.Invalid(path.Child(name), delay.String(), "must be greater than or equal to 0s (0: never)"))
		}
	}
	if interval := config.StalePVDiscoveryInterval.Duration; interval <= 0 {
		errs = append(errs, field.Invalid(path.Child("stalePVDiscoveryInterval"), interval.String(), "must be greater than 0s"))
	}
	if fraction := *config.MaxMissingNodeFraction; !(fraction > 0 && fraction <= 1) {
		errs = append(errs, field.Invalid(path.Child("maxMissingNodeFraction"), fraction, "must be greater than 0 and at most 1 (1: never stop)"))
	}
	errs = append(errs, validateWorkers(*config.WorkerThreads, path.Child("workerThreads"))...)
	return append(errs, validateVolumeSources(config, path)...)
}

func validateVolumeSources(config *v1alpha1.LocalVolumeConfiguration, path *field.Path) field.ErrorList {
	errs := each(config.VolumeSources, path.Child("volumeSources"), among(v1alpha1.VolumeSourceLocal, v1alpha1.VolumeSourceHostPath))
	if len(config.VolumeSources)+len(config.CSIDrivers) == 0 {
		errs = append(errs, field.Required(path.Child("volumeSources"),
			"without a source or a CSI driver no volume is cleaned up; the default is local"))
	}
	for i, driver := range config.CSIDrivers {
		at := path.Child("csiDrivers").Index(i)
		errs = append(errs, by(validation.IsDNS1123Subdomain)(driver.Name, at.Child("name"))...)
		errs = append(errs, by(content.IsLabelKey)(driver.TopologyKey, at.Child("topologyKey"))...)
		if reason := rejectedDriver(driver.Name); reason != "" {
			errs = append(errs, field.Forbidden(at.Child("name"), fmt.Sprintf("volumes of %s are not lost with a node: %s", driver.Name, reason)))
		}
		if slices.Contains(sharedTopologyKeys, driver.TopologyKey) {
			errs = append(errs, field.Invalid(at.Child("topologyKey"), driver.TopologyKey, "must be a label that names one node"))
		}
		if slices.Contains(config.CSIDrivers[:i], driver) {
			errs = append(errs, field.Duplicate(at, driver.Name+"="+driver.TopologyKey))
		}
	}
	errs = append(errs, atLeast(0, config.DriverGracePeriod, path.Child("driverGracePeriod"))...)
	if *config.ReleaseCSIVolumes && len(config.CSIDrivers) == 0 {
		errs = append(errs, field.Required(path.Child("csiDrivers"), "releaseCSIVolumes needs the CSI drivers whose volumes are released"))
	}
	return errs
}

// sharedTopologyKeys are labels that many nodes have with the same value.
var sharedTopologyKeys = []string{
	"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
	"failure-domain.beta.kubernetes.io/region",
	"kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type",
}

// rejectedDrivers are CSI drivers that have replicas of a volume on other nodes, or can move its data, or whose data is not
// on a node at all. Some installations put a prefix before the name.
var rejectedDrivers = []struct{ name, reason string }{
	{"driver.longhorn.io", "Longhorn has replicas on other nodes, and rebuilds them"},
	{"io.openebs.csi-mayastor", "OpenEBS Mayastor has replicas on other nodes, and reaches them over the network"},
	{"rbd.csi.ceph.com", "Ceph RBD stores them in the Ceph cluster"},
	{"cephfs.csi.ceph.com", "CephFS stores them in the Ceph cluster"},
	{"nfs.csi.ceph.com", "Ceph stores them in the Ceph cluster"},
	{"linstor.csi.linbit.com", "LINSTOR has replicas on other nodes, and reaches them over the network"},
	{"cstor.csi.openebs.io", "OpenEBS cStor has replicas on other nodes"},
	{"jiva.csi.openebs.io", "OpenEBS Jiva has replicas on other nodes"},
	{"pxd.portworx.com", "Portworx has replicas on other nodes"},
	{"ebs.csi.aws.com", "a disk of the cloud can be attached to another node"},
	{"pd.csi.storage.gke.io", "a disk of the cloud can be attached to another node"},
	{"disk.csi.azure.com", "a disk of the cloud can be attached to another node"},
	{"cinder.csi.openstack.org", "a volume of Cinder can be attached to another node"},
}

// rejectedDriver returns why the volumes of a driver must not be cleaned up; empty when they may.
func rejectedDriver(name string) string {
	for _, rejected := range rejectedDrivers {
		if name == rejected.name || strings.HasSuffix(name, "."+rejected.name) {
			return rejected.reason
		}
	}
	return ""
}
