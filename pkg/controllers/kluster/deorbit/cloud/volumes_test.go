// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"strings"
	"testing"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func volumes(all ...openstack.Volume) inventory { return inventory{volumes: all} }

func TestVolumes(t *testing.T) {
	const never = "never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"
	seen := func(more ...func(*stage.Work)) stage.Work { return work(append(more, sawVolume("v", "Delete"))...) }
	withSnapshot := func(v openstack.Volume, s openstack.VolumeSnapshot) inventory {
		return inventory{volumes: []openstack.Volume{v}, snapshots: []openstack.VolumeSnapshot{s}}
	}
	attached := func(v openstack.Volume, live ...string) inventory {
		found := inventory{volumes: []openstack.Volume{v}, liveServers: map[string]bool{}}
		for _, server := range live {
			found.liveServers[server] = true
		}
		return found
	}
	stands := func(w *stage.Work) { w.Recorded.Volumes[0].Standing = kubernikusv1.StandingPresent }
	toS1 := volume("v", "in-use", "prod-id", "s1")
	check(t, map[string]choice{
		"attached to its node": {work(sawAttached("v", "s1")), Conflicts{}, attached(toS1, "s1"), []string{"change Volume v"}},
		"attached to its node, and its claim stands": {work(sawAttached("v", "s1"), stands), Conflicts{}, attached(toS1, "s1"),
			[]string{"remain Volume v: the claim of its PersistentVolume  still exists in the cluster and is not deleted"}},
		"attached to its node, kept": {work(sawAttached("v", "s1"), policies(func(p *stage.Policies) { p.PersistentVolumes = keep })), Conflicts{}, attached(toS1, "s1"),
			[]string{"retain Volume v: spec.deorbit.persistentVolumes is Retain"}},
		"attached to another server than its node":   {work(sawAttached("v", "s2")), Conflicts{}, attached(toS1, "s1", "s2"), []string{"remain Volume v: attached to server s1"}},
		"attached to its node and to another server": {work(sawAttached("v", "s1")), Conflicts{}, attached(volume("v", "in-use", "prod-id", "s1", "s2"), "s1", "s2"), []string{"remain Volume v: attached to server s1 and 1 more"}},
		"attached to its node, which is not known":   {work(sawAttached("v", "s1")), Conflicts{}, attached(toS1), []string{"remain Volume v: attached to server s1"}},
		"attached to its node in a lost cluster":     {work(sawAttached("v", "s1"), func(w *stage.Work) { w.ClusterLost = "no response" }), Conflicts{}, attached(toS1, "s1"), []string{"remain Volume v: attached to server s1"}},
		"being detached from its node":               {work(sawAttached("v", "s1")), Conflicts{}, attached(volume("v", "detaching", "prod-id", "s1"), "s1"), []string{"remain Volume v: attached to server s1"}},
		"seen with Delete":                           {seen(), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"delete Volume v"}},
		"seen, of no tag":                            {seen(), Conflicts{}, volumes(volume("v", "available", "-")), []string{"delete Volume v"}},
		"seen, of the shared tag":                    {seen(), Conflicts{}, volumes(volume("v", "available", "kubernetes")), []string{"delete Volume v"}},
		"seen with Retain":                           {work(sawVolume("v", "Retain"), unseen), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"retain Volume v: its PersistentVolume keeps it"}},
		"seen with Recycle":                          {work(sawVolume("v", "Recycle"), unseen), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"retain Volume v: its PersistentVolume keeps it"}},
		"never claimed":                              {work(sawVolume("v", ""), unseen), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"leave Volume v: no claim ever had it"}},
		"never seen":                                 {work(), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"leave Volume v: " + never}},
		"never seen, to go":                          {work(unseen), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"delete Volume v"}},
		"of no client":                               {work(unseen), Conflicts{}, volumes(volume("v", "available", "-")), nil},
		"of another":                                 {work(unseen), Conflicts{}, volumes(volume("v", "available", "prod-id-2"), volume("w", "available", "prod")), nil},
		"of another project":                         {seen(unseen), Conflicts{}, volumes(changed(volume("v", "available", "prod-id"), func(v *openstack.Volume) { v.ProjectID = "q" })), nil},
		"of an unknown project":                      {seen(unseen), Conflicts{}, volumes(changed(volume("v", "available", "prod-id"), func(v *openstack.Volume) { v.ProjectID = "" })), []string{"leave Volume v: Cinder does not report which project it is of"}},
		"all are kept":                               {seen(unseen, policies(func(p *stage.Policies) { p.PersistentVolumes = keep })), Conflicts{}, volumes(volume("v", "available", "prod-id"), volume("w", "available", "prod-id")), []string{"retain Volume v: spec.deorbit.persistentVolumes is Retain", "retain Volume w: spec.deorbit.persistentVolumes is Retain"}},
		"a policy that is unknown":                   {seen(policies(func(p *stage.Policies) { p.PersistentVolumes = "" })), Conflicts{}, volumes(volume("v", "available", "prod-id")), []string{"retain Volume v: spec.deorbit.persistentVolumes is Retain"}},
		"seen, but of a Kluster":                     {seen(), Conflicts{tags: []rival{{kluster: "ns/o", project: "p", text: "o-id"}}}, volumes(volume("v", "available", "o-id")), []string{"leave Volume v: its metadata names Kluster ns/o"}},
		"seen, of a Kluster elsewhere":               {seen(), Conflicts{tags: []rival{{kluster: "ns/o", project: "q", text: "o-id"}}}, volumes(volume("v", "available", "o-id")), []string{"delete Volume v"}},
		"attached":                                   {seen(), Conflicts{}, volumes(volume("v", "in-use", "prod-id", "s1")), []string{"remain Volume v: attached to server s1"}},
		"attached to more":                           {seen(), Conflicts{}, volumes(volume("v", "in-use", "prod-id", "s2", "s1")), []string{"remain Volume v: attached to server s1 and 1 more"}},
		"attached to be available":                   {seen(), Conflicts{}, volumes(volume("v", "available", "prod-id", "s1")), []string{"remain Volume v: attached to server s1"}},
		"attached to a server that has been deleted": {seen(), Conflicts{}, inventory{volumes: []openstack.Volume{volume("v", "in-use", "prod-id", "s1")}, deletedServers: map[string]bool{"s1": true}},
			[]string{"remain Volume v: attached to server s1, which Nova does not have: delete the attachment (openstack volume attachment delete), or have an administrator reset the volume"}},
		"attached to one that has been deleted, too": {seen(), Conflicts{}, inventory{volumes: []openstack.Volume{volume("v", "in-use", "prod-id", "s1", "s2")}, deletedServers: map[string]bool{"s1": true}},
			[]string{"remain Volume v: attached to server s1 and 1 more"}},
		"reserved": {seen(), Conflicts{}, volumes(volume("v", "reserved", "prod-id")),
			[]string{"remain Volume v: status reserved: an attachment was begun and not ended. Delete it (openstack volume attachment delete)"}},
		"in use by no client":               {seen(), Conflicts{}, volumes(volume("v", "in-use", "prod-id")), []string{"remain Volume v: status in-use"}},
		"being deleted":                     {seen(), Conflicts{}, volumes(volume("v", "deleting", "prod-id")), []string{"remain Volume v: status deleting"}},
		"deletion failed":                   {seen(), Conflicts{}, volumes(volume("v", "error_deleting", "prod-id")), []string{"delete Volume v"}},
		"error":                             {seen(), Conflicts{}, volumes(volume("v", "error", "prod-id")), []string{"delete Volume v"}},
		"on its way":                        {seen(), Conflicts{}, volumes(volume("v", "backing-up", "prod-id")), []string{"remain Volume v: status backing-up"}},
		"a snapshot is deleted first":       {seen(sawSnapshot("s", "Delete")), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "v", "available", "prod-id")), []string{"delete Snapshot s", "remain Volume v: waits for snapshot s"}},
		"a snapshot is going":               {seen(sawSnapshot("s", "Delete")), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "v", "deleting", "prod-id")), []string{"remain Snapshot s: status deleting", "remain Volume v: waits for snapshot s"}},
		"a snapshot stays":                  {seen(sawSnapshot("s", "Retain")), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "v", "available", "prod-id")), []string{"retain Snapshot s: its VolumeSnapshotContent keeps it", "retain Volume v: snapshot s of it stays"}},
		"a snapshot of another client":      {seen(), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "v", "available", "-")), []string{"leave Volume v: snapshot s of it stays, and Cinder deletes no volume that has a snapshot"}},
		"a snapshot of another volume":      {seen(), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "w", "available", "-")), []string{"delete Volume v"}},
		"kept snapshots keep their volumes": {seen(sawSnapshot("s", "Delete"), policies(func(p *stage.Policies) { p.Snapshots = keep })), Conflicts{}, withSnapshot(volume("v", "available", "prod-id"), snapshot("s", "v", "available", "prod-id")), []string{"retain Snapshot s: spec.deorbit.snapshots is Retain", "retain Volume v: snapshot s of it stays"}},
	})
}

