// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package deorbit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/docs"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/cluster/plan"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/deorbit/stage"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func TestRecordSeen(t *testing.T) {
	type volumes = []kubernikusv1.SeenVolume
	volume := func(id, policy string) kubernikusv1.SeenVolume {
		return kubernikusv1.SeenVolume{ID: id, Name: "pv-" + id, ReclaimPolicy: policy}
	}
	for name, c := range map[string]struct {
		record, seen, want volumes
		changed            bool
	}{
		"first":             {nil, volumes{volume("a", "Delete")}, volumes{volume("a", "Delete")}, true},
		"again":             {volumes{volume("a", "Delete")}, volumes{volume("a", "Delete")}, volumes{volume("a", "Delete")}, false},
		"gone":              {volumes{volume("a", "Delete")}, nil, volumes{volume("a", "Delete")}, false},
		"another":           {volumes{volume("a", "Delete")}, volumes{volume("b", "Retain")}, volumes{volume("a", "Delete"), volume("b", "Retain")}, true},
		"to be kept now":    {volumes{volume("a", "Delete")}, volumes{volume("a", "Retain")}, volumes{volume("a", "Retain")}, true},
		"to be deleted now": {volumes{volume("a", "Retain")}, volumes{volume("a", "Delete")}, volumes{volume("a", "Delete")}, true},
		"twice, kept first": {nil, volumes{volume("a", "Retain"), volume("a", "Delete")}, volumes{volume("a", "Retain")}, true},
		"twice, kept last":  {nil, volumes{volume("a", "Delete"), volume("a", "Retain")}, volumes{volume("a", "Retain")}, true},
		"twice, odd policy": {nil, volumes{volume("a", "Recycle"), volume("a", "Delete")}, volumes{volume("a", "Recycle")}, true},
		"without an id":     {nil, volumes{volume("", "Delete")}, nil, false},
	} {
		status := kubernikusv1.DeorbitStatus{SeenVolumes: c.record}
		if changed := recordSeen(&status, stage.Seen{Volumes: c.seen}); changed != c.changed || !slices.Equal(status.SeenVolumes, c.want) {
			t.Errorf("%s: got %t, %v", name, changed, status.SeenVolumes)
		}
	}
	var status kubernikusv1.DeorbitStatus
	all := stage.Seen{
		Snapshots: []kubernikusv1.SeenSnapshot{{ID: "s", DeletionPolicy: "Delete"}, {ID: "s", DeletionPolicy: "Retain"}},
		Services:  []kubernikusv1.SeenService{{UID: "u", KeepFloatingIP: true}, {UID: "u"}},
	}
	if !recordSeen(&status, all) || status.SeenSnapshots[0].DeletionPolicy != "Retain" || !status.SeenServices[0].KeepFloatingIP || recordSeen(&status, all) {
		t.Errorf("got %+v", status)
	}
}

func TestRecordRetained(t *testing.T) {
	because := func(o kubernikusv1.DeorbitObject, reason string) kubernikusv1.DeorbitObject {
		o.Reason = reason
		return o
	}
	a, b := thing("Volume", "a"), thing("Volume", "b")
	type objects = []kubernikusv1.DeorbitObject
	for name, c := range map[string]struct {
		before objects
		report stage.Report
		want   objects
	}{
		"new":             {objects{b}, stage.Report{Retained: objects{a, a}}, objects{a, b}},
		"stays":           {objects{a}, stage.Report{}, objects{a}},
		"another reason":  {objects{a}, stage.Report{Retained: objects{because(a, "new")}}, objects{because(a, "new")}},
		"deleted":         {objects{a, b}, stage.Report{Deleted: objects{because(a, "")}}, objects{b}},
		"is to go now":    {objects{a, b}, stage.Report{Remaining: objects{because(b, "deleting")}}, objects{a}},
		"kept all along":  {objects{a}, stage.Report{Remaining: objects{a}, Retained: objects{a}}, objects{a}},
		"nothing retains": {nil, stage.Report{}, nil},

		"was deleted":                {objects{a, b}, stage.Report{Listed: []string{"Volume"}, Retained: objects{b}}, objects{b}},
		"of a kind that is unlisted": {objects{a, b}, stage.Report{Listed: []string{"Snapshot"}}, objects{a, b}},
	} {
		status := kubernikusv1.DeorbitStatus{Retained: c.before}
		if recordRetained(&status, c.report); !slices.Equal(status.Retained, c.want) {
			t.Errorf("%s: got %v", name, status.Retained)
		}
	}
}

