// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

func service(name string, change ...func(*inventory.Service)) inventory.Service {
	s := inventory.Service{Meta: meta(name), LoadBalancer: true}
	for _, f := range change {
		f(&s)
	}
	return s
}

func excluded(s *inventory.Service)    { s.Keep = true }
func others(s *inventory.Service)      { s.Class = "example.com/lb" }
func terminating(s *inventory.Service) { deleting(&s.Meta) }
func changed(s *inventory.Service) {
	s.LoadBalancer, s.Finalizers = false, []string{inventory.LoadBalancerFinalizer}
}

func retainBalancers(s *stage.Work) { s.Policies.LoadBalancers = kubernikusv1.DeletionPolicyRetain }
func retainAddresses(s *stage.Work) { s.Policies.FloatingIPs = kubernikusv1.DeletionPolicyRetain }

func TestServices(t *testing.T) {
	const foreign = "retained Service a: its loadBalancerClass example.com/lb is another provider's"
	for name, c := range map[string]struct {
		service inventory.Service
		change  func(*stage.Work)
		want    []string
	}{
		"load balancer":                  {service("a"), nil, []string{"delete Service a"}},
		"not recorded":                   {service("a"), unrecorded, []string{"remains Service a: it is recorded in the status first"}},
		"another one recorded":           {service("a"), func(s *stage.Work) { s.Recorded.Services[0].UID = "older" }, []string{"remains Service a: it is recorded in the status first"}},
		"another provider's":             {service("a", others), nil, []string{foreign}},
		"being deleted":                  {service("a", terminating), nil, nil},
		"of another type by now":         {service("a", changed), nil, nil},
		"retained":                       {service("a"), retainBalancers, []string{"retained Service a: spec.deorbit.loadBalancers is Retain"}},
		"retained, another's":            {service("a", others), retainBalancers, []string{foreign}},
		"keeps its address":              {service("a", excluded), nil, []string{"delete Service a"}},
		"keeps it, recorded without":     {service("a", excluded), func(s *stage.Work) { s.Recorded.Services[0].KeepFloatingIP = false }, []string{"remains Service a: it is recorded in the status first"}},
		"instructed to keep it":          {service("a"), retainAddresses, []string{"keep-ip Service a"}},
		"was instructed to keep it":      {service("a", excluded), retainAddresses, []string{"delete Service a"}},
		"address kept, and balancer":     {service("a"), func(s *stage.Work) { retainBalancers(s); retainAddresses(s) }, []string{"retained Service a: spec.deorbit.loadBalancers is Retain"}},
		"a policy that is unknown":       {service("a"), func(s *stage.Work) { s.Policies.LoadBalancers = "" }, []string{"retained Service a: spec.deorbit.loadBalancers is Retain"}},
		"an address policy of no client": {service("a"), func(s *stage.Work) { s.Policies.FloatingIPs = "" }, []string{"keep-ip Service a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{Services: []inventory.Service{c.service}}
			s := work(&w)
			if c.change != nil {
				c.change(&s)
			}
			p := Services(&w, s)
			check(t, p, c.want...)
			for _, step := range p.Steps {
				if !step.Exact {
					t.Error("a Service that changed since it was checked would go")
				}
			}
		})
	}
}

func TestWaitForVolumes(t *testing.T) {
	for name, c := range map[string]struct {
		volume inventory.Volume
		change func(*stage.Work)
		want   []string
	}{
		"released": {volume("a", func(v *inventory.Volume) { v.Phase = corev1.VolumeReleased }), nil,
			[]string{"remains PersistentVolume a: it is Released, and its claim was shop/a"}},
		"bound": {volume("a"), nil, []string{"remains PersistentVolume a: it is Bound, and its claim was shop/a"}},
		"going": {volume("a", func(v *inventory.Volume) { deleting(&v.Meta) }), nil,
			[]string{"remains PersistentVolume a: it is being deleted since 2026-11-22T11:59:00Z; finalizers: protection"}},
		"kept":        {volume("a", keeps), nil, []string{"retained PersistentVolume a: its reclaim policy is not Delete"}},
		"unclaimed":   {volume("a", unclaimed), nil, nil},
		"failed":      {volume("a", func(v *inventory.Volume) { v.Phase = corev1.VolumeFailed }), nil, nil},
		"another's":   {volume("a", foreign), nil, nil},
		"all retains": {volume("a"), retainVolumes, []string{"retained PersistentVolume a: spec.deorbit.persistentVolumes is Retain"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{Volumes: []inventory.Volume{c.volume}}
			s := work(&w, unrecorded) // waiting deletes nothing
			if c.change != nil {
				c.change(&s)
			}
			check(t, Wait(&w, s), c.want...)
		})
	}
}

