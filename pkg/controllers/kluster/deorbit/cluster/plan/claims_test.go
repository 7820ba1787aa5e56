// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// meta returns an object of namespace shop. Its uid is its name.
func meta(name string, change ...func(*inventory.Meta)) inventory.Meta {
	m := inventory.Meta{Namespace: "shop", Name: name, UID: types.UID(name), ResourceVersion: "1", Created: noon.Add(-time.Hour)}
	for _, f := range change {
		f(&m)
	}
	return m
}

func deleting(m *inventory.Meta) {
	m.Deleted, m.Finalizers = noon.Add(-time.Minute), []string{"protection"}
}

// volume returns one of Cinder that a claim of the same name has, and that is deleted with it.
func volume(name string, change ...func(*inventory.Volume)) inventory.Volume {
	v := inventory.Volume{Meta: meta(name), ID: "id-" + name, Delete: true, Phase: corev1.VolumeBound,
		Claim: inventory.Reference{NamespacedName: types.NamespacedName{Namespace: "shop", Name: name}, UID: types.UID(name)}}
	v.Namespace = ""
	for _, f := range change {
		f(&v)
	}
	return v
}

func keeps(v *inventory.Volume)     { v.Delete = false }
func foreign(v *inventory.Volume)   { v.ID = "" }
func unclaimed(v *inventory.Volume) { v.Claim = inventory.Reference{} }

func claim(name string, change ...func(*inventory.Meta)) inventory.Claim {
	return inventory.Claim{Meta: meta(name, change...), Volume: name}
}

func pod(name, node string, uses string, change ...func(*inventory.Pod)) inventory.Pod {
	p := inventory.Pod{Meta: meta(name), Node: node, Claims: []inventory.Use{{Claim: uses}}}
	for _, f := range change {
		f(&p)
	}
	return p
}

// work deletes everything, and has everything recorded.
func work(w *inventory.World, change ...func(*stage.Work)) stage.Work {
	all := kubernikusv1.DeletionPolicyDelete
	s := stage.Work{Policies: stage.Policies{PersistentVolumes: all, LoadBalancers: all, FloatingIPs: all, Snapshots: all, ServiceGracePeriod: 2 * time.Minute},
		Recorded: seen(w, stage.Seen{}), Began: noon, Now: noon.Add(time.Minute)}
	for _, f := range change {
		f(&s)
	}
	return s
}

func unrecorded(s *stage.Work)    { s.Recorded = stage.Seen{} }
func retainVolumes(s *stage.Work) { s.Policies.PersistentVolumes = kubernikusv1.DeletionPolicyRetain }

// A plan in words, one line for each object: what is done to it or reported about it.
func descriptions(p Plan) []string {
	var lines []string
	for _, s := range p.Steps {
		lines = append(lines, fmt.Sprintf("%s %s %s", [...]string{"delete", "kill", "keep-ip"}[s.Action], s.Kind, s.Object.Name))
	}
	for _, o := range p.Remaining {
		lines = append(lines, fmt.Sprintf("remains %s %s: %s", o.Kind, o.Name, o.Reason))
	}
	for _, o := range p.Retained {
		lines = append(lines, fmt.Sprintf("retained %s %s: %s", o.Kind, o.Name, o.Reason))
	}
	slices.Sort(lines)
	return lines
}

// check compares a plan with lines, of which the end of a reason may be left out behind "…".
func check(t *testing.T, p Plan, want ...string) {
	t.Helper()
	got := descriptions(p)
	for i := range got {
		if i < len(want) {
			if begin, ok := strings.CutSuffix(want[i], "…"); ok && strings.HasPrefix(got[i], begin) {
				got[i] = want[i]
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestClaims(t *testing.T) {
	for name, c := range map[string]struct {
		world  inventory.World
		change func(*stage.Work)
		pods   []string
		claims []string // nil: as pods
	}{
		"bound": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a")}, Claims: []inventory.Claim{claim("a")}, Pods: []inventory.Pod{pod("p", "n", "a")}},
			// Its pods have their turn when it is being deleted: until then they could come again.
			pods: []string{"delete PersistentVolumeClaim a"},
		},
		"another driver's": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a", foreign)}, Claims: []inventory.Claim{claim("a")}, Pods: []inventory.Pod{pod("p", "n", "a")}},
		},
		"not recorded": {
			world:  inventory.World{Volumes: []inventory.Volume{volume("a")}, Claims: []inventory.Claim{claim("a")}},
			change: unrecorded,
			pods:   []string{"remains PersistentVolumeClaim a: it is recorded in the status first"},
		},
		"recorded with another policy": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a")}, Claims: []inventory.Claim{claim("a")}},
			change: func(s *stage.Work) {
				s.Recorded.Volumes = []kubernikusv1.SeenVolume{{ID: "id-a", ReclaimPolicy: "Retain"}}
			},
			pods: []string{"remains PersistentVolumeClaim a: it is recorded in the status first"},
		},
		"its volume is kept": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a", keeps)}, Claims: []inventory.Claim{claim("a")}},
			pods:  []string{"delete PersistentVolumeClaim a", "retained PersistentVolume a: its reclaim policy is not Delete"},
		},
		"all volumes are kept": {
			world:  inventory.World{Volumes: []inventory.Volume{volume("a"), volume("b", foreign)}, Claims: []inventory.Claim{claim("a")}, Pods: []inventory.Pod{pod("p", "n", "a")}},
			change: retainVolumes,
			pods:   []string{"retained PersistentVolume a: spec.deorbit.persistentVolumes is Retain"},
		},
		"a policy that is unknown": {
			world:  inventory.World{Volumes: []inventory.Volume{volume("a")}, Claims: []inventory.Claim{claim("a")}},
			change: func(s *stage.Work) { s.Policies.PersistentVolumes = "" },
			pods:   []string{"retained PersistentVolume a: spec.deorbit.persistentVolumes is Retain"},
		},
		"no claim ever": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a", unclaimed)}},
			pods:  nil,
		},
		"pending": {
			world: inventory.World{Classes: []inventory.Class{{Name: "fast", Provisioner: inventory.DriverCinder}},
				Claims: []inventory.Claim{{Meta: meta("a"), Class: new("fast")}, {Meta: meta("b"), Class: new("other")}}},
			change: unrecorded,
			pods:   []string{"delete PersistentVolumeClaim a"},
		},
		"going": {
			world: inventory.World{Volumes: []inventory.Volume{volume("a")}, Claims: []inventory.Claim{claim("a", deleting)},
				Pods: []inventory.Pod{pod("p", "n", "a"), pod("q", "n", "b")}},
			pods:   []string{"delete Pod p"},
			claims: []string{"delete Pod p", "remains PersistentVolumeClaim a: it is being deleted since 2026-11-22T11:59:00Z; finalizers: protection"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := work(&c.world)
			if c.change != nil {
				c.change(&s)
			}
			check(t, Pods(&c.world, s), c.pods...)
			if c.claims == nil {
				c.claims = c.pods
			}
			check(t, Claims(&c.world, s), c.claims...)
		})
	}
}

