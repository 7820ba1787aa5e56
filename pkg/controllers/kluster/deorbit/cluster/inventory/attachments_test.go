// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
)

func TestServerOf(t *testing.T) {
	for id, want := range map[string]string{
		"openstack:///8f5e": "8f5e", "openstack://RegionOne/8f5e": "8f5e", "openstack://8f5e": "", "openstack:///a/8f5e": "", "aws:///zone/i-1": "", "": "",
	} {
		if got := ServerOf(&corev1.Node{Spec: corev1.NodeSpec{ProviderID: id}}); got != want {
			t.Errorf("server of %q = %q, want %q", id, got, want)
		}
	}
}

func TestAttach(t *testing.T) {
	name := "pv"
	attachment := func(driver, node string) *storagev1.VolumeAttachment {
		return &storagev1.VolumeAttachment{Spec: storagev1.VolumeAttachmentSpec{Attacher: driver, NodeName: node,
			Source: storagev1.VolumeAttachmentSource{PersistentVolumeName: &name}}}
	}
	inline := attachment(DriverCinder, "node-1")
	inline.Spec.Source.PersistentVolumeName = nil
	for text, c := range map[string]struct {
		found []*storagev1.VolumeAttachment
		want  string
	}{
		"to one node":        {[]*storagev1.VolumeAttachment{attachment(DriverCinder, "node-1")}, "server-1"},
		"of another driver":  {[]*storagev1.VolumeAttachment{attachment("other", "node-1")}, ""},
		"to an unknown node": {[]*storagev1.VolumeAttachment{attachment(DriverCinder, "node-9")}, ""},
		"to two nodes":       {[]*storagev1.VolumeAttachment{attachment(DriverCinder, "node-1"), attachment(DriverCinder, "node-2")}, ""},
		"without a volume":   {[]*storagev1.VolumeAttachment{inline}, ""},
		"none":               {nil, ""},
	} {
		t.Run(text, func(t *testing.T) {
			var kept []Attachment
			for _, va := range c.found {
				if a, ok := AttachmentOf(va); ok {
					kept = append(kept, a)
				}
			}
			w := &World{Volumes: []Volume{{Meta: Meta{Name: "pv"}}, {Meta: Meta{Name: "other"}}}}
			w.Attach(kept, map[string]string{"node-1": "server-1", "node-2": "server-2"})
			if w.Volumes[0].ServerID != c.want || w.Volumes[1].ServerID != "" {
				t.Errorf("servers = %q and %q, want %q and none", w.Volumes[0].ServerID, w.Volumes[1].ServerID, c.want)
			}
		})
	}
}
