// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// Volume is a PersistentVolume.
type Volume struct {
	Meta
	// ID is the volume in Cinder, the share in Manila, or the volume of another driver whose volumes are deleted. It is empty for all others,
	// and for a share that its driver did not make itself.
	ID string
	// Share reports that it is a share.
	Share bool
	// Driver is another CSI driver or provisioner that provides it, and Handle what that calls it.
	Driver, Handle string
	// Delete reports that the reclaim policy deletes the volume.
	Delete bool
	// ServerID is the server of the node that the only VolumeAttachment names; "": not known.
	ServerID string
	Phase    corev1.PersistentVolumePhase
	Claim    Reference
}

// VolumeOf returns what is kept of a PersistentVolume.
func VolumeOf(pv *corev1.PersistentVolume) Volume {
	v := Volume{Meta: MetaOf(pv), Phase: pv.Status.Phase, Delete: pv.Spec.PersistentVolumeReclaimPolicy == corev1.PersistentVolumeReclaimDelete}
	switch {
	case pv.Spec.Cinder != nil:
		v.ID = pv.Spec.Cinder.VolumeID
	case pv.Spec.CSI != nil && pv.Spec.CSI.Driver == DriverCinder:
		v.ID = pv.Spec.CSI.VolumeHandle
	case pv.Spec.CSI != nil && IsManila(pv.Spec.CSI.Driver) && pv.Spec.CSI.VolumeAttributes["shareID"] == pv.Spec.CSI.VolumeHandle:
		// Where a user wrote the PersistentVolume, the handle may be any name.
		v.ID, v.Share = pv.Spec.CSI.VolumeHandle, true
	case pv.Spec.CSI != nil:
		v.Driver, v.Handle = pv.Spec.CSI.Driver, pv.Spec.CSI.VolumeHandle
	default:
		v.Driver, v.Handle = withoutCSI(pv)
	}
	if ref := pv.Spec.ClaimRef; ref != nil {
		v.Claim = Reference{types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}, ref.UID}
	}
	return v
}

// withoutCSI returns who provisioned a volume that names no CSI driver, "" for one that a user made or that a node has, and its handle.
// The names are those of the classes.
// Source: https://kubernetes.io/docs/concepts/storage/storage-classes/#provisioner
func withoutCSI(pv *corev1.PersistentVolume) (provisioner, handle string) {
	switch s := &pv.Spec; {
	case s.AWSElasticBlockStore != nil:
		return "kubernetes.io/aws-ebs", s.AWSElasticBlockStore.VolumeID
	case s.GCEPersistentDisk != nil:
		return "kubernetes.io/gce-pd", s.GCEPersistentDisk.PDName
	case s.AzureDisk != nil:
		return "kubernetes.io/azure-disk", s.AzureDisk.DataDiskURI
	case s.AzureFile != nil:
		return "kubernetes.io/azure-file", s.AzureFile.ShareName
	case s.VsphereVolume != nil:
		return "kubernetes.io/vsphere-volume", s.VsphereVolume.VolumePath
	case s.Local != nil, s.HostPath != nil:
		return "", ""
	default:
		return pv.Annotations["pv.kubernetes.io/provisioned-by"], pv.Name
	}
}

// Claimed reports whether a claim had the volume. One that an administrator reserves for a claim has no uid of it.
func (v Volume) Claimed() bool { return v.Claim.UID != "" }

// Policy returns what becomes of the volume in Cinder once its claim has been deleted: Delete or Retain. One that no claim ever had
// is not Kubernetes' to delete, and "" is that no policy retains it either.
func (v Volume) Policy() string {
	switch {
	case !v.Delete:
		return string(corev1.PersistentVolumeReclaimRetain)
	case !v.Claimed():
		return ""
	default:
		return string(corev1.PersistentVolumeReclaimDelete)
	}
}

// Claim is a PersistentVolumeClaim.
type Claim struct {
	Meta
	// Volume is the name of the PersistentVolume that it has or requests.
	Volume string
	// Class is nil when the default one is meant, and empty when none is.
	Class *string
	// Provisioner is who was requested to create a volume already.
	Provisioner string
	// Owner is the uid of its controller.
	Owner types.UID
}

// ClaimOf returns what is kept of a PersistentVolumeClaim.
func ClaimOf(pvc *corev1.PersistentVolumeClaim) Claim {
	c := Claim{Meta: MetaOf(pvc), Volume: pvc.Spec.VolumeName, Class: pvc.Spec.StorageClassName}
	if class, ok := pvc.Annotations[corev1.BetaStorageClassAnnotation]; ok {
		c.Class = &class // it wins over the field, as in Kubernetes
	}
	c.Provisioner = cmp.Or(pvc.Annotations["volume.kubernetes.io/storage-provisioner"],
		pvc.Annotations["volume.beta.kubernetes.io/storage-provisioner"])
	c.Owner = ptr.Deref(metav1.GetControllerOf(pvc), metav1.OwnerReference{}).UID
	return c
}

// Class is a StorageClass.
type Class struct {
	Name, Provisioner string
	Created           time.Time
	Default           bool
}

