// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

func (b *bench) recorded() *localvolume.Recorded {
	b.T.Helper()
	recorded, err := localvolume.FindRecord(b.T.Context(), b.Store, localvolumetest.RecordNamespace)
	if err != nil || recorded == nil {
		b.T.Fatalf("record = %v, %v", recorded, err)
	}
	return recorded
}

// TestRecordHasPlan checks that the record has what will be deleted, for volumes of CSI drivers as well, by the clock of the API server,
// and what is retained and why.
func TestRecordHasPlan(t *testing.T) {
	csi := func(c *configv1alpha1.LocalVolumeConfiguration) {
		c.CSIDrivers = []configv1alpha1.CSIDriver{{Name: "zfs.csi.openebs.io", TopologyKey: nodeID}}
	}
	b := newBench(t, csi, "other-1", "other-2", "other-3")
	b.Ahead = time.Hour
	b.AddNode("zfs1")
	b.LabelNode("zfs1", map[string]string{nodeID: "serial-7"})
	volume, _ := b.Bind("c", "zfs1")
	localvolumetest.Change(b.World, volume, func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: "zfs.csi.openebs.io"}}
		expression := &v.Spec.NodeAffinity.Required.NodeSelectorTerms[0].MatchExpressions[0]
		expression.Key, expression.Values = nodeID, []string{"serial-7"}
	})
	b.Add(localvolumetest.Volume("u", "", func(v *corev1.PersistentVolume) {
		v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{}}
	}))
	b.pass(time.Second)
	b.LoseNode("zfs1")
	b.pass(time.Second)
	got := b.recorded()
	at := func(d time.Duration) *time.Time { return new(localvolumetest.Noon.Add(d - b.Ahead)) }
	want := localvolume.Plan{
		Nodes: []localvolume.PlannedNode{{Name: "serial-7", Since: *at(time.Second), Claims: 1, Due: at(time.Second + localvolumetest.Delay)}},
		Volumes: []localvolume.PlannedVolume{
			{Name: "c", Claim: "default/c", Nodes: []string{"serial-7"}, ClaimDue: at(time.Second + localvolumetest.Delay)},
			{Name: "u", Reason: localvolume.EventUnsupported, VolumeKept: got.Volumes[len(got.Volumes)-1].VolumeKept},
		},
	}
	if diff := cmp.Diff(want, got.Plan); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if got.Confirmed == nil || !strings.Contains(got.Volumes[1].VolumeKept, "nfs") {
		t.Errorf("confirmed = %v, volume u is retained because %q, want a time, and its source", got.Confirmed, got.Volumes[1].VolumeKept)
	}
}

// TestRecordHasBrake checks that the record has the brake while it is engaged, and no longer when it is released, because both changes lead
// to another reconciliation.
func TestRecordHasBrake(t *testing.T) {
	b := newBench(t, nil, "a", "b", "c", "d")
	for _, node := range []string{"a", "b", "c", "d"} {
		b.Bind(node, node)
	}
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[localvolume.Pass]())
	defer queue.ShutDown()
	if err := b.Site.Follow().Start(t.Context(), queue); err != nil {
		t.Fatal(err)
	}
	b.pass(time.Second)
	changed := func() bool {
		defer func() {
			for queue.Len() > 0 {
				pass, _ := queue.Get()
				queue.Done(pass)
			}
		}()
		return queue.Len() > 0
	}
	b.LoseNode("a", "b", "c")
	b.pass(time.Second)
	if !changed() {
		t.Fatal("no reconciliation follows on the brake")
	}
	b.pass(time.Second)
	events := b.Events()
	engaged := slices.IndexFunc(events, func(e string) bool { return strings.Contains(e, localvolume.EventBrakeEngaged) })
	if brake := b.recorded().Brake; engaged < 0 || brake == "" || !strings.HasSuffix(events[engaged], brake) {
		t.Errorf("brake = %q, want that of the event in %q", brake, events)
	}
	if changed() {
		t.Error("a reconciliation follows although nothing changed")
	}
	b.AddNode("a")
	b.AddNode("b")
	b.pass(time.Second)
	if !changed() {
		t.Fatal("no reconciliation follows on the release of the brake")
	}
	b.pass(time.Second)
	if brake := b.recorded().Brake; brake != "" {
		t.Errorf("brake = %q after its release, want none", brake)
	}
}
