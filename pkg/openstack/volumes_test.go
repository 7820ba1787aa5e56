// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestVolumes(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	s.AddAdmin("gardener", secretWord, "garden")
	var made []string
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		made = append(made, s.AddVolume("garden", fake.Volume{Name: name, Metadata: map[string]string{"cinder.csi.openstack.org/cluster": "k"}}))
	}
	s.AddVolume("other", fake.Volume{Name: "theirs"})
	s.ChangeVolume(made[1], func(v *fake.Volume) { v.AttachedTo = []string{"s1", "s2"} })
	c := connected(t, s).BlockStorage()
	volumes, err := c.Volumes(t.Context())
	if err != nil || len(volumes) != 5 {
		t.Fatalf("got %v, %v", volumes, err)
	}
	for _, v := range volumes {
		attached := v.Name == "b"
		if v.ID == "" || v.ProjectID != "garden" || v.Metadata["cinder.csi.openstack.org/cluster"] != "k" ||
			(v.Status == "in-use") != attached || attached != slices.Equal(v.AttachedTo, []string{"s1", "s2"}) {
			t.Errorf("got %+v", v)
		}
	}
	requests := s.Requests()
	if n := count(requests, "GET", "/volume/v3/volumes/detail"); n != 3 {
		t.Errorf("%d pages: %v", n, lines(requests))
	}
	for _, r := range requests {
		if strings.Contains(r.Query, "all_tenants") {
			t.Errorf("it requests the volumes of all: %s", r.Query)
		}
	}
	s.Inject(fake.Fault{Path: "/volume/v3/volumes/detail", Skip: 1, Status: 500})
	if volumes, err := c.Volumes(t.Context()); volumes != nil || ReasonOf(err) != ReasonUnreachable || !strings.Contains(err.Error(), "page 2") {
		t.Errorf("with a page that fails: %v, %v", volumes, err)
	}
}

func TestSnapshots(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2})
	volume := s.AddVolume("garden", fake.Volume{})
	for range 3 {
		s.AddSnapshot("garden", fake.Snapshot{Name: "s", VolumeID: volume, Metadata: map[string]string{"key": "value"}})
	}
	s.AddSnapshot("other", fake.Snapshot{VolumeID: volume})
	c := connected(t, s).BlockStorage()
	snapshots, err := c.Snapshots(t.Context())
	if err != nil || len(snapshots) != 3 {
		t.Fatalf("got %v, %v", snapshots, err)
	}
	for _, v := range snapshots {
		if v.ID == "" || v.Name != "s" || v.Status != "available" || v.ProjectID != "garden" || v.VolumeID != volume || v.Metadata["key"] != "value" {
			t.Errorf("got %+v", v)
		}
	}
}

func TestVolumesThatCannotBeReliedOn(t *testing.T) {
	for path, bodies := range map[string][]string{
		"volumes":   {`{}`, `{"volumes": [{"id": "a"}]}`, `{"volumes": [{"status": "available"}]}`, `{"volumes": [], "volumes_links": 1}`},
		"snapshots": {`{"snapshots": null}`, `{"snapshots": [{"id": "a"}]}`, `{"snapshots": [{"status": "available"}]}`},
	} {
		for _, body := range bodies {
			s := newFake(t, fake.Options{})
			c := connected(t, s).BlockStorage()
			s.Inject(fake.Fault{Path: "/volume/v3/" + path + "/detail", Status: 200, Body: body})
			volumes, err := c.Volumes(t.Context())
			n := len(volumes)
			if path == "snapshots" {
				snapshots, failed := c.Snapshots(t.Context())
				n, err = len(snapshots), failed
			}
			if n != 0 || ReasonOf(err) != ReasonIncomplete {
				t.Errorf("%s: got %d, %v", body, n, err)
			}
		}
	}
}

