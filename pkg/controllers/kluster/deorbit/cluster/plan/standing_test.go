// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

const (
	stillThere  = kubernikusv1.StandingPresent
	wasRejected = kubernikusv1.StandingRefused
	finalizer   = kubernikusv1.StandingFinalizer
)

// heldBy returns an object that is being deleted and held by these finalizers.
func heldBy(finalizers ...string) func(*inventory.Meta) {
	return func(m *inventory.Meta) { m.Deleted, m.Finalizers = noon, finalizers }
}

// TestVolumesStand checks that a volume is deleted in OpenStack only if no object of a responding cluster refers to it.
func TestVolumesStand(t *testing.T) {
	phase := func(p corev1.PersistentVolumePhase) func(*inventory.Volume) {
		return func(v *inventory.Volume) { v.Phase = p }
	}
	backup := func(v *inventory.Volume) {
		v.Finalizers = []string{"kubernetes.io/pv-protection", "backup.example.com/keep"}
	}
	all := inventory.Listed{Claims: true, Volumes: true}
	for name, c := range map[string]struct {
		claims   []inventory.Claim
		volumes  []inventory.Volume
		recorded kubernikusv1.Standing
		listed   inventory.Listed
		want     kubernikusv1.Standing
	}{
		"its claim is not being deleted":      {claims: []inventory.Claim{claim("a")}, volumes: []inventory.Volume{volume("a")}, listed: all, want: stillThere},
		"the cluster rejected":                {claims: []inventory.Claim{claim("a")}, volumes: []inventory.Volume{volume("a")}, recorded: wasRejected, listed: all, want: wasRejected},
		"its claim is being deleted":          {claims: []inventory.Claim{claim("a", heldBy("kubernetes.io/pvc-protection"))}, volumes: []inventory.Volume{volume("a")}, recorded: wasRejected, listed: all, want: stillThere},
		"a stranger holds the claim":          {claims: []inventory.Claim{claim("a", heldBy("kubernetes.io/pvc-protection", "x.example.com/y"))}, volumes: []inventory.Volume{volume("a")}, listed: all, want: finalizer},
		"still bound":                         {volumes: []inventory.Volume{volume("a")}, listed: all, want: stillThere},
		"released":                            {volumes: []inventory.Volume{volume("a", phase(corev1.VolumeReleased))}, recorded: stillThere, listed: all, want: ""},
		"failed":                              {volumes: []inventory.Volume{volume("a", phase(corev1.VolumeFailed))}, recorded: wasRejected, listed: all, want: ""},
		"a stranger holds the volume":         {volumes: []inventory.Volume{volume("a", phase(corev1.VolumeReleased), backup)}, listed: all, want: finalizer},
		"gone":                                {recorded: stillThere, listed: all, want: ""},
		"deleted, but a claim has it":         {claims: []inventory.Claim{claim("a")}, recorded: stillThere, listed: all, want: stillThere},
		"bound, and claims were not listed":   {volumes: []inventory.Volume{volume("a")}, recorded: wasRejected, listed: inventory.Listed{Volumes: true}, want: wasRejected},
		"deleted, and claims were not listed": {recorded: stillThere, listed: inventory.Listed{Volumes: true}, want: stillThere},
		"nothing was listed":                  {recorded: wasRejected, want: wasRejected},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := stage.Seen{Volumes: []kubernikusv1.SeenVolume{{ID: "id-a", Name: "a", ReclaimPolicy: "Delete", Standing: c.recorded}}}
			got := c.recorded
			for _, v := range seen(&inventory.World{Claims: c.claims, Volumes: c.volumes, Listed: c.listed}, recorded).Volumes {
				if c.listed.Volumes && v.ID == "id-a" {
					got = v.Standing
				}
			}
			if got != c.want {
				t.Errorf("standing = %q, want %q", got, c.want)
			}
		})
	}
}

