// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// dataOf returns the content of a record with a plan.
func dataOf(t *testing.T, known Knowledge, stored *corev1.ConfigMap, plan Plan) map[string]string {
	t.Helper()
	data, err := recordData(known, stored, func(map[string]time.Time) Plan { return plan })
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestPlanOf(t *testing.T) {
	at := func(d time.Duration) *time.Time { return new(noon.Add(d)) }
	// The clock of the process is an hour ahead of the recorded times.
	const ahead = time.Hour
	now := noon.Add(ahead + 10*time.Second)
	subject := func(claim, volume Decision, nodes ...string) Subject {
		return Subject{Stale: Stale{Volume: staleVolume(), Nodes: nodes, Since: noon.Add(ahead)}, ClaimDecision: claim, VolumeDecision: volume}
	}
	wait := func(d time.Duration) Decision { return Decision{Action: Wait, Until: noon.Add(ahead + d)} }
	keep := Decision{Action: Keep}
	var untouched []Untouched
	for _, reason := range []string{EventNodeUncertain, EventUnsupported, EventNotNodeBound} {
		untouched = append(untouched, Untouched{Volume: staleVolume(), Reason: reason, Why: "why", Node: "m"})
	}
	for name, test := range map[string]struct {
		in   planInput
		want Plan
	}{
		"nothing": {},
		"a claim that waits": {
			planInput{subjects: []Subject{subject(wait(time.Minute), keep, "a")}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon, Claims: 1, Due: at(time.Minute)}},
				Volumes: []PlannedVolume{{Name: "v", Claim: "ns/c", Nodes: []string{"a"}, ClaimDue: at(time.Minute)}}},
		},
		"a claim that is due keeps its time": {
			planInput{subjects: []Subject{subject(Decision{Action: Delete}, keep, "a")}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon, Claims: 1, Due: at(time.Minute)}},
				Volumes: []PlannedVolume{{Name: "v", Claim: "ns/c", Nodes: []string{"a"}, ClaimDue: at(time.Minute)}}},
		},
		"a claim of a node that was never seen": {
			planInput{subjects: []Subject{func() Subject { s := subject(wait(time.Hour), keep, "a"); s.Unknown = true; return s }()}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon, Claims: 1, Due: at(time.Hour)}},
				Volumes: []PlannedVolume{{Name: "v", Claim: "ns/c", Nodes: []string{"a"}, ClaimDue: at(time.Hour)}}},
		},
		"the last of two nodes counts": {
			planInput{subjects: []Subject{subject(wait(time.Minute), keep, "a", "b")}, since: map[string]time.Time{"a": noon.Add(-time.Hour), "b": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon.Add(-time.Hour), Claims: 1, Due: at(time.Minute)}, {Name: "b", Since: noon, Claims: 1, Due: at(time.Minute)}},
				Volumes: []PlannedVolume{{Name: "v", Claim: "ns/c", Nodes: []string{"a", "b"}, ClaimDue: at(time.Minute)}}},
		},
		"a volume that waits, and one of a moment": {
			planInput{subjects: []Subject{subject(keep, wait(10*time.Minute), "a"), subject(keep, wait(11*time.Second), "a")}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon, Volumes: 2, Due: at(0)}}, Volumes: []PlannedVolume{
				{Name: "v", Claim: "ns/c", Nodes: []string{"a"}, VolumeDue: at(0)}, {Name: "v", Claim: "ns/c", Nodes: []string{"a"}, VolumeDue: at(10 * time.Minute)}}},
		},
		"retained": {
			planInput{subjects: []Subject{subject(Decision{Action: Keep, Skipped: "opted out"}, Decision{Action: Keep, Skipped: "Retain"}, "a")}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon}},
				Volumes: []PlannedVolume{{Name: "v", Claim: "ns/c", Nodes: []string{"a"}, ClaimKept: "opted out", VolumeKept: "Retain"}}},
		},
		"nothing left to do": {
			planInput{subjects: []Subject{subject(keep, keep, "a")}, since: map[string]time.Time{"a": noon}},
			Plan{Nodes: []PlannedNode{{Name: "a", Since: noon}}},
		},
		"brake, dry run and volumes that are never cleaned up": {
			planInput{brake: "too many", untouched: untouched, config: &configv1alpha1.LocalVolumeConfiguration{DryRun: new(true)}},
			Plan{Brake: "too many", DryRun: true, Volumes: []PlannedVolume{
				{Name: "v", Claim: "ns/c", Reason: EventNodeUncertain, VolumeKept: "why", Doubtful: "m"},
				{Name: "v", Claim: "ns/c", Reason: EventUnsupported, VolumeKept: "why", Doubtful: "m"},
				{Name: "v", Claim: "ns/c", Reason: EventNotNodeBound, VolumeKept: "why", Doubtful: "m"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			test.in.now = now
			if test.in.config == nil {
				test.in.config = factsAt(noon, nil, nil).config
			}
			if diff := cmp.Diff(test.want, planOf(test.in)); diff != "" {
				t.Errorf("plan (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlanFits checks that a plan never takes more than its room, that it has nodes as well as volumes, and counts the others.
func TestPlanFits(t *testing.T) {
	plan := Plan{Brake: "too many"}
	for i := range 1000 {
		name := fmt.Sprintf("node-%03d", i)
		plan.Nodes = append(plan.Nodes, PlannedNode{Name: name, Since: noon})
		plan.Volumes = append(plan.Volumes, PlannedVolume{Name: "volume-" + name, Nodes: []string{name}, VolumeDue: &noon})
	}
	for _, limit := range []int{-1, 0, 10, 100, 1000, 10000, 100000, 1 << 20} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			text, err := plan.encode(limit)
			if err != nil || len(text) > max(0, limit) {
				t.Fatalf("size = %d, %v, want %d at most", len(text), err, limit)
			}
			if limit < 1000 {
				return
			}
			got, err := recordedIn(&corev1.ConfigMap{Data: map[string]string{PlanKey: text}})
			if err != nil {
				t.Fatal(err)
			}
			if n, v := len(got.Nodes), len(got.Volumes); n == 0 || v == 0 || n+got.MoreNodes != 1000 || v+got.MoreVolumes != 1000 || got.Brake != plan.Brake {
				t.Errorf("%d and %d more nodes, %d and %d more volumes, brake %q, want 1000 of each", n, got.MoreNodes, v, got.MoreVolumes, got.Brake)
			}
			if limit == 1<<20 && got.MoreNodes+got.MoreVolumes > 0 {
				t.Errorf("%d nodes and %d volumes are left out, want none", got.MoreNodes, got.MoreVolumes)
			}
		})
	}
}

// TestRecordFits checks that the record of a large cluster fits into a ConfigMap, and that only what is safe to leave out is left out.
func TestRecordFits(t *testing.T) {
	memory := Knowledge{Missing: map[string]time.Duration{}, Seen: map[string][]string{}, Registered: map[string]time.Time{}, Confirmed: noon}
	for i := range 6000 {
		name := fmt.Sprintf("%s-%05d", strings.Repeat("n", 57), i)
		memory.Seen[name], memory.Registered[name] = []string{"n-" + name}, noon
	}
	memory.Missing["gone"] = time.Minute
	data := dataOf(t, memory, &corev1.ConfigMap{}, Plan{Brake: "too many"})
	size, seen, registered := 0, 0, 0
	for key, value := range data {
		size += len(key) + len(value)
		if strings.HasPrefix(key, SeenPrefix) {
			seen++
		}
		if strings.HasPrefix(key, RegisteredPrefix) {
			registered++
		}
	}
	if size > maxRecord || seen != 6000 || data["gone"] == "" || registered == 0 || registered == 6000 {
		t.Errorf("%d bytes with %d observed names and %d times of registration, want all observed names and as many times as fit into %d", size, seen, registered, maxRecord)
	}
	if diff := cmp.Diff(data, dataOf(t, memory, &corev1.ConfigMap{Data: data}, Plan{Brake: "too many"})); diff != "" {
		t.Errorf("the record changes (-before +now):\n%s", diff)
	}
}

func TestFindRecord(t *testing.T) {
	record := func(namespace, plan string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: RecordName,
			Annotations: map[string]string{ConfirmedAnnotation: noon.Format(time.RFC3339Nano), AcknowledgeAnnotation: "3"}}, Data: map[string]string{PlanKey: plan}}
	}
	for name, test := range map[string]struct {
		objects   []*corev1.ConfigMap
		forbidden []string
		want      *Recorded
		err       string
	}{
		"none":                    {},
		"of the first namespace":  {[]*corev1.ConfigMap{record("first", `{"brake":"a"}`), record("second", "")}, nil, &Recorded{Plan: Plan{Brake: "a"}, Confirmed: &noon, Acknowledged: "3"}, ""},
		"of the second namespace": {[]*corev1.ConfigMap{record("second", `{"moreNodes":1}`)}, nil, &Recorded{Plan: Plan{MoreNodes: 1}, Confirmed: &noon, Acknowledged: "3"}, ""},
		"of an earlier version":   {[]*corev1.ConfigMap{record("first", "")}, nil, &Recorded{Confirmed: &noon, Acknowledged: "3"}, ""},
		"with an invalid plan": {[]*corev1.ConfigMap{record("first", "{")}, nil, nil,
			"read key _plan of config map first/" + RecordName},
		"of a namespace that may be read": {[]*corev1.ConfigMap{record("first", ""), record("second", `{"brake":"a"}`)}, []string{"first"}, &Recorded{Plan: Plan{Brake: "a"}, Confirmed: &noon, Acknowledged: "3"}, ""},
		"none that may be read":           {nil, []string{"first"}, nil, "get config map first/" + RecordName},
		"no namespace may be read":        {nil, []string{"first", "second"}, nil, "get config map first/" + RecordName},
	} {
		t.Run(name, func(t *testing.T) {
			builder := fake.NewClientBuilder()
			for _, object := range test.objects {
				builder.WithObjects(object)
			}
			builder.WithInterceptorFuncs(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
				if slices.Contains(test.forbidden, key.Namespace) {
					return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, key.Name, nil)
				}
				return c.Get(ctx, key, into)
			}})
			got, err := FindRecord(t.Context(), builder.Build(), "first", "second")
			if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("record (-want +got):\n%s\nerror = %v, want %q", diff, err, test.err)
			}
		})
	}
}
