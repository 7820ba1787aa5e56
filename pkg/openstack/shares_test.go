// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

func TestShares(t *testing.T) {
	s := newFake(t, fake.Options{PageSize: 2, Delay: -1})
	s.AddAdmin("gardener", secretWord, "garden")
	made := map[string]bool{}
	for range 5 {
		made[s.AddShare("garden", fake.Share{Name: "pvc", Metadata: map[string]string{"manila.csi.openstack.org/cluster": "k"}})] = true
	}
	s.AddShare("other", fake.Share{})
	c := connected(t, s).SharedFileSystems()
	shares, err := c.Shares(t.Context())
	if err != nil || len(shares) != len(made) {
		t.Fatalf("shares = %+v, %v; want all 5 of the project", shares, err)
	}
	for _, share := range shares {
		if !made[share.ID] || share.ProjectID != "garden" || share.Status != "available" || share.Metadata["manila.csi.openstack.org/cluster"] != "k" {
			t.Errorf("share = %+v, want one of %v with all that Manila reports", share, made)
		}
		delete(made, share.ID)
	}
	id := shares[0].ID
	snapshot := s.AddShareSnapshot("garden", fake.ShareSnapshot{ShareID: id})
	snapshots, err := c.Snapshots(t.Context())
	if want := (ShareSnapshot{ID: snapshot, Status: "available", ProjectID: "garden", ShareID: id}); err != nil || len(snapshots) != 1 || snapshots[0] != want {
		t.Errorf("snapshots = %+v, %v; want %+v", snapshots, err, want)
	}
	if err := c.DeleteShare(t.Context(), id); ReasonOf(err) != ReasonForbidden || !strings.Contains(err.Error(), "still has 1 dependent snapshots") {
		t.Errorf("deletion of a share with a snapshot: %v, want Manila's 403", err)
	}
	for range 2 { // the second one is fine, too
		if err := c.DeleteSnapshot(t.Context(), snapshot); err != nil {
			t.Error(err)
		}
		s.Settle()
		if err := c.DeleteShare(t.Context(), id); err != nil {
			t.Error(err)
		}
		s.Settle()
	}
	if left := s.Shares("garden"); len(left) != 4 {
		t.Errorf("%d shares are left, want 4", len(left))
	}
	s.Inject(fake.Fault{Path: "/share/v2/shares/detail", Skip: 1, Status: http.StatusInternalServerError})
	if shares, err := c.Shares(t.Context()); shares != nil || ReasonOf(err) != ReasonUnreachable || !strings.Contains(err.Error(), "page 2") {
		t.Errorf("with a page that fails: %v, %v; want no list", shares, err)
	}
	s.Heal()
	s.Inject(fake.Fault{Path: "/share/v2/shares/detail", Skip: 1, Status: http.StatusOK,
		Body: `{"shares": [{"id": "s", "status": "available", "project_id": "garden"}]}`}) // as when the one before was deleted
	if shares, err := c.Shares(t.Context()); shares != nil || ReasonOf(err) != ReasonIncomplete || !strings.Contains(err.Error(), "changed while it was read") {
		t.Errorf("with shares that moved while they were read: %v, %v; want an incomplete list", shares, err)
	}
	s.Heal()
	s.Inject(fake.Fault{Path: "/share/v2/shares/detail", Status: http.StatusOK, Body: `{"shares": [{"id": "s", "status": "available"}]}`})
	if shares, err := c.Shares(t.Context()); shares != nil || ReasonOf(err) != ReasonIncomplete {
		t.Errorf("of an unknown project: %v, %v; want an incomplete list", shares, err)
	}
}

func TestWithoutManila(t *testing.T) {
	c := connected(t, newFake(t, fake.Options{Without: []string{"shared-file-system"}})).SharedFileSystems()
	if _, err := c.Shares(t.Context()); ReasonOf(err) != ReasonServiceMissing {
		t.Errorf("shares without Manila in the catalog: %v, want ServiceMissing", err)
	}
}