// TestWaitForVolumesOfSnapshots checks that volumes of retained snapshots are not waited for, because Cinder does not delete a
// volume with a snapshot.
func TestWaitForVolumesOfSnapshots(t *testing.T) {
	const deleted, stays = "remains PersistentVolume a: it is Bound…", "retained PersistentVolume a: VolumeSnapshotContent s of it stays, and Cinder deletes no volume that has a snapshot"
	retain := func(s *stage.Work) { s.Policies.Snapshots = kubernikusv1.DeletionPolicyRetain }
	for name, c := range map[string]struct {
		content func(*inventory.Content)
		change  func(*stage.Work)
		want    string
	}{
		"deleted":                   {nil, nil, deleted},
		"kept by its own policy":    {func(c *inventory.Content) { c.Delete = false }, nil, stays},
		"kept by own":               {nil, retain, stays},
		"deleted by another client": {func(c *inventory.Content) { deleting(&c.Meta) }, retain, deleted},
		"kept, its object deleted":  {func(c *inventory.Content) { c.Delete = false; deleting(&c.Meta) }, retain, stays},
		"of another volume":         {func(c *inventory.Content) { c.Volume = "id-b" }, retain, deleted},
		"of an unnamed volume":      {func(c *inventory.Content) { c.Volume = "" }, retain, deleted},
		"not taken yet":             {func(c *inventory.Content) { c.Handle = "" }, retain, deleted},
		"another driver's":          {func(c *inventory.Content) { c.Driver = "other" }, retain, deleted},
		"a policy it is unknown":    {nil, func(s *stage.Work) { s.Policies.Snapshots = "" }, stays},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{Volumes: []inventory.Volume{volume("a")}, Contents: []inventory.Content{content("s", func(k *inventory.Content) { k.Volume = "id-a" })}}
			if c.content != nil {
				c.content(&w.Contents[0])
			}
			s := work(&w)
			if c.change != nil {
				c.change(&s)
			}
			check(t, Wait(&w, s), c.want)
		})
	}
}

