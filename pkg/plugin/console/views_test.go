// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/docs"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }

func quantities(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for pair := range slices.Chunk(pairs, 2) {
		list[corev1.ResourceName(pair[0])] = resource.MustParse(pair[1])
	}
	return list
}

// A stage whose beginning and end were observed has a duration, one that passed before has none.
func TestDeorbitStages(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at(0)}}
	if d := deorbitOf(&kubernikusv1.Kluster{}, nil); d != nil {
		t.Errorf("Deorbit of a Kluster that is not being deleted = %+v", d)
	}
	if d := deorbitOf(k, nil); d.Stages[0].State != stagePending || d.Failing {
		t.Errorf("before it starts = %+v, want only pending stages", d)
	}
	var seen stages
	for i, stage := range []kubernikusv1.DeorbitStage{kubernikusv1.DeorbitPods, kubernikusv1.DeorbitSnapshots, kubernikusv1.DeorbitClaims} {
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: stage, StageStartedAt: at(time.Duration(i) * time.Minute)}
		seen = seen.observe(k)
	}
	k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionDeorbited, Status: "False", Reason: "Claims", Message: "2 remain"}}
	d := deorbitOf(k, seen)
	lines := []string{}
	for _, s := range d.Stages {
		line := s.Name + " " + s.State
		if s.StartedAt != nil && s.EndedAt != nil {
			line += " " + s.EndedAt.Sub(*s.StartedAt).String()
		}
		lines = append(lines, line)
	}
	want := "Drain done, Freeze done, Pods done 1m0s, Snapshots done 1m0s, Claims current, Services pending, Wait pending, Verify pending, Routes pending, Release pending"
	if got := strings.Join(lines, ", "); got != want {
		t.Errorf("stages = %s, want %s", got, want)
	}
	if d.Failing || d.Message != "2 remain" {
		t.Errorf("Deorbit = %+v, want no failure", d)
	}
	k.Status.Conditions[0].Reason = "Unreachable"
	if !deorbitOf(k, seen).Failing {
		t.Error("a reason other than the stage is no failure")
	}
}

func TestRouteGC(t *testing.T) {
	k := &kubernikusv1.Kluster{}
	if got := routeGCOf(k); got != nil {
		t.Errorf("Route GC without orphans = %+v, want none", got)
	}
	k.Status.RouteGC = &kubernikusv1.RouteGCStatus{OrphanCount: 60, Orphans: []kubernikusv1.OrphanedRoute{{Destination: "100.100.1.0/24", NextHop: "10.0.0.6", RemovalDue: at(time.Minute)}}}
	k.Status.Conditions = []metav1.Condition{{Type: kubernikusv1.ConditionRoutesClean, Status: "False", Reason: "ConfirmingOrphans", Message: "60 routes"}}
	if got := routeGCOf(k); got.Count != 60 || len(got.Orphans) != 1 || got.Reason != "ConfirmingOrphans" || got.Message != "60 routes" {
		t.Errorf("Route GC = %+v, want the orphans and the condition", got)
	}
}

