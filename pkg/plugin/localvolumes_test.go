// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/localvolume"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// lostPlan has a missing node with a claim and a volume that go, and volumes that are retained.
func lostPlan() localvolume.Plan {
	due, later := noon.Add(30*time.Second), noon.Add(10*time.Minute)
	return localvolume.Plan{
		Nodes: []localvolume.PlannedNode{{Name: "zfs1", Since: noon.Add(-30 * time.Second), Claims: 1, Volumes: 1, Due: &due}, {Name: "idle", Since: noon.Add(-time.Hour)}},
		Volumes: []localvolume.PlannedVolume{
			{Name: "v1", Claim: "db/data-0", Nodes: []string{"zfs1"}, ClaimDue: &due},
			{Name: "v2", Nodes: []string{"zfs1"}, VolumeDue: &later},
			{Name: "v3", Claim: "db/data-3", Nodes: []string{"zfs1"}, ClaimKept: "it is opted out"},
			{Name: "v4", Claim: "db/data-4", Reason: localvolume.EventNodeUncertain, VolumeKept: "no node has the label a=b", Doubtful: "cp1"},
			{Name: "v5", Reason: localvolume.EventUnsupported, VolumeKept: "its source is nfs"},
		},
	}
}

// recordOf returns the record of a plan that was confirmed some time ago.
func recordOf(t *testing.T, plan localvolume.Plan, age time.Duration) *corev1.ConfigMap {
	t.Helper()
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: uninstall.SystemNamespace, Name: localvolume.RecordName,
		Annotations: map[string]string{localvolume.ConfirmedAnnotation: noon.Add(-age).Format(time.RFC3339Nano)}}, Data: map[string]string{localvolume.PlanKey: string(text)}}
}

func printed(all []report.Finding) (lines []string) {
	for _, f := range all {
		lines = append(lines, fmt.Sprintf("%s %s: %s", f.Level, strings.TrimPrefix(f.Namespace+"/"+f.Name, "/"), f.Message))
	}
	return lines
}

