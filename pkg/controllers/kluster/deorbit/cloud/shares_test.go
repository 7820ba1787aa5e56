// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"slices"
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func sawShare(id, policy string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Volumes = append(w.Recorded.Volumes, kubernikusv1.SeenVolume{ID: id, ReclaimPolicy: policy, Share: true})
	}
}

func sawShareSnapshot(id, policy string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Snapshots = append(w.Recorded.Snapshots, kubernikusv1.SeenSnapshot{ID: id, DeletionPolicy: policy, Share: true})
	}
}

func TestDecideShares(t *testing.T) {
	of := func(project, status, tag string, snapshots ...openstack.ShareSnapshot) inventory {
		return inventory{shares: []openstack.Share{{ID: "s", ProjectID: project, Status: status, Metadata: map[string]string{shareKey: tag}}}, shareSnapshots: snapshots}
	}
	shot := func(project, status string) openstack.ShareSnapshot {
		return openstack.ShareSnapshot{ID: "x", ProjectID: project, Status: status, ShareID: "s"}
	}
	stands := func(w *stage.Work) { w.Recorded.Volumes[0].Standing = kubernikusv1.StandingPresent }
	snapshotStands := func(w *stage.Work) { w.Recorded.Snapshots[0].Standing = kubernikusv1.StandingRefused }
	keeps := policies(func(p *stage.Policies) { p.PersistentVolumes = keep })
	keepsSnapshots := policies(func(p *stage.Policies) { p.Snapshots = keep })
	seen := func(more ...func(*stage.Work)) stage.Work {
		return work(append([]func(*stage.Work){sawShare("s", "Delete")}, more...)...)
	}
	check(t, map[string]choice{
		"seen with Delete":             {seen(), Conflicts{}, of("p", "available", ""), []string{"delete Share s"}},
		"seen with Retain":             {work(sawShare("s", "Retain")), Conflicts{}, of("p", "available", ""), []string{"retain Share s: its PersistentVolume keeps it"}},
		"never claimed":                {work(sawShare("s", "")), Conflicts{}, of("p", "available", ""), []string{"leave Share s: no claim ever had it"}},
		"all are kept":                 {seen(keeps), Conflicts{}, of("p", "available", ""), []string{"retain Share s: spec.deorbit.persistentVolumes is Retain"}},
		"of another project":           {seen(), Conflicts{}, of("q", "available", ""), nil},
		"of another Kluster":           {seen(), Conflicts{tags: []rival{{kluster: "ns/o", project: "p", text: "o-id"}}}, of("p", "available", "o-id"), []string{"leave Share s: its metadata names Kluster ns/o"}},
		"its claim stands":             {seen(stands), Conflicts{}, of("p", "available", ""), []string{"remain Share s: the claim of its PersistentVolume  still exists in the cluster and is not deleted"}},
		"a volume of this id was seen": {work(sawVolume("s", "Delete")), Conflicts{}, of("p", "available", ""), nil},
		"never seen":                   {work(), Conflicts{}, of("p", "available", ""), nil},
		"never seen, with the tag":     {work(), Conflicts{}, of("p", "available", "prod-id"), []string{"leave Share s: never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"}},
		"never seen, unseen ones go":   {work(unseen), Conflicts{}, of("p", "available", "prod-id"), []string{"leave Share s: never seen in the cluster, and a share is deleted only by the ID that a PersistentVolume had"}},
		"being deleted":                {seen(), Conflicts{}, of("p", "deleting", ""), []string{"remain Share s: status deleting"}},
		"its deletion failed":          {seen(), Conflicts{}, of("p", "error_deleting", ""), []string{"remain Share s: status error_deleting"}},
		"a snapshot of the cluster":    {seen(sawShareSnapshot("x", "Delete")), Conflicts{}, of("p", "available", "", shot("p", "available")), []string{"delete ShareSnapshot x", "remain Share s: waits for snapshot x"}},
		"a snapshot being deleted":     {seen(sawShareSnapshot("x", "Delete")), Conflicts{}, of("p", "available", "", shot("p", "deleting")), []string{"remain ShareSnapshot x: status deleting", "remain Share s: waits for snapshot x"}},
		"a snapshot that stays":        {seen(sawShareSnapshot("x", "Retain")), Conflicts{}, of("p", "available", "", shot("p", "available")), []string{"retain ShareSnapshot x: its VolumeSnapshotContent keeps it", "retain Share s: snapshot x of it stays"}},
		"snapshots are kept":           {seen(sawShareSnapshot("x", "Delete"), keepsSnapshots), Conflicts{}, of("p", "available", "", shot("p", "available")), []string{"retain ShareSnapshot x: spec.deorbit.snapshots is Retain", "retain Share s: snapshot x of it stays"}},
		"a snapshot that the cluster has": {seen(sawShareSnapshot("x", "Delete"), snapshotStands), Conflicts{}, of("p", "available", "", shot("p", "available")),
			[]string{"remain ShareSnapshot x: its VolumeSnapshot or VolumeSnapshotContent  still exists in the cluster, which rejected its deletion", "remain Share s: waits for snapshot x"}},
		"a snapshot of a volume has this id": {seen(sawSnapshot("x", "Delete")), Conflicts{}, of("p", "available", "", shot("p", "available")), []string{"leave Share s: snapshot x of it stays, and Manila deletes no share that has a snapshot"}},
		"a snapshot of no client":            {seen(), Conflicts{}, of("p", "available", "", shot("p", "available")), []string{"leave Share s: snapshot x of it stays, and Manila deletes no share that has a snapshot"}},
		"a snapshot of another project":      {seen(sawShareSnapshot("x", "Delete")), Conflicts{}, of("p", "available", "", shot("q", "available")), []string{"leave Share s: snapshot x of it stays, and Manila deletes no share that has a snapshot"}},
		"it could not be checked": {seen(sawShareSnapshot("x", "Delete"), sawShare("kept", "Retain"), sawShareSnapshot("kept", "Retain")), Conflicts{}, inventory{unseen: unseenKinds{shares: "no Manila"}},
			[]string{"remain ShareSnapshot x: could not be checked: no Manila", "remain Share s: could not be checked: no Manila"}},
		"it could not be checked, and is kept":   {seen(sawShareSnapshot("x", "Delete"), keeps), Conflicts{}, inventory{unseen: unseenKinds{shares: "no Manila"}}, nil},
		"it could not be checked, none was seen": {work(), Conflicts{}, inventory{unseen: unseenKinds{shares: "403"}}, []string{"remain Share : could not be checked: 403"}},
	})
}

