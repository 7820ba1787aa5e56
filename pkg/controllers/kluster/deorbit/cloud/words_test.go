// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

const (
	keep = kubernikusv1.DeletionPolicyRetain
	del  = kubernikusv1.DeletionPolicyDelete
)

// work returns a stage of a Kluster whose cloud controller has the name prod, and whose CSI driver has the id prod-id.
func work(changes ...func(*stage.Work)) stage.Work {
	w := stage.Work{
		Kluster: &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: "k", UID: "k-uid"}, Spec: kubernikusv1.KlusterSpec{
			CloudProvider: kubernikusv1.CloudProvider{ClusterName: new("prod"), CSIClusterID: new("prod-id")},
		}},
		Policies: stage.Policies{PersistentVolumes: del, LoadBalancers: del, FloatingIPs: del, Snapshots: del, UnseenVolumes: keep},
	}
	for _, change := range changes {
		change(&w)
	}
	return w
}

func named(cluster, tag string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Kluster.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &cluster, CSIClusterID: &tag}
	}
}

func policies(change func(*stage.Policies)) func(*stage.Work) {
	return func(w *stage.Work) { change(&w.Policies) }
}

func sawVolume(id, policy string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Volumes = append(w.Recorded.Volumes, kubernikusv1.SeenVolume{ID: id, ReclaimPolicy: policy})
	}
}

func sawAttached(id, server string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Volumes = append(w.Recorded.Volumes, kubernikusv1.SeenVolume{ID: id, ReclaimPolicy: "Delete", ServerID: server})
	}
}

func sawSnapshot(id, policy string) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Snapshots = append(w.Recorded.Snapshots, kubernikusv1.SeenSnapshot{ID: id, DeletionPolicy: policy})
	}
}

func sawService(uid, namespace, name string, keeps bool) func(*stage.Work) {
	return func(w *stage.Work) {
		w.Recorded.Services = append(w.Recorded.Services, kubernikusv1.SeenService{UID: uid, Namespace: namespace, Name: name, KeepFloatingIP: keeps})
	}
}

// neverCameUp and dismantled are clusters of Cluster API: one without a control plane, and one whose machines have been deleted.
func neverCameUp(w *stage.Work) {
	w.Kluster.Annotations = map[string]string{kubernikusv1.ControlPlaneAnnotation: kubernikusv1.ControlPlaneNeverInitialized}
}

func dismantled(w *stage.Work) {
	w.Kluster.Annotations = map[string]string{kubernikusv1.MachinesAnnotation: kubernikusv1.MachinesDeleted}
}

func unseen(w *stage.Work) { w.Policies.UnseenVolumes = del }

func volume(id, status, tag string, servers ...string) openstack.Volume {
	return openstack.Volume{ID: id, Status: status, ProjectID: "p", Metadata: metadata(tag), AttachedTo: servers}
}

func snapshot(id, volume, status, tag string) openstack.VolumeSnapshot {
	return openstack.VolumeSnapshot{ID: id, VolumeID: volume, Status: status, ProjectID: "p", Metadata: metadata(tag)}
}

// metadata returns those of a volume of a cluster; "-": of none.
func metadata(tag string) map[string]string {
	if tag == "-" {
		return nil
	}
	return map[string]string{clusterKey: tag}
}

// balancer returns a load balancer of the Service shop/web of a cluster, whose address has port-<id>.
func balancer(id, cluster string, tags ...string) openstack.LoadBalancer {
	m := madeBy(cluster, "shop", "web", "u")
	return openstack.LoadBalancer{ID: id, Name: m.service, Description: m.description, ProjectID: "p", ProvisioningStatus: "ACTIVE", VIPPortID: "port-" + id,
		Tags: append([]string{m.service}, tags...)}
}

func changed[T any](object T, change func(*T)) T {
	change(&object)
	return object
}

// A plan in words, one for each object.
func describe(p plan) []string {
	var words []string
	for _, r := range p.removals {
		verb := "delete "
		if r.change {
			verb = "change "
		}
		words = append(words, strings.Repeat("release, ", min(1, len(r.before)))+verb+r.object.Kind+" "+r.object.ID)
	}
	for _, o := range p.remaining {
		words = append(words, "remain "+o.Kind+" "+o.ID+": "+o.Reason)
	}
	for _, o := range p.retained {
		words = append(words, "retain "+o.Kind+" "+o.ID+": "+o.Reason)
	}
	for _, o := range p.undecided {
		words = append(words, "leave "+o.Kind+" "+o.ID+": "+o.Reason)
	}
	return words
}

// choice is a case of a decision.
type choice struct {
	work  stage.Work
	rival Conflicts
	found inventory
	want  []string
}

func check(t *testing.T, cases map[string]choice) {
	t.Helper()
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.work.Kluster == nil {
				c.work = work()
			}
			if got := describe(decide("p", c.work, c.rival, c.found)); !slices.Equal(got, c.want) {
				t.Errorf("got\n%q\nwant\n%q", got, c.want)
			}
		})
	}
}