func TestSnapshots(t *testing.T) {
	snapshots := func(all ...openstack.VolumeSnapshot) inventory { return inventory{snapshots: all} }
	check(t, map[string]choice{
		"seen with Delete":       {work(sawSnapshot("s", "Delete")), Conflicts{}, snapshots(snapshot("s", "v", "available", "-")), []string{"delete Snapshot s"}},
		"never seen":             {work(), Conflicts{}, snapshots(snapshot("s", "v", "available", "prod-id")), []string{"leave Snapshot s: never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"}},
		"never seen, to go":      {work(unseen), Conflicts{}, snapshots(snapshot("s", "v", "error", "prod-id")), []string{"delete Snapshot s"}},
		"of another":             {work(unseen), Conflicts{}, snapshots(snapshot("s", "v", "available", "other")), nil},
		"of another project":     {work(unseen), Conflicts{}, snapshots(changed(snapshot("s", "v", "available", "prod-id"), func(s *openstack.VolumeSnapshot) { s.ProjectID = "q" })), nil},
		"volumes are kept":       {work(unseen, policies(func(p *stage.Policies) { p.PersistentVolumes = keep })), Conflicts{}, snapshots(snapshot("s", "v", "available", "prod-id")), []string{"retain Snapshot s: spec.deorbit.persistentVolumes is Retain"}},
		"deletion failed":        {work(unseen), Conflicts{}, snapshots(snapshot("s", "v", "error_deleting", "prod-id")), []string{"delete Snapshot s"}},
		"error of a volume only": {work(unseen), Conflicts{}, snapshots(snapshot("s", "v", "error_restoring", "prod-id")), []string{"remain Snapshot s: status error_restoring"}},
	})
}

