// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
	"groundskeeper.io/groundskeeper/test/support/soaktest"
)

// TestRandomLives checks over random lives of clusters that the outcome of Deorbit is clean when, and only when, nothing is left in the
// cloud of what the cluster made there and nobody asked to keep, and that nothing is deleted that must not be: with names that others
// share, projects that are unknown, volumes of other drivers, Services with hostnames, deletions that are rejected, clusters that never
// came up, do not respond or reject the credentials, controllers that do not run, and processes that are killed between their writes.
func TestRandomLives(t *testing.T) {
	lives := soaktest.Rounds(t, 300)
	if _, requested := soaktest.Requested(t); testing.Short() && !requested {
		lives = 20
	}
	var mu sync.Mutex
	var group errgroup.Group
	outcomes := map[string]int{}
	group.SetLimit(16) // most of the time they wait for the rate limit of a cluster
	for seed := range uint64(lives) {
		group.Go(func() error {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				outcome := live(t, seed)
				mu.Lock()
				defer mu.Unlock()
				outcomes[outcome]++
			})
			return nil
		})
	}
	_ = group.Wait()
	t.Logf("outcomes: %v", outcomes)
	if all := outcomes[reasonDone] + outcomes[reasonLeftovers]; all == lives && (outcomes[reasonDone] == 0 || outcomes[reasonLeftovers] == 0) {
		t.Errorf("outcomes = %v, want both: the lives are too much alike", outcomes)
	}
}

// chance is true once in n times.
func (l *life) chance(n int) bool { return l.draw.IntN(n) == 0 }

func (l *life) pick(of ...string) string { return of[l.draw.IntN(len(of))] }

// live lets a cluster be made and deleted, and returns the outcome.
func live(t *testing.T, seed uint64) string {
	t.Helper()
	l := newLife(t, seed)
	unborn := l.chance(8)
	l.names()
	var others []*kubernikusv1.Kluster
	if l.chance(3) {
		others = append(others, l.rival())
	}
	l.neighbor()
	if unborn {
		metav1.SetMetaDataAnnotation(&l.kluster.ObjectMeta, kubernikusv1.ControlPlaneAnnotation, kubernikusv1.ControlPlaneNeverInitialized)
		l.cluster.status = http.StatusServiceUnavailable
	} else {
		l.grow()
	}
	l.begin(t, !unborn || l.chance(2), others...)
	l.until(t, unborn)
	return l.judge(t)
}

// names draws what the cluster is called, and what the Kluster knows of it.
func (l *life) names() {
	if l.chance(4) {
		l.name = kubernikusv1.SharedCloudProviderName
	}
	if l.chance(4) {
		l.tag = kubernikusv1.SharedCloudProviderName
	}
	if l.chance(5) {
		l.kluster.Spec.CloudProvider = kubernikusv1.CloudProvider{}
	}
	if l.chance(2) {
		l.kluster.Status.Openstack = &kubernikusv1.OpenstackStatus{ProjectID: livesProject}
	}
}

// rival returns another Kluster whose cluster has the same name. It lives, in a project of its own, or in one that is not known: then it
// may be the same, and what it has there must stay, unless a user accepted it.
func (l *life) rival() *kubernikusv1.Kluster {
	name := l.name
	k := klustertest.Kluster("rival", leadsTo("rival-cluster"), func(k *kubernikusv1.Kluster) {
		k.Namespace, k.Spec.CloudProvider = "garden-other", kubernikusv1.CloudProvider{ClusterName: &name}
	})
	switch l.draw.IntN(3) {
	case 0:
		k.Status.Openstack = &kubernikusv1.OpenstackStatus{ProjectID: "other"}
	case 1:
		l.kluster.Annotations = map[string]string{kubernikusv1.AcceptUnknownIdentityAnnotation: "garden-other/rival"}
	default:
		service := "kube_service_" + l.name + "_shop_rival"
		l.guarded[l.cloud.AddLoadBalancer(livesProject, fake.LoadBalancer{Name: service, VIP: "10.0.0.99", Tags: []string{service},
			Description: "Kubernetes external service shop/rival from cluster " + l.name})] = true
	}
	return k
}

// neighbor adds what another cluster and a user have in the project.
func (l *life) neighbor() {
	service := "kube_service_prod-cluster-2_shop_web"
	l.guarded[l.cloud.AddLoadBalancer(livesProject, fake.LoadBalancer{Name: service, VIP: "10.0.0.98", Tags: []string{service},
		Description: "Kubernetes external service shop/web from cluster prod-cluster-2"})] = true
	l.guarded[l.cloud.AddVolume(livesProject, fake.Volume{Name: "neighbor", Metadata: tagged("prod-tag-2")})] = true
	l.guarded[l.cloud.AddVolume(livesProject, fake.Volume{Name: "by hand"})] = true
}