// TestListed checks that a long list is truncated only in the status, and that the remainder entry is not read as an object.
func TestListed(t *testing.T) {
	var all []kubernikusv1.DeorbitObject
	for i := range maxListed + 12 {
		all = append(all, thing("Volume", fmt.Sprint(i)))
	}
	whole := kubernikusv1.DeorbitStatus{Remaining: all, Retained: all[:maxListed]}
	cut := listed(whole)
	last := cut.Remaining[len(cut.Remaining)-1]
	if len(cut.Remaining) != maxListed+1 || last.Kind != moreKind || !strings.Contains(last.Reason, "12 more") || len(cut.Retained) != maxListed || len(whole.Remaining) != maxListed+12 {
		t.Errorf("%d listed, the last is %v; %d retained", len(cut.Remaining), last, len(cut.Retained))
	}
	if read := loaded(cut); len(read.Remaining) != maxListed || len(read.Retained) != maxListed || len(cut.Remaining) != maxListed+1 {
		t.Errorf("read %d and %d", len(read.Remaining), len(read.Retained))
	}
	if loaded(kubernikusv1.DeorbitStatus{}).Stage != "" {
		t.Error("there is a stage without a status")
	}
}

func TestCondition(t *testing.T) {
	claim := kubernikusv1.DeorbitObject{Kind: "PersistentVolumeClaim", Namespace: "shop", Name: "data-0", Reason: "finalizer x"}
	volume := kubernikusv1.DeorbitObject{Kind: "Volume", ID: "0f1e", Reason: "attached"}
	conflict := kubernikusv1.DeorbitObject{Kind: "Volume", Name: "v", Reason: "IdentityConflict: Kluster a/b has the same clusterName"}
	for name, c := range map[string]struct {
		progress      progress
		reason, wants string
	}{
		"begins":   {in(claims), "Claims", "nothing is known to remain"},
		"one":      {in(verify, remaining(volume)), "Verify", "1 remains: Volume 0f1e: attached"},
		"more":     {in(claims, remaining(claim, volume, volume)), "Claims", "3 remain, the first: PersistentVolumeClaim shop/data-0: finalizer x"},
		"conflict": {in(verify, remaining(volume, conflict)), "IdentityConflict", "Verify: 2 remain"},
		"failed":   {in(verify, remaining(volume), func(p *progress) { p.failure = rejected() }), "CredentialsRefused", "Verify: 401"},
		"own":      {in(freeze, ownCluster), "OwnCluster", kubernikusv1.DetachAnnotation},
	} {
		got := c.progress.condition()
		if got.Status != "False" || got.Reason != c.reason || !strings.Contains(got.Message, c.wants) ||
			got.Reason == string(c.progress.Stage) && strings.HasPrefix(got.Message, got.Reason) {
			t.Errorf("%s: got %+v", name, got)
		}
	}
	doneWith := func(status kubernikusv1.DeorbitStatus) metav1.Condition {
		return doneCondition(&kubernikusv1.Kluster{Status: kubernikusv1.KlusterStatus{Deorbit: &status}})
	}
	done, left := doneWith(kubernikusv1.DeorbitStatus{}), doneWith(kubernikusv1.DeorbitStatus{Remaining: []kubernikusv1.DeorbitObject{volume}})
	if done.Status != "True" || done.Reason != reasonDone || left.Status != "True" || left.Reason != reasonLeftovers || !strings.Contains(left.Message, "0f1e") {
		t.Errorf("got %+v and %+v", done, left)
	}
	unseen := kubernikusv1.DeorbitObject{Kind: "Volume", ID: "0f1e", Reason: "never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"}
	undecided := doneWith(kubernikusv1.DeorbitStatus{Undecided: []kubernikusv1.DeorbitObject{unseen}})
	const want = "the Kluster is released, and a user has to decide about status.deorbit.undecided: 1 remains: " +
		"Volume 0f1e: never seen in the cluster, and spec.deorbit.unseenVolumes is Retain"
	if undecided.Reason != reasonLeftovers || undecided.Message != want {
		t.Errorf("condition of what is undecided = %s: %s, want %s: %s", undecided.Reason, undecided.Message, reasonLeftovers, want)
	}
	elsewhere := klustertest.Kluster("k", func(k *kubernikusv1.Kluster) { k.Spec.NoCloud, k.Status.Deorbit = true, &kubernikusv1.DeorbitStatus{} })
	if got := doneCondition(elsewhere); got.Status != "True" || got.Reason != reasonCleanInCluster {
		t.Errorf("without OpenStack, condition = %s/%s, want True/%s", got.Status, got.Reason, reasonCleanInCluster)
	}
	for name, want := range map[string]string{"": "", "groundskeeper.io/paused": reasonPaused, kubernikusv1.TerminationProtectionAnnotation: reasonProtected} {
		got := pausedBy(klustertest.Kluster("k", klustertest.Annotated(name)))
		if got == nil && want != "" || got != nil && (got.Reason != want || got.Status != "Unknown") {
			t.Errorf("%q: got %+v", name, got)
		}
	}
}