func TestLife(t *testing.T) {
	project := func(change func(*gardenerv1beta1.Project)) *gardenerv1beta1.Project {
		p := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: *at(-100 * time.Hour)}}
		change(p)
		return p
	}
	for name, tc := range map[string]struct {
		project *gardenerv1beta1.Project
		want    string
		remedy  bool
	}{
		"new": {project(func(*gardenerv1beta1.Project) {}), "created", false},
		"used": {project(func(p *gardenerv1beta1.Project) { p.Status.LastActivityTimestamp = at(-time.Hour) }),
			"created, last activity", false},
		"stale": {project(func(p *gardenerv1beta1.Project) {
			p.Status.LastActivityTimestamp, p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-20*time.Hour), at(-10*time.Hour), at(time.Hour)
		}), "created, last activity, unused since, is deleted", true},
		"dry run": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-10*time.Hour), at(time.Hour)
			p.Status.Conditions = []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectStale, Message: "it would be (staleDryRun is on) deleted"}}
		}), "created, unused since, would be deleted (staleDryRun)", true},
		"deleted": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.DeletionTimestamp = at(-10*time.Hour), at(-time.Hour)
		}),
			"created, unused since, deletion requested", false},
	} {
		t.Run(name, func(t *testing.T) {
			names := []string{}
			life, remedy := lifeOf(tc.project)
			for _, p := range life {
				names = append(names, p.Name)
			}
			if got := strings.Join(names, ", "); got != tc.want || (remedy != "") != tc.remedy {
				t.Errorf("life = %s, remedy = %q, want %s and remedy %t", got, remedy, tc.want, tc.remedy)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	p := &gardenerv1beta1.Project{}
	for _, role := range []string{"viewer", "admin"} {
		m := gardenerv1beta1.ProjectMember{Role: role, Roles: []string{"uam"}}
		m.Kind, m.Name = "User", "of "+role
		p.Spec.Members = append(p.Spec.Members, m)
	}
	if got, want := fmt.Sprint(projectOf(p).Members), "[{User of admin [admin uam]} {User of viewer [viewer uam]}]"; got != want {
		t.Errorf("members = %s, want %s", got, want)
	}
}

func TestQuotas(t *testing.T) {
	q := corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{
		Hard: quantities("pods", "0", "cpu", "1500m", "secrets", "0"), Used: quantities("pods", "1", "cpu", "750m", "secrets", "0")}}
	if got, want := fmt.Sprint(quotasOf([]corev1.ResourceQuota{q})), "[{pods 1 0 100} {cpu 750m 1500m 50} {secrets 0 0 0}]"; got != want {
		t.Errorf("quotas = %s, want %s", got, want)
	}
}

// TestLostNodes checks that the page shows what the controller recorded, and computes nothing else.
func TestLostNodes(t *testing.T) {
	due := noon.Add(30 * time.Second)
	plan := localvolume.Plan{
		Brake: "3 of 4 nodes are missing",
		Nodes: []localvolume.PlannedNode{{Name: "n1", Since: noon.Add(-30 * time.Second), Claims: 1, Due: &due}},
		Volumes: []localvolume.PlannedVolume{{Name: "v1", Claim: "db/data-0", Nodes: []string{"n1"}, ClaimDue: &due},
			{Name: "v2", Claim: "db/data-1", Reason: localvolume.EventNodeUncertain, VolumeKept: "why", Doubtful: "n2"}},
		MoreVolumes: 7,
	}
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	record := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: localvolume.RecordName,
			Annotations: map[string]string{localvolume.ConfirmedAnnotation: noon.Format(time.RFC3339Nano), localvolume.AcknowledgeAnnotation: "3"}},
		Data: map[string]string{"n1": noon.Add(-30 * time.Second).Format(time.RFC3339Nano), localvolume.PlanKey: string(text)},
	}
	waits := func(name, claim string) *corev1.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}, Status: corev1.PodStatus{Phase: corev1.PodPending}}
		pod.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim}}}}
		return pod
	}
	_, reading := newWorld(t, record, waits("db-0", "data-0"), waits("db-1", "data-1"))
	var view LostNodes
	open(t, optionsOf(reading)).read("/api/lost-nodes", &view)
	if diff := cmp.Diff(LostNodes{Recorded: localvolume.Recorded{Plan: plan, Confirmed: &noon, Acknowledged: "3"},
		Findings: report.LocalVolumes(&localvolume.Recorded{Plan: plan, Confirmed: &noon}, 9, noon),
		Waiting:  map[string][]string{"db/data-0": {"db/db-0"}}, Problems: []string{}}, view); diff != "" {
		t.Errorf("lost nodes (-want +got):\n%s", diff)
	}

	w, denied := newWorld(t)
	w.fails["configmaps"] = apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, localvolume.RecordName, nil)
	var unknown LostNodes
	open(t, optionsOf(denied)).read("/api/lost-nodes", &unknown)
	want := []string{"you are not allowed to get ConfigMap groundskeeper-missing-nodes in namespaces groundskeeper-system and kube-system, of which one may have it"}
	if diff := cmp.Diff(want, unknown.Problems); diff != "" {
		t.Errorf("problems without a permission (-want +got):\n%s", diff)
	}

	_, empty := newWorld(t)
	var none LostNodes
	if open(t, optionsOf(empty)).read("/api/lost-nodes", &none); len(none.Nodes)+len(none.Problems) != 0 {
		t.Errorf("without a record = %+v, want nothing", none)
	}
}

// The page shows how long a stage of Deorbit may go without progress: as the Kluster says, else as the configuration does.
func TestDeorbitHasTheTimeoutOfItsStage(t *testing.T) {
	_, reading := newWorld(t)
	s := newStore(optionsOf(reading))
	k := klusterIn(kubernikusv1.KlusterTerminating, "web")
	k.DeletionTimestamp = &metav1.Time{Time: noon}
	if got := s.deorbitOf(k, nil).StageTimeout; got != 0 {
		t.Errorf("timeout without a configuration = %v, want none", got)
	}
	s.checkHealth(t.Context())
	if got, want := s.deorbitOf(k, nil).StageTimeout, kubernikusv1.DefaultDeorbitStageTimeout.Seconds(); got != want {
		t.Errorf("timeout of the configuration = %v, want %v", got, want)
	}
	k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: time.Minute}
	if got := s.deorbitOf(k, nil).StageTimeout; got != 60 {
		t.Errorf("timeout of the Kluster = %v, want 60", got)
	}
}

// Each finding has a page of the documentation, which the console has.
func TestDocs(t *testing.T) {
	stale := &gardenerv1beta1.Project{Status: gardenerv1beta1.ProjectStatus{StaleSinceTimestamp: at(0)}}
	drained := &gimbalv1.DiscoveryBackend{}
	drained.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	for want, object := range map[string]client.Object{
		"projects.md": &gardenerv1beta1.Project{}, "stale-projects.md": stale, "klusters.md": &kubernikusv1.Kluster{},
		"deorbit.md":     &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at(0)}},
		"backend-add.md": &gimbalv1.DiscoveryBackend{}, "backend-maintenance.md": drained, "translations.md": &midonetv1.Translation{},
	} {
		t.Run(want, func(t *testing.T) {
			if got := docsOf(object); got != want {
				t.Errorf("page = %q, want %q", got, want)
			}
			if _, err := docs.Pages.Open(want); err != nil {
				t.Error(err)
			}
		})
	}
	script, err := assets.ReadFile("assets/console.js")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range regexp.MustCompile(`[a-z-]+\.md`).FindAllString(string(script), -1) {
		if _, err := docs.Pages.Open(page); err != nil {
			t.Errorf("the page of the console links to it: %v", err)
		}
	}
}
