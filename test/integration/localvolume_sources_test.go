// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
)

const (
	csiDriver = "topolvm.io"
	// csiNodeLabel is the topology key of the driver.
	csiNodeLabel = "topology.topolvm.io/node"
	// provisionerFinalizer is what the external provisioner puts on its volumes.
	provisionerFinalizer = "external-provisioner.volume.kubernetes.io/finalizer"
)

// csi makes a volume one of a CSI driver whose provisioner never responds, because it runs on the node.
func csi(pv *corev1.PersistentVolume) {
	pv.Annotations["pv.kubernetes.io/provisioned-by"] = csiDriver
	pv.Finalizers = []string{provisionerFinalizer}
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: "lv-" + pv.Name}}
	pv.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0].Key = csiNodeLabel
}

func hostPath(pv *corev1.PersistentVolume) {
	pv.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/opt/" + pv.Name}}
}

// csiNode makes a node on which the driver runs.
func (v *volumes) csiNode(name string) *corev1.Node {
	v.t.Helper()
	node := v.node(name)
	v.label(node, csiNodeLabel, node.Name)
	return node
}

// label changes a label of a node; an empty value removes it.
func (v *volumes) label(node *corev1.Node, key, value string) {
	v.t.Helper()
	patch := `{"metadata":{"labels":{"` + key + `":"` + value + `"}}}`
	if value == "" {
		patch = `{"metadata":{"labels":{"` + key + `":null}}}`
	}
	if err := v.c.Patch(v.t.Context(), node, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		v.t.Fatal(err)
	}
}

// testOtherSources checks that volumes of other sources are reported by default, and that hostPath volumes are deleted like local
// ones if that is enabled.
func testOtherSources(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a, b := v.csiNode("a"), v.csiNode("b")
	path, pathClaim := v.bound("path", "a", hostPath)
	disk, diskClaim := v.bound("disk", "a", csi)
	_, canary := v.bound("canary", "a")
	c := v.clean("--leader-elect=false")
	for _, volume := range []*corev1.PersistentVolume{path, disk} {
		v.event(volume, localvolume.EventUnsupported)
	}
	c.metric(`groundskeeper_local_volume_unsupported_source{cluster=""} 2`)
	v.lose(a)
	v.absent(canary)
	v.stays("their sources are not enabled", path, pathClaim, disk, diskClaim, b)
	c.kill()
	v.clean("--leader-elect=false", "--volume-sources=local,hostPath", "--driver-grace-period=1s", "--delete-volumes-of-unknown-nodes")
	v.absent(pathClaim, path)
	v.stays("its driver is not enabled", disk, diskClaim)
}

// testDriverNeverResponds checks that, if the node of a CSI driver does not exist, its claims are deleted, and its volumes only if
// that is enabled.
func testDriverNeverResponds(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a := v.csiNode("a")
	v.csiNode("b")
	volume, claim := v.bound("a", "a", csi)
	living, livingClaim := v.bound("b", "b", csi)
	foreign, foreignClaim := v.bound("foreign", "a", csi, func(pv *corev1.PersistentVolume) { pv.Finalizers = append(pv.Finalizers, "example.com/foreign") })
	retained, retainedClaim := v.bound("retained", "a", csi, func(pv *corev1.PersistentVolume) { pv.Spec.PersistentVolumeReclaimPolicy = "Retain" })
	flags := []string{"--leader-elect=false", "--csi-drivers=" + csiDriver + "=" + csiNodeLabel, "--driver-grace-period=2s"}
	c := v.clean(flags...)
	v.lose(a)
	v.absent(claim, foreignClaim, retainedClaim)
	v.phase(volume, corev1.VolumeReleased)
	v.event(volume, localvolume.EventSkipped)
	v.stays("releasing is not requested", volume, living, livingClaim)
	c.kill()

	user := "release-" + v.ns
	v.allow(user, "release", to("persistentvolumes", "list", "watch", "delete"), to("persistentvolumeclaims", "list", "watch", "delete"), to("nodes", "list", "watch"))
	rejecting := v.startAs(user, append(flags, "--release-csi-volumes")...)
	if code := rejecting.exitCode(); code != 1 || !strings.Contains(rejecting.stderrText(), "the permission to patch persistentvolumes is missing") {
		t.Errorf("without the permission it ends with %d: %s", code, rejecting.stderrText())
	}
	applyArtifacts(t, p.Plane, "local-volume/release-csi-volumes")
	v.clean(append(flags, "--release-csi-volumes")...)
	v.absent(volume)
	if event := v.event(volume, localvolume.EventReleased); !strings.Contains(event.Message, `volume handle "lv-`+volume.Name+`", was not cleaned up`) {
		t.Errorf("event %q", event.Message)
	}
	v.event(foreign, localvolume.EventReleased)
	if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(foreign), foreign); err != nil || len(foreign.Finalizers) == 0 {
		t.Errorf("a foreign finalizer does not keep the volume: %v, %v", foreign.Finalizers, err)
	}
	v.phase(retained, corev1.VolumeReleased)
	v.stays("its node lives, or it is retained", living, livingClaim, retained)
	if err := v.c.Patch(t.Context(), foreign, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	v.absent(foreign)
}

// testRelabelledNode checks that a change of the labels of a running node causes no loss.
func testRelabelledNode(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	a, other := v.node("a", "host-a"), v.node("other")
	volume, claim := v.bound("a", "host-a")
	free := v.volume("free", "host-a")
	v.phase(free, corev1.VolumeAvailable)
	_, canary := v.bound("canary", "other")
	c := v.clean("--leader-elect=false")
	v.label(a, corev1.LabelHostname, v.ns+"-renamed")
	v.event(volume, localvolume.EventNodeUncertain)
	v.lose(other)
	v.absent(canary)
	v.stays("its node is running", volume, claim, free)
	c.kill()
	_, again := v.bound("again", "other")
	v.clean("--leader-elect=false")
	v.absent(again)
	v.stays("its node is running, and a restart knows it", volume, claim, free)
	v.lose(a)
	v.absent(claim, volume, free)
}

// testUnknownNodes checks that volumes whose node has not joined yet are reported, not deleted.
func testUnknownNodes(t *testing.T, p *volumePlane) {
	v := p.newVolumes(t, "")
	v.node("b")
	early := v.volume("early", "joins-later")
	retained := v.volume("retained", "joins-later", func(pv *corev1.PersistentVolume) { pv.Spec.PersistentVolumeReclaimPolicy = "Retain" })
	reserved := v.volume("reserved", "joins-later", func(pv *corev1.PersistentVolume) {
		pv.Spec.ClaimRef = &corev1.ObjectReference{Namespace: v.ns, Name: "reserved"}
	})
	for _, volume := range []*corev1.PersistentVolume{early, retained, reserved} {
		v.phase(volume, corev1.VolumeAvailable)
	}
	c := v.clean("--leader-elect=false")
	v.event(early, localvolume.EventSkipped)
	v.stays("its node may join", early, retained, reserved)
	c.kill()
	v.clean("--leader-elect=false", "--delete-volumes-of-unknown-nodes")
	v.absent(early)
	v.event(retained, localvolume.EventSkipped)
	v.event(reserved, localvolume.EventSkipped)
	v.stays("its policy, or a claim, keeps it", retained, reserved)
}
