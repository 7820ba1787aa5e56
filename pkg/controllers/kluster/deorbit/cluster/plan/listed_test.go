// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"slices"
	"testing"

	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// TestListed checks which kinds a check has seen all objects of that stay: none that it could not list, or of which it reports a part.
func TestListed(t *testing.T) {
	all := inventory.Listed{Claims: true, Volumes: true, Snapshots: true, Services: true}
	for name, c := range map[string]struct {
		listed inventory.Listed
		plan   func(*inventory.World, stage.Work) Plan
		want   []string
	}{
		"pods":                    {all, Pods, nil},
		"claims":                  {all, Claims, nil},
		"services":                {all, Services, nil},
		"snapshots":               {all, Snapshots, []string{KindSnapshot, KindContent}},
		"snapshots, unknown":      {inventory.Listed{Volumes: true}, Snapshots, nil},
		"wait":                    {all, Wait, []string{KindVolume, KindService, KindIngress}},
		"wait, volumes unknown":   {inventory.Listed{Snapshots: true, Services: true}, Wait, []string{KindService, KindIngress}},
		"wait, snapshots unknown": {inventory.Listed{Volumes: true, Services: true}, Wait, []string{KindService, KindIngress}},
		"wait, services unknown":  {inventory.Listed{Volumes: true, Snapshots: true}, Wait, []string{KindVolume}},
		"snapshots, all are to stay": {all, func(w *inventory.World, s stage.Work) Plan { retainVolumes(&s); return Snapshots(w, s) },
			[]string{KindSnapshot, KindContent}},
	} {
		t.Run(name, func(t *testing.T) {
			w := inventory.World{Listed: c.listed}
			if got := c.plan(&w, work(&w)).Listed; !slices.Equal(got, c.want) {
				t.Errorf("listed = %q, want %q", got, c.want)
			}
		})
	}
}