func TestPods(t *testing.T) {
	shutsDown := func(after time.Duration) func(*inventory.Pod) {
		return func(p *inventory.Pod) { p.Deleted = noon.Add(time.Minute + after) }
	}
	own := func(p *inventory.Pod) { p.Claims = []inventory.Use{{Claim: "a", Own: true}} }
	for name, c := range map[string]struct {
		pod  inventory.Pod
		want []string
	}{
		"runs":                          {pod("p", "ready", "a"), []string{"delete Pod p"}},
		"another claim":                 {pod("p", "ready", "b"), nil},
		"another namespace":             {pod("p", "ready", "a", func(p *inventory.Pod) { p.Namespace = "other" }), nil},
		"a dedicated claim":             {pod("a-owner", "ready", "", own), []string{"delete Pod a-owner"}},
		"the name of its ephemeral one": {pod("p", "ready", "", own), nil},
		"never scheduled":               {pod("p", "", "a"), []string{"delete Pod p"}},
		"comes again, not scheduled":    {pod("p", "", "a", func(p *inventory.Pod) { p.Created = noon }), nil},
		"comes again, scheduled":        {pod("p", "ready", "a", func(p *inventory.Pod) { p.Created = noon }), []string{"delete Pod p"}},
		"shuts down":                    {pod("p", "ready", "a", shutsDown(9*time.Second)), []string{"remains Pod p: on node ready: it is being deleted since…"}},
		"should be down":                {pod("p", "ready", "a", shutsDown(-9*time.Second)), []string{"remains Pod p: on node ready: it is being deleted since…"}},
		"shuts down, node not ready":    {pod("p", "broken", "a", shutsDown(9*time.Second)), []string{"remains Pod p: on node broken: it is being deleted since…"}},
		"should be down, not ready":     {pod("p", "broken", "a", shutsDown(-9*time.Second)), []string{"kill Pod p"}},
		"should be down, node deleted":  {pod("p", "lost", "a", shutsDown(-9*time.Second)), []string{"kill Pod p"}},
		"is not down, node not ready":   {pod("p", "broken", "a"), []string{"delete Pod p"}},
		"killed, with a finalizer": {pod("p", "lost", "a", shutsDown(-9*time.Second), func(p *inventory.Pod) { p.Killed, p.Finalizers = true, []string{"job"} }),
			[]string{"remains Pod p: on node lost: it is being deleted since 2026-11-22T12:00:51Z; finalizers: job"}},
		"shuts down, not scheduled":          {pod("p", "", "a", shutsDown(-9*time.Second)), nil},
		"mirror":                             {pod("p", "ready", "a", func(p *inventory.Pod) { p.Mirror = true }), []string{"remains Pod p: it is a mirror pod…"}},
		"mirror, node deleted":               {pod("p", "lost", "a", shutsDown(-9*time.Second), func(p *inventory.Pod) { p.Mirror = true }), []string{"remains Pod p: it is a mirror pod…"}},
		"the claim has already been deleted": {pod("p", "ready", "freed"), []string{"delete Pod p"}},
	} {
		t.Run(name, func(t *testing.T) {
			going := claim("a", deleting)
			going.Owner = "a-owner"
			w := inventory.World{
				Volumes: []inventory.Volume{volume("a"), volume("freed"), volume("c", foreign)}, Claims: []inventory.Claim{going},
				Pods: []inventory.Pod{c.pod, pod("other", "lost", "c", shutsDown(-9*time.Second))}, Ready: map[string]bool{"ready": true},
			}
			check(t, Pods(&w, work(&w)), c.want...)
		})
	}
}

// TestSteps checks that a step requests exactly what was checked.
func TestSteps(t *testing.T) {
	w := inventory.World{Volumes: []inventory.Volume{volume("a"), volume("b")}, Claims: []inventory.Claim{claim("a"), claim("b", deleting)}, Pods: []inventory.Pod{pod("p", "n", "b")}}
	p := Pods(&w, work(&w))
	if len(p.Steps) != 2 {
		t.Fatal(descriptions(p))
	}
	for i, want := range []struct {
		resource string
		exact    bool
		id       string
	}{{"persistentvolumeclaims", true, "id-a"}, {"pods", false, ""}} {
		s := p.Steps[i]
		if s.Resource.Resource != want.resource || s.Resource.Version != "v1" || s.Exact != want.exact || s.ID != want.id || s.Object.UID == "" {
			t.Errorf("%+v", s)
		}
	}
}
