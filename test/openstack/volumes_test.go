// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"slices"
	"testing"
	"time"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// clusterTag is the key by which the CSI driver of Cinder marks what it makes.
const clusterTag = "cinder.csi.openstack.org/cluster"

// volume makes a volume of a cluster, and waits until it is there.
func (a *api) volume(cluster string) string {
	a.t.Helper()
	id := a.must(http.MethodPost, "block-storage/volumes", wrap("volume", "size", 1, "name", "pvc", "metadata", map[string]string{clusterTag: cluster}))["id"].(string)
	a.t.Cleanup(func() {
		a.call(http.MethodDelete, "block-storage/volumes/"+id, nil)
		a.deleted("block-storage/volumes/" + id)
	})
	a.status("block-storage/volumes/"+id, "status", "available")
	return id
}

// snapshot makes a snapshot of a volume, and waits until it is there.
func (a *api) snapshot(volume, cluster string) string {
	a.t.Helper()
	id := a.must(http.MethodPost, "block-storage/snapshots", wrap("snapshot", "volume_id", volume, "name", "snapshot", "metadata", map[string]string{clusterTag: cluster}))["id"].(string)
	a.t.Cleanup(func() {
		a.call(http.MethodDelete, "block-storage/snapshots/"+id, nil)
		a.deleted("block-storage/snapshots/" + id)
	})
	a.status("block-storage/snapshots/"+id, "status", "available")
	return id
}

// status waits until an object's status is this.
func (a *api) status(path, field, want string) {
	a.t.Helper()
	eventually(a.t, path+" is "+want, func() bool { return a.must(http.MethodGet, path, nil)[field] == want })
}

// Waits until an object does not exist.
func (a *api) deleted(path string) {
	a.t.Helper()
	eventually(a.t, path+" has been deleted", func() bool { return a.call(http.MethodGet, path, nil).status == http.StatusNotFound })
}