// TestSharedTag checks that only recorded resources are deleted under the name that many clusters share.
func TestSharedTag(t *testing.T) {
	found := inventory{
		volumes:   []openstack.Volume{volume("v", "available", "kubernetes"), volume("w", "available", "kubernetes"), volume("x", "available", "kubernetes")},
		snapshots: []openstack.VolumeSnapshot{snapshot("s", "y", "available", "kubernetes")},
	}
	const shared = ": csiClusterID is kubernetes, which many clusters share: nothing is deleted by it"
	const empty = ": csiClusterID is neither set in spec.cloudProvider nor seen in the cluster: nothing is deleted by it"
	check(t, map[string]choice{
		"kubernetes":             {work(named("prod", "kubernetes"), unseen, sawVolume("v", "Delete")), Conflicts{}, found, []string{"delete Volume v", "leave Snapshot s" + shared, "leave Volume w" + shared, "leave Volume x" + shared}},
		"kubernetes, all seen":   {work(named("prod", "kubernetes"), unseen, sawVolume("v", "Delete")), Conflicts{}, volumes(volume("v", "available", "kubernetes")), []string{"delete Volume v"}},
		"kubernetes, but others": {work(named("prod", "kubernetes"), unseen), Conflicts{}, volumes(volume("v", "available", "prod"), volume("w", "available", "-")), nil},
		"empty":                  {work(named("prod", ""), unseen), Conflicts{}, found, []string{"leave Snapshot s" + empty, "leave Volume v" + empty, "leave Volume w" + empty, "leave Volume x" + empty}},
		"empty tag":              {work(named("prod", ""), unseen), Conflicts{}, volumes(volume("v", "available", "")), nil},
		"empty and no tags":      {work(named("prod", ""), unseen), Conflicts{}, volumes(volume("v", "available", "-")), nil},
	})
}