func TestDeleteVolume(t *testing.T) {
	s := newFake(t, fake.Options{})
	client := connected(t, s)
	c := client.BlockStorage()
	free := s.AddVolume("garden", fake.Volume{})
	used := s.AddVolume("garden", fake.Volume{AttachedTo: []string{"server"}})
	parent := s.AddVolume("garden", fake.Volume{})
	snapshot := s.AddSnapshot("garden", fake.Snapshot{VolumeID: parent})
	foreign := s.AddVolume("other", fake.Volume{})
	for _, id := range []string{used, parent} {
		err := c.DeleteVolume(t.Context(), id)
		if ReasonOf(err) != ReasonRefused || !strings.Contains(err.Error(), "delete volume "+id) || !strings.Contains(err.Error(), "must not be migrating, attached") {
			t.Errorf("a volume that is used: %v", err)
		}
	}
	s.Hold(free, snapshot)
	if err := c.DeleteVolume(t.Context(), free); err != nil {
		t.Error(err)
	}
	if volumes, err := c.Volumes(t.Context()); err != nil || !slices.ContainsFunc(volumes, func(v Volume) bool { return v.ID == free && v.Status == "deleting" }) {
		t.Errorf("on its way: %v, %v", volumes, err)
	}
	if err := c.DeleteVolume(t.Context(), free); ReasonOf(err) != ReasonRefused {
		t.Errorf("on its way already: %v", err)
	}
	if err := c.DeleteSnapshot(t.Context(), snapshot); err != nil {
		t.Error(err)
	}
	if err := c.DeleteSnapshot(t.Context(), snapshot); ReasonOf(err) != ReasonRefused || !strings.Contains(err.Error(), "Snapshot status must be available or error") {
		t.Errorf("on its way already: %v", err)
	}
	if err := c.DeleteVolume(t.Context(), parent); ReasonOf(err) != ReasonRefused {
		t.Errorf("while a snapshot is being deleted: %v", err)
	}
	s.Release(free, snapshot)
	s.FailDeletion(true, parent)
	for _, id := range []string{parent, free, foreign, "none"} {
		if err := c.DeleteVolume(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if err := c.DeleteSnapshot(t.Context(), snapshot); err != nil {
		t.Errorf("already deleted: %v", err)
	}
	volumes, err := c.Volumes(t.Context())
	if err != nil || len(volumes) != 2 || !slices.ContainsFunc(volumes, func(v Volume) bool { return v.ID == parent && v.Status == "error_deleting" }) {
		t.Errorf("in the end: %v, %v", volumes, err)
	}
	if left := s.Volumes("other"); len(left) != 1 {
		t.Errorf("of the neighbour: %v", left)
	}
}

// TestIDsInPaths sends requests with what users may have written into the places of ids.
func TestIDsInPaths(t *testing.T) {
	s := newFake(t, fake.Options{})
	client := connected(t, s)
	for _, id := range []string{"", ".", ".."} {
		for name, err := range map[string]error{
			"volume": client.BlockStorage().DeleteVolume(t.Context(), id), "snapshot": client.BlockStorage().DeleteSnapshot(t.Context(), id),
			"load balancer": client.LoadBalancing().DeleteLoadBalancer(t.Context(), id), "floating IP": client.Network().DeleteFloatingIP(t.Context(), id),
			"security group": client.Network().DeleteSecurityGroup(t.Context(), id),
		} {
			if ReasonOf(err) != ReasonRefused || !strings.Contains(err.Error(), "delete "+name) {
				t.Errorf("%s %q: %v", name, id, err)
			}
		}
	}
	for _, r := range s.Requests() {
		if r.Method == http.MethodDelete {
			t.Errorf("a request left: %s", r.Path)
		}
	}
	victim := s.AddVolume("garden", fake.Volume{})
	for _, id := range []string{"../volumes/" + victim, victim + "?cascade=true", victim + "#x", "x/" + victim} {
		if err := client.BlockStorage().DeleteVolume(t.Context(), id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if left := s.Volumes("garden"); len(left) != 1 || left[0].Status != "available" {
		t.Errorf("left: %v", left)
	}
}

func TestServicesThatAreMissing(t *testing.T) {
	s := newFake(t, fake.Options{Without: []string{"block-storage", "volumev3", "load-balancer"}})
	client := connected(t, s)
	for name, do := range map[string]func() error{
		"volumes":        func() error { _, err := client.BlockStorage().Volumes(t.Context()); return err },
		"load balancers": func() error { _, err := client.LoadBalancing().LoadBalancers(t.Context()); return err },
		"delete":         func() error { return client.LoadBalancing().DeleteLoadBalancer(t.Context(), "x") },
	} {
		if err := do(); ReasonOf(err) != ReasonServiceMissing {
			t.Errorf("%s: %v", name, err)
		}
	}
	// volumev3 is the older name of block-storage.
	older := newFake(t, fake.Options{Without: []string{"block-storage"}})
	if _, err := connected(t, older).BlockStorage().Volumes(t.Context()); err != nil {
		t.Errorf("by its older name: %v", err)
	}
}