func TestSettings(t *testing.T) {
	config := config()
	k := klustertest.Kluster("k")
	if got := settingsOf(k, config, nil); got != (settings{timeout: 24 * time.Hour, stageTimeout: time.Hour, apiUnavailableTimeout: 2 * time.Minute, verifyTimeout: 4 * time.Hour, routesResync: 30 * time.Second, cloud: true, workload: true}) {
		t.Errorf("got %+v", got)
	}
	if got := policiesOf(&kubernikusv1.Kluster{}, config.Deorbit); got != policiesOf(k, config.Deorbit) || got.UnseenVolumes != "Retain" || got.LoadBalancers != "Delete" || got.ServiceGracePeriod != 2*time.Minute {
		t.Errorf("got %+v", got)
	}
	lasting := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	k.Spec.Deorbit = kubernikusv1.DeorbitSpec{
		Timeout: lasting(1), StageTimeout: lasting(2), APIUnavailableTimeout: lasting(3), ServiceGracePeriod: lasting(0),
		PersistentVolumes: "Retain", LoadBalancers: "Retain", FloatingIPs: "Retain", Snapshots: "Retain", UnseenVolumes: "Delete",
	}
	k.Spec.NoCloud, k.Status.Openstack = true, &kubernikusv1.OpenstackStatus{ProjectID: "p"}
	k.Annotations = map[string]string{kubernikusv1.SelfDestructAnnotation: "now"}
	if got := settingsOf(k, config, nil); got != (settings{timeout: 1, stageTimeout: 2, apiUnavailableTimeout: 3, verifyTimeout: 4 * time.Hour, routesResync: 30 * time.Second, project: "p", selfDestruct: true}) {
		t.Errorf("got %+v", got)
	}
	if !settingsOf(k, config, map[string][]byte{"kubeconfig": []byte("x")}).workload {
		t.Error("the workload cluster is left out")
	}
	identified := k.DeepCopy()
	identified.Status.Identity = &kubernikusv1.KlusterIdentity{ClusterID: "c1"}
	if !settingsOf(identified, config, nil).workload {
		t.Error("a workload cluster that is known is left out when its Secret does not exist")
	}
	if got := policiesOf(k, config.Deorbit); got != (stage.Policies{PersistentVolumes: "Retain", LoadBalancers: "Retain", FloatingIPs: "Retain", Snapshots: "Retain", UnseenVolumes: "Delete"}) {
		t.Errorf("got %+v", got)
	}
	if got := usual().after("Former"); got != drain {
		t.Errorf("behind what is not known comes %s", got)
	}
}