func TestSnapshotsStand(t *testing.T) {
	const bound = "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection"
	of := func(name string, change ...func(*inventory.Meta)) inventory.Snapshot {
		return inventory.Snapshot{Meta: meta(name, change...), Content: name}
	}
	only := func(change func(*inventory.Meta)) inventory.Content {
		c := content("a")
		change(&c.Meta)
		return c
	}
	for name, c := range map[string]struct {
		snapshots []inventory.Snapshot
		contents  []inventory.Content
		recorded  kubernikusv1.Standing
		unlisted  bool
		want      kubernikusv1.Standing
	}{
		"not being deleted":          {snapshots: []inventory.Snapshot{of("a")}, contents: []inventory.Content{content("a")}, want: stillThere},
		"refused":                    {snapshots: []inventory.Snapshot{of("a")}, contents: []inventory.Content{content("a")}, recorded: wasRejected, want: wasRejected},
		"being deleted":              {snapshots: []inventory.Snapshot{of("a", heldBy(bound))}, contents: []inventory.Content{content("a")}, recorded: stillThere, want: ""},
		"a stranger holds it":        {snapshots: []inventory.Snapshot{of("a", heldBy(bound, "x.example.com/y"))}, contents: []inventory.Content{content("a")}, want: finalizer},
		"the content alone":          {contents: []inventory.Content{content("a")}, want: stillThere},
		"the content is going":       {contents: []inventory.Content{only(heldBy("snapshot.storage.kubernetes.io/volumesnapshotcontent-bound-protection"))}, recorded: wasRejected, want: ""},
		"a stranger has the content": {contents: []inventory.Content{only(heldBy("x.example.com/y"))}, want: finalizer},
		"gone":                       {recorded: stillThere, want: ""},
		"not listed":                 {recorded: wasRejected, unlisted: true, want: wasRejected},
	} {
		t.Run(name, func(t *testing.T) {
			recorded := stage.Seen{Snapshots: []kubernikusv1.SeenSnapshot{{ID: "id-a", Name: "a", DeletionPolicy: "Delete", Standing: c.recorded}}}
			got := c.recorded
			for _, s := range seen(&inventory.World{Snapshots: c.snapshots, Contents: c.contents, Listed: inventory.Listed{Snapshots: !c.unlisted}}, recorded).Snapshots {
				got = s.Standing
			}
			if got != c.want {
				t.Errorf("standing = %q, want %q", got, c.want)
			}
		})
	}
}

func TestServicesStand(t *testing.T) {
	changed := func(change func(*inventory.Service)) inventory.Service {
		s := service("a")
		change(&s)
		return s
	}
	going := func(finalizers ...string) inventory.Service {
		return changed(func(s *inventory.Service) { heldBy(finalizers...)(&s.Meta) })
	}
	before := kubernikusv1.SeenService{UID: "a", Namespace: "shop", Name: "a", LoadBalancerID: "b", Address: "1.2.3.4", Finalized: true}
	with := func(standing kubernikusv1.Standing, deleted bool) kubernikusv1.SeenService {
		s := before
		s.Standing, s.Gone = standing, deleted
		return s
	}
	for name, c := range map[string]struct {
		services []inventory.Service
		recorded kubernikusv1.Standing
		want     kubernikusv1.SeenService
	}{
		"not being deleted":      {[]inventory.Service{service("a")}, "", with(stillThere, false)},
		"refused":                {[]inventory.Service{service("a")}, wasRejected, with(wasRejected, false)},
		"its controller is dead": {[]inventory.Service{going(inventory.LoadBalancerFinalizer)}, wasRejected, with("", false)},
		"a stranger holds it":    {[]inventory.Service{going(inventory.LoadBalancerFinalizer, "x.example.com/y")}, "", with(finalizer, false)},
		"of another type by now": {[]inventory.Service{changed(func(s *inventory.Service) { s.LoadBalancer = false })}, stillThere, with("", false)},
		"gone":                   {nil, stillThere, with("", true)},
		"its record reports what was there": {[]inventory.Service{changed(func(s *inventory.Service) { s.BalancerID, s.Address = "c", "1.2.3.5" })}, "", kubernikusv1.SeenService{
			UID: "a", Namespace: "shop", Name: "a", LoadBalancerID: "c", Address: "1.2.3.5", Finalized: true, Standing: stillThere}},
	} {
		t.Run(name, func(t *testing.T) {
			got := seen(&inventory.World{Services: c.services, Listed: inventory.Listed{Services: true}}, stage.Seen{Services: []kubernikusv1.SeenService{with(c.recorded, false)}}).Services
			if len(got) != 1 || got[0] != c.want {
				t.Errorf("recorded %+v, want %+v", got, c.want)
			}
		})
	}
}

// TestReject checks that an object whose deletion the cluster rejects is recorded with its resource.
func TestReject(t *testing.T) {
	s := stage.Seen{Volumes: []kubernikusv1.SeenVolume{{ID: "v"}, {ID: "w"}}, Snapshots: []kubernikusv1.SeenSnapshot{{ID: "s"}}, Services: []kubernikusv1.SeenService{{UID: "u"}}}
	for _, step := range []Step{{Kind: KindClaim, ID: "v"}, {Kind: KindClaim}, {Kind: KindContent, ID: "s"}, {Kind: KindService, Object: meta("u")}, {Kind: KindPod, Object: meta("v")}} {
		Reject(&s, step)
	}
	if s.Volumes[0].Standing != wasRejected || s.Volumes[1].Standing != "" || s.Snapshots[0].Standing != wasRejected || s.Services[0].Standing != wasRejected {
		t.Errorf("recorded %+v", s)
	}
}