// TestVerifyShares checks against Manila that only what the cluster had is deleted, the snapshot first.
func TestVerifyShares(t *testing.T) {
	s := newSite(t, fake.Options{})
	mine, stays := s.AddShare("garden", fake.Share{Rules: []string{"10.0.0.0/24"}}), s.AddShare("garden", fake.Share{})
	snapshot := s.AddShareSnapshot("garden", fake.ShareSnapshot{ShareID: mine})
	w := work(sawShare(mine, "Delete"), sawShareSnapshot(snapshot, "Delete"))
	s.closed, s.open = errClosed, 0
	if _, err := s.project.Verify(t.Context(), w, Conflicts{}); err == nil || len(s.ShareSnapshots("garden")) != 1 {
		t.Errorf("behind the fence: %v, want nothing to be deleted", err)
	}
	s.closed = nil
	s.until(w)
	if left := s.Shares("garden"); !slices.Equal(left, []string{stays}) || len(s.ShareSnapshots("garden")) > 0 {
		t.Errorf("left %v, want %s only", left, stays)
	}
}

// TestManilaIsOptional checks that Manila is queried only for a cluster that may have shares, and that one without Manila is not wrong
// otherwise.
func TestManilaIsOptional(t *testing.T) {
	s := newSite(t, fake.Options{})
	s.verify(work())
	for _, r := range s.Requests() {
		if strings.HasPrefix(r.Path, "/share") {
			t.Errorf("request %s %s for a cluster without shares", r.Method, r.Path)
		}
	}
	s = newSite(t, fake.Options{Without: []string{"shared-file-system"}})
	if left := s.verify(work(func(w *stage.Work) { w.ClusterLost = "no response" })).Remaining; len(left) > 0 {
		t.Errorf("remaining without Manila = %+v, want none", left)
	}
	if reason := reasonFor(s.verify(work(sawShare("share-1", "Delete"))).Remaining, "share-1"); !strings.Contains(reason, "could not be checked") {
		t.Errorf("a share without Manila: %q, want it to be left over", reason)
	}
}