// TestStatusOfLocalVolumes checks that status shows what is recorded, and check the brake, and nothing without a record.
func TestStatusOfLocalVolumes(t *testing.T) {
	const silent = "no controller has confirmed since 2026-11-22T11:55:00Z that the nodes are missing: is it running, and may it reach the API server?"
	many := localvolume.Plan{MoreNodes: 2, MoreVolumes: 9}
	for i := range shownVolumes + 2 {
		many.Volumes = append(many.Volumes, localvolume.PlannedVolume{Name: fmt.Sprint("u", i), Reason: localvolume.EventUnsupported, VolumeKept: "its source is nfs"})
	}
	retained := []string{
		"InProgress node/idle: is missing for 60 minutes, and nothing of it will be deleted",
		"Warning pv/v4: is retained with its claim: no node has the label a=b; set the label, or delete the node if it is lost",
		"InProgress pv/v5: is never cleaned up: its source is nfs",
	}
	const note = "missing nodes: 2, volumes in doubt: 1, volumes that are never cleaned up: 1"
	for name, test := range map[string]struct {
		change func(*localvolume.Plan)
		age    time.Duration
		want   []string
		check  []string
		note   string
	}{
		"missing": {func(*localvolume.Plan) {}, 0, append([]string{
			"Warning node/zfs1: is missing for 30 seconds, and 1 claim and 1 volume will be deleted in 30 seconds"}, retained...), nil, note},
		"brake": {func(p *localvolume.Plan) { p.Brake = "Nothing is deleted: 3 of 4." }, 0, append([]string{
			"Warning deletions: Nothing is deleted: 3 of 4.",
			"Warning node/zfs1: is missing for 30 seconds, and 1 claim and 1 volume would be deleted, but the brake is engaged"}, retained...),
			[]string{"Warning local volumes: Nothing is deleted: 3 of 4."}, note},
		"dry run": {func(p *localvolume.Plan) { p.DryRun = true }, 0, append([]string{
			"Warning node/zfs1: is missing for 30 seconds, and 1 claim and 1 volume would be deleted without the dry run"}, retained...), nil, note},
		"no controller": {func(*localvolume.Plan) {}, 5 * time.Minute, append([]string{
			"Warning deletions: " + silent,
			"Warning node/zfs1: is missing for 30 seconds, and 1 claim and 1 volume will be deleted in 30 seconds"}, retained...),
			[]string{"Warning local volumes: " + silent}, note},
		"many": {func(p *localvolume.Plan) { *p = many }, 5 * time.Minute, []string{"Warning nodes: 2 more are missing",
			"InProgress pv/u0: is never cleaned up: its source is nfs", "InProgress pv/u1: is never cleaned up: its source is nfs",
			"InProgress pv/u2: is never cleaned up: its source is nfs", "InProgress pv/u3: is never cleaned up: its source is nfs",
			"InProgress pv/u4: is never cleaned up: its source is nfs",
			"InProgress volumes: 2 more: LocalVolumeSourceUnsupported", "InProgress volumes: 9 more did not fit into the record: see their events"}, nil,
			"missing nodes: 2, volumes that are never cleaned up: 7"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := lostPlan()
			test.change(&plan)
			c, _ := on(t, nil, recordOf(t, plan, test.age))
			r := &report.Report{}
			if err := c.localVolumes(t.Context(), r); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, printed(r.Findings)); diff != "" {
				t.Errorf("status (-want +got):\n%s", diff)
			}
			r = &report.Report{}
			c.checkVolumes(t.Context(), r)
			if diff := cmp.Diff(test.check, printed(r.Findings)); diff != "" || len(r.Checked) != 1 || r.Checked[0].Note != test.note {
				t.Errorf("check (-want +got):\n%s\nchecked = %+v, want the note %q", diff, r.Checked, test.note)
			}
		})
	}
	t.Run("without a record", func(t *testing.T) {
		c, _ := on(t, nil)
		r := &report.Report{}
		if err := c.localVolumes(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		c.checkVolumes(t.Context(), r)
		if len(r.Checked)+len(r.Findings) > 0 {
			t.Errorf("report = %+v, want nothing", r)
		}
	})
	t.Run("not allowed", func(t *testing.T) {
		c, _ := on(t, map[string]error{"ConfigMap": apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", nil)})
		r := &report.Report{}
		if err := c.localVolumes(t.Context(), r); err != nil || len(r.Checked) != 1 || !strings.HasPrefix(r.Checked[0].Problem, "you are not allowed to get ConfigMap") {
			t.Errorf("report = %+v, %v, want the problem", r, err)
		}
	})
}

// TestWhyLocalVolumes checks what why shows of a claim, a volume, and nodes that exist or were deleted.
func TestWhyLocalVolumes(t *testing.T) {
	claim := func(name string) client.Object {
		return &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "db", Name: name}}
	}
	volume := func(name string) client.Object {
		return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	kept := "volume v4 is retained with its claim: no node has the label a=b; set the label, or delete the node if it is lost"
	for name, test := range map[string]struct {
		kind   kind
		object string
		want   []string
	}{
		"a claim that is due":        {volumeKinds()[0], "data-0", []string{"Warning db/data-0: node zfs1 does not exist, and claim db/data-0 will be deleted in 30 seconds"}},
		"a claim that is retained":   {volumeKinds()[0], "data-3", []string{"InProgress db/data-3: node zfs1 does not exist, but claim db/data-3 is retained: it is opted out"}},
		"a claim of a doubtful node": {volumeKinds()[0], "data-4", []string{"Warning db/data-4: " + kept}},
		"another claim":              {volumeKinds()[0], "other", nil},
		"a volume that is due":       {volumeKinds()[1], "v2", []string{"Warning v2: node zfs1 does not exist, and volume v2 will be deleted in 10 minutes"}},
		"a volume of another source": {volumeKinds()[1], "v5", []string{"InProgress v5: volume v5 is never cleaned up: its source is nfs"}},
		"a node that was deleted": {nodeKind(), "zfs1", []string{
			"Warning zfs1: is missing for 30 seconds, and 1 claim and 1 volume will be deleted in 30 seconds",
			"Warning zfs1: node zfs1 does not exist, and claim db/data-0 will be deleted in 30 seconds",
			"Warning zfs1: node zfs1 does not exist, and volume v2 will be deleted in 10 minutes",
			"InProgress zfs1: node zfs1 does not exist, but claim db/data-3 is retained: it is opted out"}},
		"the node that is in doubt": {nodeKind(), "cp1", []string{"Warning cp1: " + kept}},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := on(t, nil, recordOf(t, lostPlan(), 0), claim("data-0"), claim("data-3"), claim("data-4"), claim("other"), volume("v2"), volume("v5"),
				&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "cp1"}})
			c.config = clientcmd.NewDefaultClientConfig(clientcmdapi.Config{}, &clientcmd.ConfigOverrides{Context: clientcmdapi.Context{Namespace: "db"}})
			err := c.why(t.Context(), test.kind, test.object, "json")
			var got report.Report
			if err := json.Unmarshal(out.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, printed(got.Findings)); diff != "" || errors.Is(err, errFindings) != (len(test.want) > 0) {
				t.Errorf("error = %v, findings (-want +got):\n%s", err, diff)
			}
		})
	}
	t.Run("no such node", func(t *testing.T) {
		c, _ := on(t, nil, recordOf(t, lostPlan(), 0))
		if err := c.why(t.Context(), nodeKind(), "none", ""); !apierrors.IsNotFound(err) {
			t.Errorf("error = %v, want that there is no such node", err)
		}
	})
	t.Run("the brake", func(t *testing.T) {
		plan := lostPlan()
		plan.Brake = "Nothing is deleted: 3 of 4."
		c, out := on(t, nil, recordOf(t, plan, 0), volume("v2"))
		if err := c.why(t.Context(), volumeKinds()[1], "v2", ""); !errors.Is(err, errFindings) || !strings.Contains(out.String(), plan.Brake) {
			t.Errorf("error = %v, printed %q, want the brake", err, out)
		}
	})
}
