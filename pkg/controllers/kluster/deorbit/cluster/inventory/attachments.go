// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

// Attachment is a VolumeAttachment of Cinder.
type Attachment struct {
	// Volume is the name of the PersistentVolume, and Node that of the node that it is attached to.
	Volume, Node string
}

// AttachmentOf is what is kept of a VolumeAttachment. ok is false for one of another driver.
func AttachmentOf(va *storagev1.VolumeAttachment) (kept Attachment, ok bool) {
	if va.Spec.Attacher != DriverCinder || va.Spec.Source.PersistentVolumeName == nil || va.Spec.NodeName == "" {
		return Attachment{}, false
	}
	return Attachment{Volume: *va.Spec.Source.PersistentVolumeName, Node: va.Spec.NodeName}, true
}

// providerOpenStack begins the provider id of a node on OpenStack. A region, which may be empty, and the server follow it.
const providerOpenStack = "openstack://"

// ServerOf is the server in Nova of a node, "" when the node does not name one.
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