// grow lets the cluster make things.
func (l *life) grow() {
	policies := &l.kluster.Spec.Deorbit
	for _, policy := range []*kubernikusv1.DeletionPolicy{
		&policies.PersistentVolumes, &policies.Snapshots, &policies.LoadBalancers, &policies.FloatingIPs,
	} {
		if l.chance(12) {
			*policy = kubernikusv1.DeletionPolicyRetain
		}
	}
	for i := range l.draw.IntN(3) {
		l.growVolume(fmt.Sprintf("data-%d", i))
	}
	forms := []string{"IP", "no id", "hostname", "hostname and address", "nip.io"}
	for i := range l.draw.IntN(3) {
		l.growService(fmt.Sprintf("web-%d", i), l.pick(forms...))
	}
	if l.chance(8) { // reserved by an administrator, and never used
		id := l.cloud.AddVolume(livesProject, fake.Volume{Name: "reserved"})
		l.made[id] = "Volume"
		l.volume("reserved", "Delete", cinder, id)
		delete(l.cluster.items[volumesPath+"//pv-reserved"]["spec"].(item), "claimRef")
		l.guarded[id] = true
	}
	if l.chance(8) { // made, and deleted in the cluster before anybody looked
		l.made[l.cloud.AddVolume(livesProject, fake.Volume{Name: "lost", Metadata: tagged(l.tag)})] = "Volume"
	}
	l.keepByPolicy()
	l.ccm, l.csi = !l.chance(4), !l.chance(4)
}

func (l *life) growVolume(name string) {
	policy := "Delete"
	if l.chance(6) {
		policy = "Retain"
	}
	switch l.draw.IntN(8) {
	case 0:
		id := l.claim(name, policy, "example.com/keep")
		l.guarded[id] = true
	case 1:
		id := l.claim(name, policy)
		l.guarded[id], l.cluster.rejected[claimsPath+"/shop/"+name] = true, true
	case 2:
		l.snapshot("snapshot-"+name, l.pick("Delete", "Delete", "Retain"), l.claim(name, policy))
	case 3:
		id := l.claim(name, policy)
		l.guarded[id], l.guarded[l.cloud.AddSnapshot(livesProject, fake.Snapshot{Name: "by hand", VolumeID: id})] = true, true
	case 4:
		id := l.share(name, policy)
		switch l.draw.IntN(4) {
		case 0:
			l.shareSnapshot("snapshot-"+name, l.pick("Delete", "Retain"), id)
		case 1:
			l.guarded[id], l.guarded[l.cloud.AddShareSnapshot(livesProject, fake.ShareSnapshot{ShareID: id})] = true, true
		}
	default:
		l.claim(name, policy)
	}
}

func (l *life) growService(name, form string) {
	l.service(name, form, l.chance(6))
	made := l.parts[name]
	switch l.draw.IntN(8) {
	case 0:
		l.cluster.rejected[servicesPath+"/shop/"+name] = true
		l.guarded[made.balancer] = true
	case 1:
		meta := l.cluster.items[servicesPath+"/shop/"+name]["metadata"].(item)
		meta["finalizers"] = append(meta["finalizers"].([]any), "example.com/keep")
	case 2:
		made.port = l.cloud.AddPort(livesProject, l.network, "compute:nova", "server-"+name, "10.0.0.7"+name[len(name)-1:])
		l.cloud.JoinSecurityGroup(made.port, made.group)
		l.parts[name] = made
	}
}

// keepByPolicy adds what spec.deorbit keeps.
func (l *life) keepByPolicy() {
	retains := func(policy kubernikusv1.DeletionPolicy) bool { return policy == kubernikusv1.DeletionPolicyRetain }
	policies := l.kluster.Spec.Deorbit
	for id, kind := range l.made {
		switch kind {
		case "Volume", "Share":
			l.kept[id] = l.kept[id] || retains(policies.PersistentVolumes) || retains(policies.Snapshots) && l.hasSnapshot(id)
		case "Snapshot", "ShareSnapshot":
			l.kept[id] = l.kept[id] || retains(policies.PersistentVolumes) || retains(policies.Snapshots)
		case "FloatingIP":
			l.kept[id] = l.kept[id] || retains(policies.FloatingIPs) || retains(policies.LoadBalancers)
		default:
			l.kept[id] = l.kept[id] || retains(policies.LoadBalancers)
		}
	}
}

