// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// named reports whether a volume names its nodes, so that it may be cleaned up.
func (v *soakVolume) named() bool {
	switch {
	case v.class == "other" || v.source == "nfs":
		return false
	case v.form == 6 || v.form == 7:
		return v.source == "local" || v.machines[0] == v.machines[1]
	}
	return v.form < 8
}

// absent returns when the last machine of a volume was lost, and whether all are. By metadata.name a volume means the Node
// of that name alone.
func (v *soakVolume) absent(now time.Time) (since time.Time, all bool) {
	for _, m := range v.machines {
		lost, away := m.away(now)
		if v.form == 4 {
			lost, away = m.originalAway(now)
		}
		if !away {
			return since, false
		}
		since = later(since, lost)
	}
	return since, true
}

// judge checks each request of the process.
func (s *soak) judge(request string) {
	parts := strings.Fields(request)
	if parts[0] != "delete" && (parts[0] != "patch" || parts[1] != "volume") {
		return
	}
	s.note("%s", request)
	v, volume, now := s.volumes[parts[2]], &corev1.PersistentVolume{}, s.now()
	if err := s.Store.Get(s.T.Context(), client.ObjectKey{Name: v.name}, volume); err != nil {
		s.T.Errorf("%s: %v", request, err)
		return
	}
	since, all := v.absent(now)
	alive := func(m *machine) bool { return v.seen[m] && now.Sub(m.renewed) < soakSilence }
	least := time.Second
	if parts[1] == "claim" {
		least = localvolumetest.Delay
	} else if v.source != "local" {
		least = soakGrace
		since = later(since, v.free)
	}
	free := volume.Status.Phase == corev1.VolumeAvailable || volume.Status.Phase == corev1.VolumeReleased
	switch {
	case !v.named():
		s.T.Errorf("%s: volume %+v is none that may be touched", request, *v)
	case !all:
		s.T.Errorf("%s: volume %+v has a machine with a node", request, *v)
	case now.Sub(since) < least:
		s.T.Errorf("%s: the last machine was lost %s ago", request, now.Sub(since))
	case parts[1] == "claim" && slices.ContainsFunc(v.machines, alive):
		s.T.Errorf("%s: its machine is alive: %+v", request, *v.machines[0])
	case len(volume.Annotations) > 0:
		s.T.Errorf("%s: it is opted out", request)
	case parts[1] == "volume" && !free:
		s.T.Errorf("%s: its phase is %s", request, volume.Status.Phase)
	case parts[0] == "patch" && (v.source != "csi" || volume.DeletionTimestamp.IsZero()):
		s.T.Errorf("%s: it is not being deleted", request)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// settle waits until everything that must go has had its time, and checks what is left.
func (s *soak) settle() {
	s.T.Helper()
	s.note("settle")
	for _, m := range s.machines {
		switch {
		case m.node == "":
		case m.bare: // it may be any machine with the label that was lost before it was registered
			s.unregister(m)
		default:
			s.relabel(m, m.labels())
		}
	}
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: localvolumetest.RecordNamespace, Name: localvolume.RecordName}}
	s.passes(1)
	if s.Exists(record) { // however many are missing
		localvolumetest.Change(s.World, record, func(c *corev1.ConfigMap) {
			metav1.SetMetaDataAnnotation(&c.ObjectMeta, localvolume.AcknowledgeAnnotation, "100")
		})
	}
	if s.nodeNames() == nil {
		s.register(s.machines[0], s.machines[0].original, true)
	}
	for range 80 {
		s.Sleep(10 * time.Second)
		s.pass()
	}
	for _, name := range slices.Sorted(maps.Keys(s.volumes)) {
		s.left(s.volumes[name])
	}
}

// left checks what is left of a volume.
func (s *soak) left(v *soakVolume) {
	s.T.Helper()
	volume := &corev1.PersistentVolume{}
	if err := s.Store.Get(s.T.Context(), client.ObjectKey{Name: v.name}, volume); client.IgnoreNotFound(err) != nil {
		s.T.Fatal(err)
	} else if err != nil {
		return
	}
	_, all := v.absent(s.now())
	if !v.named() || !all || len(volume.Annotations) > 0 || slices.ContainsFunc(v.machines, s.matched) {
		return
	}
	seen := !slices.ContainsFunc(v.machines, func(m *machine) bool { return !v.seen[m] })
	byID := (v.form == 3 || v.form == 5) && !v.machines[0].bare // of a machine that was never seen, the node without labels may be the one
	if v.claim && (seen || !byID) {
		s.T.Errorf("the claim of volume %+v is left", *v)
	}
	if seen && !v.claim {
		s.T.Errorf("volume %+v is left: %s, %v", *v, volume.Status.Phase, volume.DeletionTimestamp)
	}
}

// matched reports that a name of the machine is on a Node, although the volume does not mean it: by metadata.name.
func (s *soak) matched(m *machine) bool {
	return s.Site.Inventory.Matches(m.original) || s.Site.Inventory.Matches(m.hostname)
}