// TestWaitInCluster checks that what an earlier stage left behind is waited for where nothing else finds it.
func TestWaitInCluster(t *testing.T) {
	failed := func(v *inventory.Volume) { v.Phase = corev1.VolumeFailed }
	taken := []kubernikusv1.SeenSnapshot{{ID: "id-s", Name: "s", DeletionPolicy: "Delete"}}
	for name, c := range map[string]struct {
		world    inventory.World
		recorded []kubernikusv1.SeenSnapshot
		noCloud  bool
		policies func(*stage.Work)
		want     []string
	}{
		"a volume that failed":             {world: inventory.World{Volumes: []inventory.Volume{volume("a", failed)}}, noCloud: true, want: []string{"remains PersistentVolume a: it is Failed…"}},
		"on OpenStack, a volume":           {world: inventory.World{Volumes: []inventory.Volume{volume("a", failed)}}},
		"a content":                        {world: inventory.World{Contents: []inventory.Content{content("s")}}, noCloud: true, want: []string{"remains VolumeSnapshotContent s: it was not deleted"}},
		"on OpenStack, a content":          {world: inventory.World{Contents: []inventory.Content{content("s")}}},
		"a content that is kept":           {world: inventory.World{Contents: []inventory.Content{content("s", func(c *inventory.Content) { c.Delete = false })}}, noCloud: true},
		"a content, when snapshots stay":   {world: inventory.World{Contents: []inventory.Content{content("s")}}, noCloud: true, policies: func(s *stage.Work) { s.Policies.Snapshots = kubernikusv1.DeletionPolicyRetain }},
		"a content, when everything stays": {world: inventory.World{Contents: []inventory.Content{content("s")}}, noCloud: true, policies: retainVolumes},
		"a snapshot whose API is gone": {world: inventory.World{Listed: inventory.Listed{Snapshots: true}}, recorded: taken, noCloud: true,
			want: []string{"remains VolumeSnapshotContent s: the cluster has no API of snapshots any more…"}},
		"a snapshot that was deleted":       {world: inventory.World{Listed: inventory.Listed{Snapshots: true}, SnapshotsServed: true}, recorded: taken, noCloud: true},
		"on OpenStack, its API is gone":     {world: inventory.World{Listed: inventory.Listed{Snapshots: true}}, recorded: taken},
		"a claim without a volume":          {world: inventory.World{Claims: []inventory.Claim{{Meta: inventory.Meta{Namespace: "shop", Name: "data"}, Provisioner: inventory.DriverCinder}}}, noCloud: true, want: []string{"remains PersistentVolumeClaim data: it was not deleted"}},
		"on OpenStack, a claim without one": {world: inventory.World{Claims: []inventory.Claim{{Meta: inventory.Meta{Namespace: "shop", Name: "data"}, Provisioner: inventory.DriverCinder}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := work(&c.world)
			s.Recorded.Snapshots = append(s.Recorded.Snapshots, c.recorded...)
			s.Kluster = &kubernikusv1.Kluster{Spec: kubernikusv1.KlusterSpec{NoCloud: c.noCloud}}
			if c.policies != nil {
				c.policies(&s)
			}
			check(t, Wait(&c.world, s), c.want...)
		})
	}
}

func TestWaitForServices(t *testing.T) {
	const grace = "remains Service lost: it has been deleted without finalizer…"
	recorded := func(s *stage.Work) {
		s.Recorded.Services = []kubernikusv1.SeenService{{UID: "lost", Namespace: "shop", Name: "lost"}}
	}
	for name, c := range map[string]struct {
		services  []inventory.Service
		finalized types.UID
		change    func(*stage.Work)
		want      []string
	}{
		"going":               {services: []inventory.Service{service("a", terminating)}, want: []string{"remains Service a: it is being deleted…"}},
		"going, another's":    {services: []inventory.Service{service("a", terminating, others)}, want: []string{"retained Service a: its loadBalancerClass…"}},
		"still there":         {services: []inventory.Service{service("a")}, want: []string{"remains Service a: it was not deleted"}},
		"cleaned up":          {services: []inventory.Service{service("a", changed)}, want: []string{"remains Service a: its load balancer is not cleaned up…"}},
		"retained":            {services: []inventory.Service{service("a"), service("b", terminating)}, change: retainBalancers, want: []string{"retained Service a…", "retained Service b…"}},
		"deleted, unobserved": {change: recorded, want: []string{grace}},
		"deleted, observed":   {change: recorded, finalized: "lost"},
		"deleted, retained":   {change: func(s *stage.Work) { recorded(s); retainBalancers(s) }},
		"deleted, other's":    {change: recorded, finalized: "other", want: []string{grace}},
		"grace almost over":   {change: func(s *stage.Work) { recorded(s); s.Now = s.Began.Add(2*time.Minute - 1) }, want: []string{grace}},
		"grace over":          {change: func(s *stage.Work) { recorded(s); s.Now = s.Began.Add(2 * time.Minute) }},
		"there again":         {services: []inventory.Service{service("lost", terminating)}, change: recorded, want: []string{"remains Service lost: it is being deleted…"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{Services: c.services, Finalized: map[types.UID]bool{c.finalized: true}}
			s := work(&w)
			if c.change != nil {
				c.change(&s)
			}
			check(t, Wait(&w, s), c.want...)
		})
	}
}