// until lets time pass until the Kluster is released.
func (l *life) until(t *testing.T, unborn bool) {
	t.Helper()
	var last kubernikusv1.DeorbitStage
	quiet, outage, selfDestruct := 0, -1, -1
	if l.chance(3) {
		outage = l.draw.IntN(12)
	}
	if l.chance(15) {
		selfDestruct = l.draw.IntN(30)
	}
	for i := range 600 {
		if i == outage && !unborn {
			l.cluster.status = []int{http.StatusServiceUnavailable, http.StatusUnauthorized}[l.draw.IntN(2)]
		}
		if l.cluster.status != 0 && !unborn && l.chance(10) {
			l.cluster.status = 0
		}
		if l.chance(40) {
			l.cloud.RevokeTokens()
		}
		if i == selfDestruct {
			l.store.Change(l.kluster, func() {
				metav1.SetMetaDataAnnotation(&l.kluster.ObjectMeta, kubernikusv1.SelfDestructAnnotation, kubernikusv1.SelfDestructNow)
			})
		}
		if !l.chance(3) && l.cluster.status == 0 {
			l.controllers()
		}
		l.cloud.Settle()
		pause := []time.Duration{20 * time.Second, time.Minute, 3 * time.Minute}[l.draw.IntN(3)]
		if quiet > 8 {
			pause = 30 * time.Minute
		}
		l.clock.SetTime(l.clock.Now().Add(pause))
		if err := l.work(t.Context(), l.kluster); err != nil && !l.isDead() {
			t.Log(err)
		}
		if l.isDead() {
			l.restart(t)
		}
		if !l.store.Find(l.kluster) {
			t.Fatal("the Kluster has been deleted")
		}
		if strings.HasPrefix(klustertest.Condition(l.kluster, kubernikusv1.ConditionDeorbited), "True/") {
			return
		}
		if d := l.kluster.Status.Deorbit; d != nil && d.Stage == last {
			quiet++
		} else if d != nil {
			quiet, last = 0, d.Stage
		}
	}
	t.Fatalf("it is not released after %s: %+v, %+v", l.clock.Now().Sub(epoch), l.kluster.Status.Conditions, l.kluster.Status.Deorbit)
}

// judge compares the outcome with the inventory.
func (l *life) judge(t *testing.T) string {
	t.Helper()
	there, status := l.there(), l.kluster.Status.Deorbit
	var left, lost, wrong []string
	for id, kind := range l.made {
		if there[id] && !l.kept[id] {
			left = append(left, kind+" "+id)
		}
		if !there[id] && (l.guarded[id] || l.kept[id]) && (status.ClusterLost == "" || l.wasSeen(id)) {
			lost = append(lost, kind+" "+id)
		}
	}
	for id := range l.guarded {
		if !there[id] && l.made[id] == "" {
			lost = append(lost, "another's "+id)
		}
	}
	for _, o := range status.Retained {
		if o.ID != "" && !l.kept[o.ID] && l.made[o.ID] != "" {
			wrong = append(wrong, describe(o))
		}
	}
	for _, o := range slices.Concat(status.Remaining, status.Undecided) {
		if o.ID == "" && o.Name == "" {
			t.Errorf("%s: nothing that could be looked up", describe(o))
		}
	}
	outcome := klustertest.Condition(l.kluster, kubernikusv1.ConditionDeorbited)[len("True/"):]
	if clean := outcome == reasonDone; clean && len(left) > 0 || !clean && len(left) == 0 && !l.inDoubt(there) {
		t.Errorf("outcome = %s, and %v is left: remaining %+v, undecided %+v, lost %q", outcome, left,
			status.Remaining, status.Undecided, status.ClusterLost)
	}
	if len(lost) > 0 {
		t.Errorf("deleted, and had to stay: %v; the status is %+v", lost, status)
	}
	if len(wrong) > 0 {
		t.Errorf("retained, and nobody asked for it: %v", wrong)
	}
	return outcome
}

// wasSeen reports whether Deorbit has seen why an object has to stay, before the cluster was given up.
func (l *life) wasSeen(id string) bool {
	status := l.kluster.Status.Deorbit
	for name, made := range l.parts {
		i := slices.IndexFunc(status.SeenServices, func(s kubernikusv1.SeenService) bool { return s.Name == name })
		switch id {
		case made.balancer:
			return i >= 0 && status.SeenServices[i].Standing != ""
		case made.address:
			return i >= 0
		}
	}
	i := slices.IndexFunc(status.SeenVolumes, func(v kubernikusv1.SeenVolume) bool { return v.ID == id })
	return l.made[id] != "Volume" && l.made[id] != "Share" || i < 0 || status.SeenVolumes[i].ReclaimPolicy != "Delete" || status.SeenVolumes[i].Standing != ""
}

// inDoubt reports whether leftovers are an outcome although the cluster has nothing in the cloud any more: it could not be checked, a user
// ended the Deorbit, or an object is reported that exists, in the cluster, or in the cloud under a name that another cluster has as well.
func (l *life) inDoubt(there map[string]bool) bool {
	status := l.kluster.Status.Deorbit
	return status.ClusterLost != "" || status.ClusterRefused != "" || l.kluster.SelfDestructs() ||
		slices.ContainsFunc(slices.Concat(status.Remaining, status.Undecided), func(o kubernikusv1.DeorbitObject) bool {
			return there[o.ID] || o.Kind == "Service" && l.cluster.items[servicesPath+"/"+o.Namespace+"/"+o.Name] != nil
		})
}
