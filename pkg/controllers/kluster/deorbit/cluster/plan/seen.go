// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/inventory"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
)

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
			if policy := v.Policy(); policy == keep || policy == "" && s.Volumes[i].ReclaimPolicy != keep {
				s.Volumes[i].Name, s.Volumes[i].ReclaimPolicy = v.Name, policy
			}
			continue
		}
		volumes[v.ID] = len(s.Volumes)
		s.Volumes = append(s.Volumes, kubernikusv1.SeenVolume{
			ID: v.ID, Name: v.Name, ReclaimPolicy: v.Policy(), ServerID: v.ServerID, Share: v.Share})
	}
	snapshots := map[string]int{}
	for _, c := range w.OwnContents() {
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
		s.Snapshots = append(s.Snapshots, kubernikusv1.SeenSnapshot{
			ID: c.Handle, Name: c.Name, DeletionPolicy: c.Policy(), Share: inventory.IsManila(c.Driver)})
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

// recordsOf reports by ID whether what was seen is recorded in the status, in all that matters before it is deleted.
func recordsOf[T comparable](seen, recorded []T, id func(T) string, whatMatters func(T) T) map[string]bool {
	known, records := map[T]bool{}, map[string]bool{}
	for _, object := range recorded {
		known[whatMatters(object)] = true
	}
	for _, object := range seen {
		records[id(object)] = known[whatMatters(object)]
	}
	return records
}

func volumeRecords(seen, recorded stage.Seen) map[string]bool {
	return recordsOf(seen.Volumes, recorded.Volumes, volumeID, func(v kubernikusv1.SeenVolume) kubernikusv1.SeenVolume {
		return kubernikusv1.SeenVolume{ID: v.ID, ReclaimPolicy: v.ReclaimPolicy}
	})
}

func snapshotRecords(seen, recorded stage.Seen) map[string]bool {
	return recordsOf(seen.Snapshots, recorded.Snapshots, snapshotID, func(s kubernikusv1.SeenSnapshot) kubernikusv1.SeenSnapshot {
		return kubernikusv1.SeenSnapshot{ID: s.ID, DeletionPolicy: s.DeletionPolicy}
	})
}

func serviceRecords(seen, recorded stage.Seen) map[string]bool {
	return recordsOf(seen.Services, recorded.Services, serviceUID, func(s kubernikusv1.SeenService) kubernikusv1.SeenService {
		s.Namespace, s.Name, s.Standing, s.Gone = "", "", "", false
		return s
	})
}

func volumeID(v kubernikusv1.SeenVolume) string     { return v.ID }
func snapshotID(s kubernikusv1.SeenSnapshot) string { return s.ID }
func serviceUID(s kubernikusv1.SeenService) string  { return s.UID }

func byKey[K comparable, T any](list []T, key func(T) K) map[K]T {
	found := make(map[K]T, len(list))
	for _, object := range list {
		found[key(object)] = object
	}
	return found
}