// ClassOf returns what is kept of a StorageClass.
func ClassOf(class *storagev1.StorageClass) Class {
	isDefault := class.Annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
		class.Annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
	return Class{Name: class.Name, Provisioner: class.Provisioner, Created: class.CreationTimestamp.Time, Default: isDefault}
}

// OwnClaim is a claim that is deleted, with the id of its volume or share, "" as long as it has none.
type OwnClaim struct {
	Claim
	ID string
}

// OwnClaims returns the claims whose volumes drivers provide, or will provide, whose volumes are deleted. The reference of a volume to its
// claim takes precedence, because Kubernetes writes it first.
func (w *World) OwnClaims() []OwnClaim {
	byName, byClaim := map[string]*Volume{}, map[types.UID]*Volume{}
	for i := range w.Volumes {
		v := &w.Volumes[i]
		byName[v.Name] = v
		if v.Claimed() {
			byClaim[v.Claim.UID] = v
		}
	}
	provisioners, usual := map[string]string{}, w.defaultClass()
	for _, class := range w.Classes {
		provisioners[class.Name] = class.Provisioner
	}
	var claims []OwnClaim
	for _, claim := range w.Claims {
		switch volume := cmp.Or(byName[claim.Volume], byClaim[claim.UID]); {
		case volume != nil && volume.ID != "":
			claims = append(claims, OwnClaim{claim, volume.ID})
		case volume == nil && w.Deletes(claim.provisioner(provisioners, usual)):
			claims = append(claims, OwnClaim{claim, ""})
		}
	}
	return claims
}

// provisioner is who provides the volume of a claim that has none yet. The class reports it; who was called counts only when the
// class has been deleted.
func (c Claim) provisioner(provisioners map[string]string, usual string) string {
	if provisioner, ok := provisioners[ptr.Deref(c.Class, usual)]; ok {
		return provisioner
	}
	return c.Provisioner
}

// Deletes reports whether the volumes of a driver or provisioner are deleted with their claims, and its snapshots.
func (w *World) Deletes(driver string) bool {
	return IsOpenStack(driver) || driver == ProvisionerInTree || slices.Contains(w.Drivers, driver)
}

// SetVolumes sets the volumes of a complete list.
func (w *World) SetVolumes(listed []Volume) {
	for i := range listed {
		if v := &listed[i]; v.Driver != "" && w.Deletes(v.Driver) && !IsOpenStack(v.Driver) {
			v.ID, v.Driver, v.Handle = v.Handle, "", ""
		}
	}
	w.Volumes, w.Listed.Volumes = listed, true
}

// defaultClass returns the class of claims that name none: of several, Kubernetes takes the newest.
func (w *World) defaultClass() string {
	var defaults []Class
	for _, class := range w.Classes {
		if class.Default {
			defaults = append(defaults, class)
		}
	}
	if len(defaults) == 0 {
		return ""
	}
	return slices.MinFunc(defaults, func(a, b Class) int {
		return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.Name, b.Name))
	}).Name
}

// HasOwn reports whether there is a volume or a claim that is deleted.
func (w *World) HasOwn() bool {
	return slices.ContainsFunc(w.Volumes, func(v Volume) bool { return v.ID != "" }) || len(w.OwnClaims()) > 0
}

// Attachment is a VolumeAttachment of Cinder.
type Attachment struct {
	// Volume is the name of the PersistentVolume, and Node that of the node that it is attached to.
	Volume, Node string
}

// AttachmentOf returns what is kept of a VolumeAttachment. ok is false for one of another driver.
func AttachmentOf(va *storagev1.VolumeAttachment) (kept Attachment, ok bool) {
	if va.Spec.Attacher != DriverCinder || va.Spec.Source.PersistentVolumeName == nil || va.Spec.NodeName == "" {
		return Attachment{}, false
	}
	return Attachment{Volume: *va.Spec.Source.PersistentVolumeName, Node: va.Spec.NodeName}, true
}

// providerOpenStack begins the provider id of a node on OpenStack. A region, which may be empty, and the server follow it.
const providerOpenStack = "openstack://"

// ServerOf returns the server in Nova of a node, "" when the node does not name one.
func ServerOf(node *corev1.Node) string {
	rest, isOpenStack := strings.CutPrefix(node.Spec.ProviderID, providerOpenStack)
	_, server, found := strings.Cut(rest, "/")
	if !isOpenStack || !found || strings.Contains(server, "/") {
		return ""
	}
	return server
}

// Attach completes the volumes by the servers that they are attached to. One with several attachments has none that is known:
// which of them is meant to end is not.
func (w *World) Attach(attachments []Attachment, servers map[string]string) {
	nodes := map[string][]string{}
	for _, a := range attachments {
		nodes[a.Volume] = append(nodes[a.Volume], a.Node)
	}
	for i := range w.Volumes {
		if of := nodes[w.Volumes[i].Name]; len(of) == 1 {
			w.Volumes[i].ServerID = servers[of[0]]
		}
	}
}