// wantReason checks the kind of an error.
func wantReason(t *testing.T, what string, err error, want openstack.Reason) {
	t.Helper()
	if err == nil || openstack.ReasonOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

func TestVolumes(t *testing.T) {
	needTestbed(t)
	ctx, a, other := context.Background(), newProject(t), newProject(t)
	cinder := a.client(options()).BlockStorage()
	id, foreign := a.volume("k"), other.volume("k")
	snapshot := a.snapshot(id, "k")
	other.snapshot(foreign, "k")

	volumes, err := cinder.Volumes(ctx)
	if err != nil || len(volumes) != 1 {
		t.Fatalf("volumes %+v, %v", volumes, err)
	}
	if v := volumes[0]; v.ID != id || v.Name != "pvc" || v.Status != "available" || v.ProjectID != a.projectID || v.Metadata[clusterTag] != "k" || len(v.AttachedTo) != 0 {
		t.Errorf("volume %+v", v)
	}
	snapshots, err := cinder.Snapshots(ctx)
	if err != nil || len(snapshots) != 1 {
		t.Fatalf("snapshots %+v, %v", snapshots, err)
	}
	if s := snapshots[0]; s.ID != snapshot || s.VolumeID != id || s.Status != "available" || s.ProjectID != a.projectID || s.Metadata[clusterTag] != "k" {
		t.Errorf("snapshot %+v", s)
	}

	wantReason(t, "a volume with a snapshot", cinder.DeleteVolume(ctx, id), openstack.ReasonRefused)
	// A resource of another project does not exist for it, and remains.
	if err := cinder.DeleteVolume(ctx, foreign); err != nil {
		t.Error(err)
	}
	other.status("block-storage/volumes/"+foreign, "status", "available")
	for range 2 { // the second time it is on its way, or deleted
		if err := cinder.DeleteSnapshot(ctx, snapshot); err != nil && openstack.ReasonOf(err) != openstack.ReasonRefused {
			t.Error(err)
		}
	}
	a.deleted("block-storage/snapshots/" + snapshot)
	for _, remove := range []func() error{
		func() error { return cinder.DeleteVolume(ctx, id) },
		func() error { a.deleted("block-storage/volumes/" + id); return cinder.DeleteVolume(ctx, id) },
		func() error { return cinder.DeleteSnapshot(ctx, snapshot) },
	} {
		if err := remove(); err != nil {
			t.Error(err)
		}
	}
	if volumes, err := cinder.Volumes(ctx); len(volumes) != 0 || err != nil {
		t.Errorf("what is left: %+v, %v", volumes, err)
	}
}

// TestVolumeInUse attaches a volume to a server, and lets another end where no deletion ends well.
func TestVolumeInUse(t *testing.T) {
	needTestbed(t)
	ctx, a, admin := context.Background(), newProject(t), realUser(t, "admin")
	cinder := a.client(options()).BlockStorage()
	network, _, _ := a.network()
	id, failed := a.volume("k"), a.volume("k")
	server := a.server(network, "10.0.0.5")
	a.must(http.MethodPost, "compute/servers/"+server+"/os-volume_attachments", wrap("volumeAttachment", "volumeId", id))
	a.status("block-storage/volumes/"+id, "status", "in-use")
	reset := func(status string) {
		t.Helper()
		if got := admin.call(http.MethodPost, "block-storage/volumes/"+failed+"/action", wrap("os-reset_status", "status", status)); got.status != http.StatusAccepted {
			t.Fatalf("reset the status: %d %s", got.status, got.text)
		}
	}
	reset("error_deleting")
	volumes, err := cinder.Volumes(ctx)
	if err != nil || len(volumes) != 2 {
		t.Fatalf("volumes %+v, %v", volumes, err)
	}
	for _, v := range volumes {
		if v.ID == id && (v.Status != "in-use" || !slices.Equal(v.AttachedTo, []string{server})) || v.ID == failed && v.Status != "error_deleting" {
			t.Errorf("volume %+v", v)
		}
	}
	wantReason(t, "a volume of a server", cinder.DeleteVolume(ctx, id), openstack.ReasonRefused)
	wantReason(t, "a volume whose deletion failed", cinder.DeleteVolume(ctx, failed), openstack.ReasonRefused)
	reset("available")
	nova := a.client(options()).Compute()
	for range 2 { // a volume that is no longer attached is fine
		if err := nova.DetachVolume(ctx, server, id); err != nil {
			t.Error(err)
		}
		a.status("block-storage/volumes/"+id, "status", "available")
	}
	if err := nova.DetachVolume(ctx, unknownID, id); err != nil {
		t.Errorf("a server that is not: %v", err)
	}
	a.deleteServer(server)
	if err := cinder.DeleteVolume(ctx, id); err != nil {
		t.Error(err)
	}
}

// TestCinderStopped sends requests without Cinder's API, and without the part of it that deletes.
func TestCinderStopped(t *testing.T) {
	needTestbed(t)
	ctx, a := context.Background(), newProject(t)
	id := a.volume("k")
	o := options()
	o.Attempts, o.Timeout = 2, 10*time.Second
	cinder := a.client(o).BlockStorage()
	t.Cleanup(func() { control(t, nil, "up") })
	control(t, nil, "stop", "cinder-volume")
	if err := cinder.DeleteVolume(ctx, id); err != nil {
		t.Error(err)
	}
	if volumes, err := cinder.Volumes(ctx); err != nil || len(volumes) != 1 || volumes[0].Status != "deleting" {
		t.Errorf("without the service that deletes: %+v, %v", volumes, err)
	}
	wantReason(t, "a volume that is being deleted", cinder.DeleteVolume(ctx, id), openstack.ReasonRefused)
	control(t, nil, "stop", "cinder-api")
	if volumes, err := cinder.Volumes(ctx); openstack.ReasonOf(err) != openstack.ReasonUnreachable || volumes != nil {
		t.Errorf("without the API: %+v, %v", volumes, err)
	}
	control(t, nil, "up")
	a.deleted("block-storage/volumes/" + id)
}