// TestDetaches checks that a volume of a dead CSI driver is detached from the node that its VolumeAttachment names, and then
// deleted.
func TestDetaches(t *testing.T) {
	s := newSite(t, fake.Options{})
	node, other := s.AddServer("garden", s.network, "10.0.0.5", "ACTIVE"), s.AddServer("garden", s.network, "10.0.0.6", "ACTIVE")
	mine := s.AddVolume("garden", fake.Volume{AttachedTo: []string{node}})
	moved := s.AddVolume("garden", fake.Volume{AttachedTo: []string{other}})
	w := work(sawAttached(mine, node), sawAttached(moved, node))
	if report := s.verify(w); reasonFor(report.Remaining, mine) != reasonDeleting || reasonFor(report.Remaining, moved) != "attached to server "+other || len(report.Deleted) != 0 {
		t.Errorf("the first check: %+v", report)
	}
	if changes := s.changes(); len(changes) != 1 || !strings.HasSuffix(changes[0].Path, node+"/os-volume_attachments/"+mine) {
		t.Errorf("changes = %+v, want the volume to be detached from its node", changes)
	}
	if report := s.verify(w); reasonFor(report.Remaining, mine) != "attached to server "+node || len(s.changes()) != 0 {
		t.Errorf("while it is detached: %+v", report)
	}
	s.Settle()
	if report := s.verify(w); reasonFor(report.Deleted, mine) != "" || len(report.Deleted) != 1 {
		t.Errorf("when it has been detached: %+v", report)
	}
	s.Settle()
	if left := s.left(); len(left) != 1 || left[0] != moved {
		t.Errorf("left = %v, want the volume of the other server", left)
	}
}

// TestDeletedServers checks that Nova is queried for the servers that volumes of the cluster are attached to, and that only servers
// that it does not find are considered deleted.
func TestDeletedServers(t *testing.T) {
	for name, c := range map[string]struct {
		fault *fake.Fault
		want  string
	}{
		"gone":      {nil, "attached to server never-was, which Nova does not have"},
		"unknown":   {&fake.Fault{Path: "/compute", Status: 503}, "attached to server never-was"},
		"forbidden": {&fake.Fault{Path: "/compute", Status: 403}, "attached to server never-was"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, fake.Options{})
			server := s.AddServer("garden", s.network, "10.0.0.5", "ERROR")
			living := s.AddVolume("garden", fake.Volume{AttachedTo: []string{server}})
			dangling := s.AddVolume("garden", fake.Volume{AttachedTo: []string{"never-was"}})
			if c.fault != nil {
				s.Inject(*c.fault)
			}
			report, err := s.project.Verify(t.Context(), work(sawVolume(living, "Delete"), sawVolume(dangling, "Delete")), Conflicts{})
			if err != nil {
				t.Fatal(err)
			}
			got, _, _ := strings.Cut(reasonFor(report.Remaining, dangling), ":")
			if got != c.want || reasonFor(report.Remaining, living) != "attached to server "+server {
				t.Errorf("remaining = %+v, want %s", report.Remaining, c.want)
			}
		})
	}
}
