// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestDrivers checks that volumes count as those of the cluster if their driver is OpenStack's or listed, and that all others keep their
// driver and handle.
func TestDrivers(t *testing.T) {
	csi := func(driver string) corev1.PersistentVolumeSource {
		return corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: "v"}}
	}
	nfs := corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "s"}}
	for name, c := range map[string]struct {
		source      corev1.PersistentVolumeSource
		provisioner string
		drivers     []string
		id, driver  string
		handle      string
	}{
		"listed":                      {source: csi("ebs.csi.aws.com"), drivers: []string{"ebs.csi.aws.com"}, id: "v"},
		"not listed":                  {source: csi("ebs.csi.aws.com"), drivers: []string{"csi.vsphere.vmware.com"}, driver: "ebs.csi.aws.com", handle: "v"},
		"none listed":                 {source: csi("ebs.csi.aws.com"), driver: "ebs.csi.aws.com", handle: "v"},
		"Cinder":                      {source: csi(DriverCinder), id: "v"},
		"a share of another handle":   {source: csi("nfs.manila.csi.openstack.org"), drivers: []string{"nfs.manila.csi.openstack.org"}, driver: "nfs.manila.csi.openstack.org", handle: "v"},
		"AWS, in-tree, listed":        {source: corev1.PersistentVolumeSource{AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "a"}}, drivers: []string{"kubernetes.io/aws-ebs"}, id: "a"},
		"GCE, in-tree":                {source: corev1.PersistentVolumeSource{GCEPersistentDisk: &corev1.GCEPersistentDiskVolumeSource{PDName: "g"}}, driver: "kubernetes.io/gce-pd", handle: "g"},
		"Azure, in-tree":              {source: corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{DataDiskURI: "d"}}, driver: "kubernetes.io/azure-disk", handle: "d"},
		"Azure, a share, in-tree":     {source: corev1.PersistentVolumeSource{AzureFile: &corev1.AzureFilePersistentVolumeSource{ShareName: "f"}}, driver: "kubernetes.io/azure-file", handle: "f"},
		"vSphere, in-tree":            {source: corev1.PersistentVolumeSource{VsphereVolume: &corev1.VsphereVirtualDiskVolumeSource{VolumePath: "p"}}, driver: "kubernetes.io/vsphere-volume", handle: "p"},
		"NFS with a provisioner":      {source: nfs, provisioner: "cluster.local/nfs", driver: "cluster.local/nfs", handle: "pv"},
		"NFS, by hand":                {source: nfs, handle: "pv"},
		"on a node, provisioned":      {source: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/"}}, provisioner: "rancher.io/local-path"},
		"NFS, its provisioner listed": {source: nfs, provisioner: "cluster.local/nfs", drivers: []string{"cluster.local/nfs"}, id: "pv"},
	} {
		t.Run(name, func(t *testing.T) {
			pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv"}, Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: c.source}}
			if c.provisioner != "" {
				pv.Annotations = map[string]string{"pv.kubernetes.io/provisioned-by": c.provisioner}
			}
			w := World{Drivers: c.drivers}
			w.SetVolumes([]Volume{VolumeOf(pv)})
			got := w.Volumes[0]
			if diff := cmp.Diff([]string{c.id, c.driver, c.handle}, []string{got.ID, got.Driver, got.Handle}); diff != "" {
				t.Error(diff)
			}
			if !w.Listed.Volumes || w.HasOwn() != (c.id != "") {
				t.Errorf("listed = %t, has own = %t", w.Listed.Volumes, w.HasOwn())
			}
		})
	}
}

// TestListedDrivers checks that claims without a volume and snapshots count by the same list.
func TestListedDrivers(t *testing.T) {
	w := World{
		Drivers:   []string{"ebs.csi.aws.com"},
		Claims:    []Claim{{Meta: Meta{Name: "a"}, Provisioner: "ebs.csi.aws.com"}, {Meta: Meta{Name: "b"}, Provisioner: "other"}},
		Contents:  []Content{{Meta: Meta{Name: "a"}, Driver: "ebs.csi.aws.com"}, {Meta: Meta{Name: "b"}, Driver: "other"}},
		Snapshots: []Snapshot{{Meta: Meta{Name: "a"}, Content: "a"}, {Meta: Meta{Name: "b"}, Content: "b"}},
	}
	claims, contents, snapshots := w.OwnClaims(), w.OwnContents(), w.OwnSnapshots()
	if len(claims) != 1 || claims[0].Name != "a" || len(contents) != 1 || contents[0].Name != "a" || len(snapshots) != 1 || snapshots[0].Name != "a" {
		t.Errorf("claims = %+v, contents = %+v, snapshots = %+v; want a of each", claims, contents, snapshots)
	}
}

// TestLoadBalancerClasses checks that Services of a listed class count as those without one.
func TestLoadBalancerClasses(t *testing.T) {
	w := World{LoadBalancerClasses: []string{"service.k8s.aws/nlb"}}
	w.SetServices([]Service{{Class: "service.k8s.aws/nlb"}, {Class: "other"}, {}}, []Service{{Ingress: true}})
	var classes []string
	for _, s := range w.Services {
		classes = append(classes, s.Class)
	}
	if diff := cmp.Diff([]string{"", "other", "", ""}, classes); diff != "" || !w.Listed.Services {
		t.Errorf("listed = %t, classes:\n%s", w.Listed.Services, diff)
	}
}