// TestAppliedIsWhole checks that everything that Deorbit records is in the patch that writes it: another replica, or the same after a
// restart, has nothing else.
func TestAppliedIsWhole(t *testing.T) {
	now := metav1.NewTime(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))
	object := []kubernikusv1.DeorbitObject{{Kind: "Volume", Namespace: "n", Name: "v", ID: "1", Reason: "r"}}
	want := kubernikusv1.DeorbitStatus{
		StartedAt: &now, LastProgressAt: &now, StageStartedAt: &now, UnreachableSince: &now, VerifyStartedAt: &now, Stage: kubernikusv1.DeorbitVerify,
		Remaining: object, Retained: object, Undecided: object, ClusterName: "a", CSIClusterID: "b", ClusterID: "i", ClusterLost: "c", ClusterRefused: "d",
		SeenVolumes:   []kubernikusv1.SeenVolume{{ID: "1", Name: "v", ReclaimPolicy: "Delete", Standing: "Present", ServerID: "s", Share: true, Gone: true}},
		SeenSnapshots: []kubernikusv1.SeenSnapshot{{ID: "1", Name: "v", DeletionPolicy: "Delete", Standing: "Present", Share: true, Gone: true}},
		SeenServices: []kubernikusv1.SeenService{{UID: "u", Namespace: "n", Name: "s", KeepFloatingIP: true, LoadBalancerID: "l", Address: "1.2.3.4",
			Standing: "Present", Finalized: true, Gone: true, Ingress: true}},
	}
	for _, s := range []any{want, want.SeenVolumes[0], want.SeenSnapshots[0], want.SeenServices[0]} {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Fatalf("%T.%s is not set: add a value", s, v.Type().Field(i).Name)
			}
		}
	}
	text, err := json.Marshal(kluster.ApplyStatus(klustertest.Kluster("prod"), kubernikusv1.KlusterStatus{Deorbit: &want}))
	if err != nil {
		t.Fatal(err)
	}
	var written kubernikusv1.Kluster
	if err := json.Unmarshal(text, &written); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, written.Status.Deorbit); diff != "" {
		t.Errorf("the patch (-recorded +written):\n%s", diff)
	}
}

// TestReasonsHaveARemedy checks that each reason of the condition Deorbited has a row in docs/deorbit.md, which the plugin prints.
func TestReasonsHaveARemedy(t *testing.T) {
	for _, reason := range []string{
		reasonUnreachable, kluster.ReasonSecretMissing, kluster.ReasonSecretInvalid, kluster.ReasonNoCredentials, kluster.ReasonHostUnknown, reasonFailed, kubernikusv1.ReasonOwnCluster, reasonProtected,
		reasonPaused, reasonTwinFirst, kubernikusv1.ReasonSameCluster, kubernikusv1.ReasonIdentityUnknown, kubernikusv1.ReasonClusterChanged,
		kubernikusv1.ReasonIdentityConflict, kubernikusv1.ReasonCIDRConflict, kubernikusv1.ReasonCloudChanged, string(openstack.ReasonCredentialsRefused),
		string(openstack.ReasonCredentialsInvalid), string(openstack.ReasonForbidden), string(openstack.ReasonNotFound), string(openstack.ReasonConflict),
		string(openstack.ReasonQuotaExceeded), string(openstack.ReasonRateLimited), string(openstack.ReasonRefused), string(openstack.ReasonServiceMissing),
		string(openstack.ReasonIncomplete), string(openstack.ReasonCanceled),
	} {
		if docs.DeorbitRemedy(reason) == "" {
			t.Errorf("reason %s has no row in docs/deorbit.md, section When Deorbit is stuck", reason)
		}
	}
}

// TestRecordUndecided checks which stage has the last word about what is undecided.
func TestRecordUndecided(t *testing.T) {
	reserved, share, shot := thing(plan.KindVolume, "reserved"), thing(plan.KindVolume, "share"), thing(plan.KindContent, "shot")
	reserved.ID = "v"
	volume := kubernikusv1.DeorbitObject{Kind: "Volume", ID: "v"}
	for name, c := range map[string]struct {
		stage    kubernikusv1.DeorbitStage
		reported []kubernikusv1.DeorbitObject
		want     []kubernikusv1.DeorbitObject
	}{
		"a stage that lists the volumes":          {claims, []kubernikusv1.DeorbitObject{share}, []kubernikusv1.DeorbitObject{share, shot}},
		"one that lists the snapshots":            {snapshots, nil, []kubernikusv1.DeorbitObject{reserved, share}},
		"one that lists neither":                  {services, nil, []kubernikusv1.DeorbitObject{reserved, share, shot}},
		"Verify reports a recorded volume itself": {verify, []kubernikusv1.DeorbitObject{volume}, []kubernikusv1.DeorbitObject{share, volume, shot}},
		"Verify has not found it":                 {verify, nil, []kubernikusv1.DeorbitObject{share, shot}},
	} {
		t.Run(name, func(t *testing.T) {
			status := kubernikusv1.DeorbitStatus{SeenVolumes: []kubernikusv1.SeenVolume{{ID: "v"}}, Undecided: []kubernikusv1.DeorbitObject{reserved, share, shot}}
			recordUndecided(&status, part{stage: c.stage, report: stage.Report{Undecided: c.reported}})
			if !slices.Equal(status.Undecided, c.want) {
				t.Errorf("undecided = %+v, want %+v", status.Undecided, c.want)
			}
		})
	}
}
