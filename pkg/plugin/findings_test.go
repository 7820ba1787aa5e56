// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }

func condition(kind, status, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: message}
}

func TestFindings(t *testing.T) {
	project := func(change func(*gardenerv1beta1.Project)) client.Object {
		p := &gardenerv1beta1.Project{Status: gardenerv1beta1.ProjectStatus{Phase: gardenerv1beta1.ProjectReady}}
		change(p)
		return p
	}
	kluster := func(phase kubernikusv1.KlusterPhase, change func(*kubernikusv1.Kluster), conditions ...metav1.Condition) client.Object {
		k := &kubernikusv1.Kluster{Status: kubernikusv1.KlusterStatus{Phase: phase, Conditions: conditions}}
		if change != nil {
			change(k)
		}
		return k
	}
	deleted := func(stage kubernikusv1.DeorbitStage) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) {
			k.DeletionTimestamp = at(-5 * time.Minute)
			k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: stage, Remaining: []kubernikusv1.DeorbitObject{{Kind: "PersistentVolumeClaim"}}}
		}
	}
	quiet := func(since, stageTimeout time.Duration) func(*kubernikusv1.Kluster) {
		return func(k *kubernikusv1.Kluster) {
			deleted(kubernikusv1.DeorbitClaims)(k)
			k.Status.Deorbit.LastProgressAt = at(since)
			if stageTimeout > 0 {
				k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: stageTimeout}
			}
		}
	}
	backend := func(status gimbalv1.ClusterStatus, change func(*gimbalv1.DiscoveryBackend), conditions ...metav1.Condition) client.Object {
		b := &gimbalv1.DiscoveryBackend{Cluster: gimbalv1.Cluster{ClusterStatus: status}, Status: gimbalv1.DiscoveryBackendStatus{Conditions: conditions}}
		if change != nil {
			change(b)
		}
		return b
	}
	dryRun := []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectStale, Status: gardenerv1beta1.ConditionTrue, Message: "it would be (staleDryRun is on) deleted"}}
	translation := func(change func(*midonetv1.Translation), conditions ...metav1.Condition) client.Object {
		tr := &midonetv1.Translation{Status: midonetv1.TranslationStatus{Conditions: conditions}}
		if change != nil {
			change(tr)
		}
		return tr
	}
	for name, c := range map[string]struct {
		object client.Object
		want   string // one line each: mark and text
	}{
		"project":        {project(func(*gardenerv1beta1.Project) {}), ""},
		"project, new":   {project(func(p *gardenerv1beta1.Project) { p.Status.Phase = "" }), "~ is not reconciled yet"},
		"project, stale": {project(func(p *gardenerv1beta1.Project) { p.Status.StaleSinceTimestamp = at(-72 * time.Hour) }), "~ is unused for 3 days"},
		"project, to be deleted": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-72*time.Hour), at(5*time.Hour)
		}), "! is unused for 3 days, and will be deleted in 5 hours"},
		"project, deletion due": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-72*time.Hour), at(-5*time.Hour)
		}), "! is unused for 3 days, and its deletion was due 5 hours ago"},
		"project, dry run": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-72*time.Hour), at(5*time.Hour)
			p.Status.Conditions = dryRun
		}), "~ is unused for 3 days, and would be deleted in 5 hours; staleDryRun prevents it"},
		"project, dry run, date in the past": {project(func(p *gardenerv1beta1.Project) {
			p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-72*time.Hour), at(-5*time.Hour)
			p.Status.Conditions = dryRun
		}), "~ is unused for 3 days, and would have been deleted 5 hours ago; staleDryRun prevents it"},
		"project, not deletable": {project(func(p *gardenerv1beta1.Project) {
			p.Status.Conditions = []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectDeletable, Status: gardenerv1beta1.ConditionFalse}}
		}), ""},
		"project, no namespace": {project(func(p *gardenerv1beta1.Project) {
			p.Status.Conditions = []gardenerv1beta1.Condition{{Type: gardenerv1beta1.ProjectNamespaceReady, Status: gardenerv1beta1.ConditionFalse, Reason: "Taken", Message: "of\nanother"}}
		}), "! NamespaceReady: Taken: of another"},
		"kluster":              {kluster(kubernikusv1.KlusterRunning, nil, condition("RoutesClean", "True", "NoOrphans", "")), ""},
		"kluster, unreachable": {kluster(kubernikusv1.KlusterRunning, nil, condition("APIServerReachable", "False", "Unreachable", "no route"), condition("Ready", "False", "Unreachable", "no route")), "! APIServerReachable: Unreachable: no route"},
		"kluster, the same cluster": {kluster(kubernikusv1.KlusterRunning, nil, condition("ClusterUnique", "False", "SameCluster", "Kluster shop/web leads to the same cluster")),
			"! ClusterUnique: SameCluster: Kluster shop/web leads to the same cluster"},
		"kluster, a backend of its cluster": {kluster(kubernikusv1.KlusterRunning, nil, condition("ClusterUnique", "False", "SameClusterBackend", "DiscoveryBackend shop/us leads to the same cluster")),
			"~ ClusterUnique: SameClusterBackend: DiscoveryBackend shop/us leads to the same cluster"},
		"kluster, its own cluster": {kluster(kubernikusv1.KlusterRunning, nil, condition("ClusterUnique", "False", "OwnCluster", "the Secret leads to it")),
			"~ ClusterUnique: OwnCluster: the Secret leads to it"},
		"kluster, held by the same cluster": {kluster(kubernikusv1.KlusterTerminating, deleted(kubernikusv1.DeorbitClaims), condition("Deorbited", "Unknown", "SameCluster", "nothing is removed")),
			"! is being deleted, for 5 minutes, stage Claims: SameCluster: nothing is removed"},
		"kluster, waiting":        {kluster(kubernikusv1.KlusterRunning, nil, condition("RoutesClean", "False", "ConfirmingOrphans", "2")), "~ RoutesClean: ConfirmingOrphans: 2"},
		"kluster, conflict":       {kluster(kubernikusv1.KlusterRunning, nil, condition("RoutesClean", "Unknown", "CIDRConflict", "with a/b")), "! RoutesClean: CIDRConflict: with a/b"},
		"kluster, no controllers": {kluster("", nil), "~ is not reconciled yet: are the controllers for Klusters enabled?"},
		"kluster, going": {kluster(kubernikusv1.KlusterTerminating, deleted(kubernikusv1.DeorbitClaims), condition("Deorbited", "False", "Claims", "1 remains")),
			"~ is being deleted, for 5 minutes, stage Claims: 1 remains"},
		"kluster, stuck": {kluster(kubernikusv1.KlusterTerminating, quiet(-time.Hour, 0), condition("Deorbited", "False", "Claims", "1 remains")),
			"! is being deleted, for 5 minutes, stage Claims, stuck (no progress for 60 minutes): 1 remains"},
		"kluster, not stuck yet": {kluster(kubernikusv1.KlusterTerminating, quiet(time.Second-time.Hour, 0), condition("Deorbited", "False", "Claims", "1 remains")),
			"~ is being deleted, for 5 minutes, stage Claims: 1 remains"},
		"kluster, stuck by its own time": {kluster(kubernikusv1.KlusterTerminating, quiet(-10*time.Minute, 10*time.Minute), condition("Deorbited", "False", "Claims", "1 remains")),
			"! is being deleted, for 5 minutes, stage Claims, stuck (no progress for 10 minutes): 1 remains"},
		"kluster, fails": {kluster(kubernikusv1.KlusterTerminating, deleted(kubernikusv1.DeorbitClaims), condition("Deorbited", "False", "Unreachable", "Claims: no route")),
			"! is being deleted, for 5 minutes, stage Claims: Unreachable: no route"},
		"backend": {backend(gimbalv1.ClusterEnabled, nil, condition("Drained", "False", "Enabled", ""), condition("Discovered", "True", "Synced", "")), ""},
		"backend, draining": {backend(gimbalv1.ClusterMaintenance, func(b *gimbalv1.DiscoveryBackend) {
			b.Status.Routes = &gimbalv1.RouteStatus{Matching: 20, Drained: 3}
		}), "~ is in maintenance, being drained: 3 of 20 routes"},
		"backend, the same cluster receives": {backend(gimbalv1.ClusterMaintenance, nil, condition("Drained", "False", "SameCluster", "us-copy leads to the same cluster")),
			"! is in maintenance: us-copy leads to the same cluster"},
		"backend, the same cluster": {backend(gimbalv1.ClusterEnabled, nil, condition("ClusterUnique", "False", "SameCluster", "us-copy leads to the same cluster")),
			"! ClusterUnique: SameCluster: us-copy leads to the same cluster"},
		"backend, a Kluster of its cluster": {backend(gimbalv1.ClusterEnabled, nil, condition("ClusterUnique", "False", "SameClusterKluster", "Kluster shop/web leads to the same cluster")),
			"~ ClusterUnique: SameClusterKluster: Kluster shop/web leads to the same cluster"},
		"backend, drained": {backend(gimbalv1.ClusterMaintenance, nil, condition("Drained", "True", "Drained", "")), "~ is in maintenance and drained"},
		"backend, errors": {backend(gimbalv1.ClusterEnabled, func(b *gimbalv1.DiscoveryBackend) {
			b.Status.Errors = []gimbalv1.DiscoveryError{{Type: "ConnectionError", Message: "no route"}}
		}, condition("Available", "False", "NoImage", "none"), condition("Ready", "False", "NoImage", "none")), "! Available: NoImage: none\n! ConnectionError: no route"},
		"translation":          {translation(nil, condition("Synced", "True", "Synced", "")), ""},
		"translation, stalled": {translation(nil, condition("Synced", "False", "Failed", "x"), condition("Stalled", "True", "Conflict", "409")), "! Conflict: 409"},
		"translation, drifted": {translation(func(tr *midonetv1.Translation) {
			tr.Status.Resources = []midonetv1.BackendResourceStatus{{State: midonetv1.BackendResourceDrifted}, {State: midonetv1.BackendResourceSynced}}
		}), "! 1 of 2 resources were changed in MidoNet by another client"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(c.object); got != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, c.want)
			}
		})
	}
}

