// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// store has one DiscoveryBackend, or none. It counts what is written.
type store struct {
	backend *gimbalv1.DiscoveryBackend
	reads   int
	writes  int
	err     error
	// before is called before a write.
	before func()
}

func newStore() *store {
	return &store{backend: &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "eu", UID: "u", ResourceVersion: "1"}}}
}

func (s *store) Get(context.Context, string, metav1.GetOptions) (*gimbalv1.DiscoveryBackend, error) {
	s.reads++
	if s.err != nil {
		return nil, s.err
	}
	if s.backend == nil {
		return nil, apierrors.NewNotFound(gimbalv1.Resource("discoverybackends"), "eu")
	}
	return s.backend.DeepCopy(), nil
}

func (s *store) Patch(_ context.Context, name string, kind types.PatchType, patch []byte, options metav1.PatchOptions, subresources ...string) (*gimbalv1.DiscoveryBackend, error) {
	if do := s.before; do != nil {
		s.before = nil
		do()
	}
	var sent gimbalv1.DiscoveryBackend
	if err := json.Unmarshal(patch, &sent); err != nil {
		return nil, err
	}
	if kind != types.ApplyPatchType || len(subresources) != 1 || subresources[0] != "status" || options.FieldManager == "groundskeeper-discoverer" {
		return nil, errors.New("not an apply of the status by its own manager")
	}
	if sent.UID != s.backend.UID || sent.ResourceVersion != s.backend.ResourceVersion {
		return nil, apierrors.NewConflict(gimbalv1.Resource("discoverybackends"), name, errors.New("it has changed"))
	}
	s.writes++
	s.backend.ResourceVersion += "1"
	s.backend.Status.Identity = sent.Status.Identity
	return s.backend.DeepCopy(), nil
}

func cluster(id string) []gimbalv1.ClusterIdentity {
	return []gimbalv1.ClusterIdentity{{Object: "Namespace kube-system", ID: id}}
}

func (s *store) keeper() *Keeper { return &Keeper{Client: s, Namespace: "n", Name: "eu"} }

func TestKeeper(t *testing.T) {
	s := newStore()
	k := s.keeper()
	for range 3 {
		if err := k.Check(t.Context(), cluster("a")); err != nil {
			t.Fatal(err)
		}
	}
	if s.writes != 1 || s.reads != 1 || s.backend.Status.Identity[0].ID != "a" {
		t.Errorf("after three connections: %d reads, %d writes, identity = %v; want one of each, of a", s.reads, s.writes, s.backend.Status.Identity)
	}
	// Neither this process nor the next one accepts another cluster.
	for _, k := range []*Keeper{k, s.keeper()} {
		var rejection *Rejection
		if err := k.Check(t.Context(), cluster("b")); !errors.As(err, &rejection) || rejection.Type != gimbalv1.ErrorAnotherCluster {
			t.Fatalf("another cluster: error = %v, want a rejection", err)
		}
		for _, part := range []string{"Namespace kube-system has the id b, not a", "gimbal.heptio.com/confirmed-cluster: b", "DiscoveryBackend eu"} {
			if !strings.Contains(rejection.Message, part) {
				t.Errorf("message = %q, want it to contain %q", rejection.Message, part)
			}
		}
		if err := k.Check(t.Context(), cluster("a")); err != nil {
			t.Errorf("the recorded cluster again: %v", err)
		}
	}
	if s.writes != 1 {
		t.Errorf("a rejected cluster was recorded: %d writes, want 1", s.writes)
	}
	s.backend.Annotations = map[string]string{gimbalv1.AnnotationConfirmedCluster: "b"}
	if err := k.Check(t.Context(), cluster("b")); err != nil || s.backend.Status.Identity[0].ID != "b" {
		t.Errorf("confirmed: error = %v, identity = %v", err, s.backend.Status.Identity)
	}
	// The former one is another cluster now.
	if err := s.keeper().Check(t.Context(), cluster("a")); err == nil {
		t.Error("the cluster that was replaced is accepted")
	}
}

// TestKeeperLosesRace checks that, of two discoverers that connect to different clusters at the same time, only one records its
// cluster.
func TestKeeperLosesRace(t *testing.T) {
	s := newStore()
	s.before = func() {
		if err := s.keeper().Check(t.Context(), cluster("b")); err != nil {
			t.Error(err)
		}
	}
	if err := s.keeper().Check(t.Context(), cluster("a")); !errors.As(err, new(*Rejection)) {
		t.Errorf("error = %v, want a rejection", err)
	}
	if s.writes != 1 || s.backend.Status.Identity[0].ID != "b" {
		t.Errorf("%d writes, identity = %v", s.writes, s.backend.Status.Identity)
	}
}

// TestKeeperWithoutRecord checks that an unknown cluster is considered neither the same nor another one.
func TestKeeperWithoutRecord(t *testing.T) {
	s := newStore()
	s.err = errors.New("unavailable")
	if err := s.keeper().Check(t.Context(), cluster("a")); !errors.As(err, new(*LocalError)) {
		t.Errorf("error = %v, want a local one", err)
	}
	if s.writes > 0 {
		t.Error("it was recorded")
	}
}

func TestKeeperWithoutPermissions(t *testing.T) {
	s := newStore()
	if err := s.keeper().Check(t.Context(), nil); err != nil || s.writes > 0 {
		t.Errorf("error = %v, %d writes; want none", err, s.writes)
	}
	s.backend.Status.Identity = cluster("a")
	var rejection *Rejection
	if err := s.keeper().Check(t.Context(), nil); !errors.As(err, &rejection) || rejection.Type != gimbalv1.ErrorAuthentication {
		t.Errorf("error = %v, want a rejection that names the permission", err)
	}
}

// TestKeeperWithoutBackend checks that, without a DiscoveryBackend, the first cluster of the process is used.
func TestKeeperWithoutBackend(t *testing.T) {
	s := &store{}
	k := s.keeper()
	if err := k.Check(t.Context(), cluster("a")); err != nil {
		t.Error(err)
	}
	if err := k.Check(t.Context(), cluster("b")); !errors.As(err, new(*Rejection)) {
		t.Errorf("another cluster: error = %v, want a rejection", err)
	}
}
