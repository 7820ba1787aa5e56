// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

// keep is the policy that keeps.
const keep = "Retain"

// seen returns what a world has to be recorded: each volume, snapshot and Service once. Of what was recorded and has been deleted
// it reports so.
func seen(w *inventory.World, recorded stage.Seen) stage.Seen {
	s := stage.Seen{ClusterName: inventory.Only(w.ClusterNames), CSIClusterID: inventory.Only(w.CSIClusterIDs)}
	volumes := map[string]int{}
	for _, v := range w.Volumes {
		if v.ID == "" {
			continue
		}
		// Two PersistentVolumes may have one volume. It is not deleted as long as one of them keeps it.
		if i, twice := volumes[v.ID]; twice {
			if v.Policy() == keep {
				s.Volumes[i].Name, s.Volumes[i].ReclaimPolicy = v.Name, keep
			}
			continue
		}
		volumes[v.ID] = len(s.Volumes)
		s.Volumes = append(s.Volumes, kubernikusv1.SeenVolume{ID: v.ID, Name: v.Name, ReclaimPolicy: v.Policy(), ServerID: v.ServerID})
	}
	snapshots := map[string]int{}
	for _, c := range w.CinderContents() {
		if c.Handle == "" {
			continue
		}
		if i, twice := snapshots[c.Handle]; twice {
			if c.Policy() == keep {
				s.Snapshots[i].Name, s.Snapshots[i].DeletionPolicy = c.Name, keep
			}
			continue
		}
		snapshots[c.Handle] = len(s.Snapshots)
		s.Snapshots = append(s.Snapshots, kubernikusv1.SeenSnapshot{ID: c.Handle, Name: c.Name, DeletionPolicy: c.Policy()})
	}
	for _, service := range w.Services {
		if service.Class == "" {
			s.Services = append(s.Services, kubernikusv1.SeenService{
				UID: string(service.UID), Namespace: service.Namespace, Name: service.Name, KeepFloatingIP: service.Keep, Ingress: service.Ingress,
				LoadBalancerID: service.BalancerID, Address: service.Address, Finalized: service.Finalized(),
			})
		}
	}
	standing(w, recorded, &s)
	return s
}

// records has the IDs and UIDs of the objects that are recorded in the status.
type records map[string]bool

func volumeRecords(seen, recorded stage.Seen) records {
	policies, r := map[string]string{}, records{}
	for _, v := range recorded.Volumes {
		policies[v.ID] = v.ReclaimPolicy
	}
	for _, v := range seen.Volumes {
		r[v.ID] = policies[v.ID] == v.ReclaimPolicy
	}
	return r
}

func snapshotRecords(seen, recorded stage.Seen) records {
	policies, r := map[string]string{}, records{}
	for _, s := range recorded.Snapshots {
		policies[s.ID] = s.DeletionPolicy
	}
	for _, s := range seen.Snapshots {
		r[s.ID] = policies[s.ID] == s.DeletionPolicy
	}
	return r
}

func serviceRecords(seen, recorded stage.Seen) records {
	known, r := map[kubernikusv1.SeenService]bool{}, records{}
	for _, s := range recorded.Services {
		known[whatMatters(s)] = true
	}
	for _, s := range seen.Services {
		r[s.UID] = known[whatMatters(s)]
	}
	return r
}

// whatMatters returns what has to be recorded of a Service before it is deleted.
func whatMatters(s kubernikusv1.SeenService) kubernikusv1.SeenService {
	return kubernikusv1.SeenService{UID: s.UID, Ingress: s.Ingress, KeepFloatingIP: s.KeepFloatingIP, LoadBalancerID: s.LoadBalancerID, Address: s.Address, Finalized: s.Finalized}
}