// TestParseAs checks that a name may have a prefix with its kind where the kind is given.
func TestParseAs(t *testing.T) {
	for text, want := range map[string]string{
		"us": "us", "dbe/us": "us", "discoverybackend us": "us", "kluster/us": "is none of the DiscoveryBackends", "a b": "is not one of these kinds",
	} {
		name, err := parseAs(backendsTitle, strings.Fields(text))
		if err != nil {
			name = err.Error()
		}
		if !strings.Contains(name, want) {
			t.Errorf("%s: name = %s, want %s", text, name, want)
		}
	}
}

// lines returns the findings of an object.
func lines(object client.Object) string {
	var text []string
	for _, k := range kinds() {
		for _, f := range k.findings(object, noon) {
			text = append(text, map[level]string{inProgress: "~ ", warning: "! "}[f.level]+f.text)
		}
	}
	return strings.Join(text, "\n")
}

func TestDetails(t *testing.T) {
	k := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: at(0), Finalizers: []string{kubernikusv1.DeorbiterFinalizer, "example.com/hold"}}}
	k.Status.Deorbit = &kubernikusv1.DeorbitStatus{
		Remaining: []kubernikusv1.DeorbitObject{{Kind: "Volume", ID: "17", Reason: "attached to server 4"}},
		Retained:  []kubernikusv1.DeorbitObject{{Kind: "PersistentVolume", Name: "pv-1", Reason: "Retain"}},
	}
	var got []string
	for _, f := range details(k) {
		got = append(got, f.text)
	}
	text := strings.Join(got, "\n")
	for _, want := range []string{"remains: Volume (17): attached to server 4", "is kept as configured: PersistentVolume pv-1: Retain", "finalizer kubernikus.sap.cc/deorbiter: Deorbit removes it", "example.com/hold: it belongs to another controller"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in:\n%s", want, text)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"kluster/web": "Klusters web", "KL web": "Klusters web", "project.core.gardener.cloud/a": "Projects a", "dbe/x": "DiscoveryBackends x",
		"kluster": "is not KIND/NAME", "pod/web": "is not one of these kinds: project, kluster", "kluster/": "is not KIND/NAME",
	} {
		k, name, err := parse(strings.Fields(text))
		got := k.title + " " + name
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, want) {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	for _, c := range []struct {
		done, all int
		want      string
	}{{0, 0, ""}, {0, 4, "[..............................] 0 of 4"}, {2, 4, "[###############...............] 2 of 4"}, {9, 4, "[##############################] 9 of 4"}} {
		if got := bar(c.done, c.all); got != c.want {
			t.Errorf("%d of %d: %s", c.done, c.all, got)
		}
	}
}

func TestColor(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	to := &terminal{alive: true}
	if err := to.setColor("auto"); err != nil || to.in(red, "x") != "x" {
		t.Errorf("NO_COLOR counts for nothing: %v", err)
	}
	if err := to.setColor("always"); err != nil || to.in(red, "x") != "\x1b[31mx\x1b[0m" {
		t.Errorf("got %q, %v", to.in(red, "x"), err)
	}
	if err := to.setColor("pink"); err == nil {
		t.Error("pink = nil, want an error")
	}
}
