// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

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
	"groundskeeper.io/groundskeeper/pkg/conditions"
)

var noon = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.Time { return new(metav1.NewTime(noon.Add(d))) }

// written returns conditions that are written as Type=Status/Reason/message.
func written(texts ...string) (list []metav1.Condition) {
	for _, text := range texts {
		kind, rest, _ := strings.Cut(text, "=")
		parts := strings.SplitN(rest+"//", "/", 3)
		list = append(list, metav1.Condition{Type: kind, Status: metav1.ConditionStatus(parts[0]), Reason: parts[1],
			Message: strings.TrimSuffix(parts[2], "//"), LastTransitionTime: *at(-time.Hour)})
	}
	return list
}

func projectWith(change func(*gardenerv1beta1.Project), texts ...string) *gardenerv1beta1.Project {
	p := &gardenerv1beta1.Project{}
	for _, c := range written(texts...) {
		p.Status.Conditions = append(p.Status.Conditions, gardenerv1beta1.Condition{Type: gardenerv1beta1.ConditionType(c.Type),
			Status: gardenerv1beta1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message, LastTransitionTime: c.LastTransitionTime})
	}
	if change != nil {
		change(p)
	}
	return p
}

func klusterWith(change func(*kubernikusv1.Kluster), texts ...string) *kubernikusv1.Kluster {
	k := &kubernikusv1.Kluster{Status: kubernikusv1.KlusterStatus{Conditions: written(texts...)}}
	if change != nil {
		change(k)
	}
	return k
}

func backendWith(status gimbalv1.ClusterStatus, change func(*gimbalv1.DiscoveryBackend), texts ...string) *gimbalv1.DiscoveryBackend {
	b := &gimbalv1.DiscoveryBackend{Cluster: gimbalv1.Cluster{ClusterStatus: status}, Status: gimbalv1.DiscoveryBackendStatus{Conditions: written(texts...)}}
	if change != nil {
		change(b)
	}
	return b
}

func translationWith(change func(*midonetv1.Translation), texts ...string) *midonetv1.Translation {
	tr := &midonetv1.Translation{Status: midonetv1.TranslationStatus{Conditions: written(texts...)}}
	if change != nil {
		change(tr)
	}
	return tr
}

// deorbiting is a Kluster in a stage that made progress last at a time.
func deorbiting(progress time.Duration, change func(*kubernikusv1.Kluster)) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) {
		k.DeletionTimestamp, k.Finalizers = at(-5*time.Minute), []string{kubernikusv1.DeorbiterFinalizer}
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitClaims, LastProgressAt: at(progress),
			Remaining: []kubernikusv1.DeorbitObject{{Kind: "Volume", ID: "17", Reason: "attached to server 4"}}}
		if change != nil {
			change(k)
		}
	}
}

func stalePhase(p *gardenerv1beta1.Project) {
	p.Status.StaleSinceTimestamp, p.Status.StaleAutoDeleteTimestamp = at(-72*time.Hour), at(5*time.Hour)
}

func lines(all []Finding) string {
	var text []string
	for _, f := range all {
		text = append(text, map[Level]string{Info: "· ", InProgress: "~ ", Warning: "! "}[f.Level]+f.Message)
	}
	return strings.Join(text, "\n")
}

func TestOf(t *testing.T) {
	const ok = "Ready=True/Ready/all is well"
	off := func(name string) string { return "the controller " + name + " is disabled" }
	for name, tc := range map[string]struct {
		object client.Object
		idle   Idle
		want   string // one line each: mark and text
	}{
		"project":                             {projectWith(nil, ok), off, ""},
		"project that cannot be deleted":      {projectWith(nil, ok, "Deletable=False/NamespaceNotEmpty/has Klusters"), off, ""},
		"project, stale":                      {projectWith(stalePhase, ok), nil, "· is unused for 3 days, and will be deleted in 5 hours"},
		"project, stale, without a date":      {projectWith(func(p *gardenerv1beta1.Project) { p.Status.StaleSinceTimestamp = at(-72 * time.Hour) }, ok), nil, "· is unused for 3 days"},
		"project, dry run":                    {projectWith(stalePhase, ok, "Stale=True/Unused/it would be (staleDryRun is on) deleted"), nil, "· is unused for 3 days, and would be deleted in 5 hours; staleDryRun prevents it"},
		"project, stalled":                    {projectWith(nil, "Ready=False/NamespaceInUse/of\nanother", "Stalled=True/NamespaceInUse/x"), nil, "! NamespaceInUse: of another"},
		"project, deleted":                    {projectWith(func(p *gardenerv1beta1.Project) { p.DeletionTimestamp = at(-5 * time.Minute) }, "Ready=False/Terminating/namespace garden-a has 3 pods"), nil, "~ is being deleted, for 5 minutes: namespace garden-a has 3 pods"},
		"project, deleted, of another server": {projectWith(func(p *gardenerv1beta1.Project) { p.DeletionTimestamp = at(-5 * time.Minute) }), off, "~ is being deleted, for 5 minutes"},
		"project, no summary":                 {projectWith(nil, "NamespaceReady=True/a/"), nil, "~ condition RBACReady has not been reported for generation 0 yet"},
		"project beside Gardener":             {projectWith(nil, string(gardenerv1beta1.ProjectNamespaceReady)+"=True/a/", string(gardenerv1beta1.ProjectRBACReady)+"=True/a/"), off, ""},
		"kluster, not reconciled":             {klusterWith(nil, "Ready=Unknown/Progressing/generation 1 has not been reconciled yet"), nil, "~ generation 1 has not been reconciled yet"},
		"kluster, no controller":              {klusterWith(nil, "Ready=Unknown/Progressing/generation 1 has not been reconciled yet"), off, "! generation 1 has not been reconciled yet; no controller reconciles it: the controller kluster is disabled"},
		"kluster, a generation behind":        {klusterWith(func(k *kubernikusv1.Kluster) { k.Generation = 2 }, ok), nil, "~ condition Ready has not been reported for generation 2 yet"},
		"kluster, unreachable":                {klusterWith(nil, "APIServerReachable=False/Unreachable/no route", "Ready=False/Unreachable/no route"), nil, "~ Unreachable: no route"},
		"kluster, unreachable, no controller": {klusterWith(nil, "Ready=False/Unreachable/no route"), off, "! Unreachable: no route; no controller reconciles it: the controller kluster is disabled"},
		"kluster, stalled, without a message": {klusterWith(nil, "Ready=False/SecretMissing/", "Stalled=True/SecretMissing/"), off, "! SecretMissing; no controller reconciles it: the controller kluster is disabled"},
		"kluster, paused":                     {klusterWith(nil, ok, "Paused=True/Annotated/manually"), nil, "· is paused: manually"},
		"kluster, a backend of its cluster":   {klusterWith(nil, ok, "ClusterUnique=False/SameClusterBackend/us"), nil, ""},
		"kluster, deleted":                    {klusterWith(deorbiting(0, nil), "Deorbited=False/Claims/1 remains", "Ready=False/Terminating/1 remains"), nil, "~ is being deleted, for 5 minutes, stage Claims: 1 remains"},
		"kluster, retries":                    {klusterWith(deorbiting(0, nil), "Deorbited=False/Unreachable/Claims: no route", "Ready=False/Terminating/no route"), nil, "~ is being deleted, for 5 minutes, stage Claims: Unreachable: no route"},
		"kluster, stalled in Deorbit":         {klusterWith(deorbiting(0, nil), "Deorbited=Unknown/SameCluster/nothing is removed", "Ready=False/Terminating/x", "Stalled=True/Terminating/x"), nil, "! is being deleted, for 5 minutes, stage Claims: SameCluster: nothing is removed"},
		"kluster, stuck":                      {klusterWith(deorbiting(-time.Hour, nil), "Deorbited=False/Claims/1 remains", "Ready=False/Terminating/x"), nil, "! is being deleted, for 5 minutes, stage Claims, stuck (no progress for 60 minutes): 1 remains"},
		"kluster, not stuck yet":              {klusterWith(deorbiting(time.Second-time.Hour, nil), "Deorbited=False/Claims/1 remains", "Ready=False/Terminating/x"), nil, "~ is being deleted, for 5 minutes, stage Claims: 1 remains"},
		"kluster, stuck by its own time": {klusterWith(deorbiting(-10*time.Minute, func(k *kubernikusv1.Kluster) {
			k.Spec.Deorbit.StageTimeout = &metav1.Duration{Duration: 10 * time.Minute}
		}), "Deorbited=False/Claims/1 remains", "Ready=False/Terminating/x"), nil, "! is being deleted, for 5 minutes, stage Claims, stuck (no progress for 10 minutes): 1 remains"},
		"kluster, deleted, no controller": {klusterWith(deorbiting(0, nil), "Ready=False/Terminating/x"), off, "! is being deleted, for 5 minutes, stage Claims; no controller reconciles it: the controller kluster-deorbit is disabled"},
		"kluster, just deleted":           {klusterWith(deorbiting(0, func(k *kubernikusv1.Kluster) { k.DeletionTimestamp = at(time.Second - patience) }), "Ready=False/Terminating/x"), off, "~ is being deleted, for 59 seconds, stage Claims"},
		"kluster, kept by a foreign finalizer": {klusterWith(func(k *kubernikusv1.Kluster) {
			k.DeletionTimestamp, k.Finalizers = at(-time.Hour), []string{"example.com/hold"}
		}, "Ready=False/Terminating/x"), off, "~ is being deleted, for 60 minutes"},
		"backend":                            {backendWith(gimbalv1.ClusterEnabled, nil, ok, "Drained=False/Enabled/"), off, ""},
		"backend, started by hand":           {backendWith(gimbalv1.ClusterEnabled, nil, ok, "Available=False/NoImage/none"), off, ""},
		"backend, draining":                  {backendWith(gimbalv1.ClusterMaintenance, func(b *gimbalv1.DiscoveryBackend) { b.Status.Routes = &gimbalv1.RouteStatus{Matching: 20, Drained: 3} }, "Ready=False/Draining/17 routes"), nil, "~ Draining: 17 routes\n· is in maintenance, being drained: 3 of 20 routes"},
		"backend, drained":                   {backendWith(gimbalv1.ClusterMaintenance, nil, ok, "Drained=True/Drained/"), nil, "· is in maintenance and drained"},
		"backend, draining, no controller":   {backendWith(gimbalv1.ClusterMaintenance, nil, "Ready=False/Draining/17 routes"), func(name string) string { return strings.TrimPrefix(name, "discovery-operator") }, "! Draining: 17 routes; no controller reconciles it: discovery-maintenance\n· is in maintenance, being drained"},
		"backend, in automatic maintenance":  {backendWith(gimbalv1.ClusterEnabled, nil, ok, "AutomaticMaintenance=True/NotResponding/since 10:00"), nil, "· is in automatic maintenance: since 10:00"},
		"backend, not in it":                 {backendWith(gimbalv1.ClusterEnabled, nil, ok, "AutomaticMaintenance=False/Held/2 of 2"), nil, "· is not in automatic maintenance: 2 of 2"},
		"translation":                        {translationWith(nil, ok), off, ""},
		"translation that nobody reconciles": {translationWith(nil), off, "! condition Synced has not been reported for generation 0 yet; no controller reconciles it: the controller translation-push is disabled"},
		"translation, stalled":               {translationWith(nil, "Ready=False/Conflict/409", "Stalled=True/Conflict/409"), nil, "! Conflict: 409"},
		"translation, drifted":               {translationWith(nil, "Ready=False/Drifted/Chain x: name"), nil, "~ Drifted: Chain x: name"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(Of(tc.object, tc.idle, noon)); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// A detail explains the state, and is at most as important: what why prints has the exit code of what status prints.
func TestWhy(t *testing.T) {
	const ok = "Ready=True/Ready/all is well"
	for name, tc := range map[string]struct {
		object client.Object
		want   string
	}{
		"ok, with a condition that is False": {klusterWith(nil, ok, "ClusterUnique=False/SameClusterBackend/us"), "· ClusterUnique: SameClusterBackend: us"},
		"the condition of the state":         {klusterWith(nil, "APIServerReachable=False/Unreachable/no route", "Ready=False/Unreachable/no route", "OpenStackReachable=False/RateLimited/429"), "~ Unreachable: no route\n· OpenStackReachable: RateLimited: 429"},
		"ok, with an error": {backendWith(gimbalv1.ClusterEnabled, func(b *gimbalv1.DiscoveryBackend) {
			b.Status.Errors = []gimbalv1.DiscoveryError{{Type: "ConnectionError", Message: "no route"}}
		}, ok, "Drained=False/Enabled/"), "· ConnectionError: no route"},
		"deleted": {klusterWith(deorbiting(0, func(k *kubernikusv1.Kluster) {
			k.Finalizers = append(k.Finalizers, "example.com/hold")
			k.Status.Deorbit.Retained = []kubernikusv1.DeorbitObject{{Kind: "PersistentVolume", Name: "pv-1", Reason: "Retain"}}
		}), "Ready=False/Terminating/x"), "~ is being deleted, for 5 minutes, stage Claims\n~ about \"attached to server …\": no VolumeAttachment of the cluster named this server: delete the server, or detach the volume\n~ remains: Volume (17): attached to server 4\n~ is kept as configured: PersistentVolume pv-1: Retain\n" +
			"~ is blocked by the finalizer kubernikus.sap.cc/deorbiter: " + keepers[kubernikusv1.DeorbiterFinalizer] + "\n~ is blocked by the finalizer example.com/hold: it belongs to another controller"},
		"stalled": {translationWith(func(tr *midonetv1.Translation) {
			tr.Status.Resources = []midonetv1.BackendResourceStatus{{Kind: "Chain", ID: "1", State: midonetv1.BackendResourceFailed, Message: "409"}}
		}, "Ready=False/Conflict/409", "Stalled=True/Conflict/409"), "! Conflict: 409\n! resource Chain 1 is Failed: 409"},
		"in progress": {translationWith(func(tr *midonetv1.Translation) {
			tr.Status.Resources = []midonetv1.BackendResourceStatus{{Kind: "Chain", ID: "1", State: midonetv1.BackendResourceDrifted, Message: "name"}}
		}, "Ready=False/Drifted/name"), "~ Drifted: name\n~ resource Chain 1 is Drifted: name"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(Why(tc.object, nil, noon)); got != tc.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tc.want)
			}
		})
	}
}

// Every type of condition that only repeats others is left out.
func TestSummariesAreNoDetails(t *testing.T) {
	k := klusterWith(nil, "Ready=False/Unreachable/a", "APIServerReachable=False/Unreachable/b")
	for _, f := range Details(k) {
		if kind, _, _ := strings.Cut(f.Message, ":"); conditions.IsSummary(kind) {
			t.Errorf("detail = %q, want no summary", f.Message)
		}
	}
}

// TestRemedies checks that each reason is explained once, with the command for this Kluster.
func TestRemedies(t *testing.T) {
	k := klusterWith(func(k *kubernikusv1.Kluster) {
		k.Namespace, k.Name, k.DeletionTimestamp = "default", "web", at(0)
		k.Status.Deorbit = &kubernikusv1.DeorbitStatus{Stage: kubernikusv1.DeorbitVerify, Remaining: []kubernikusv1.DeorbitObject{
			{Kind: "Volume", ID: "1", Reason: "attached to server 4"}, {Kind: "Volume", ID: "2", Reason: "attached to server 5"},
		}, Undecided: []kubernikusv1.DeorbitObject{{Kind: "PersistentVolume", Name: "pv-1", Reason: "CSI driver x provides it: not checked"}}}
	}, kubernikusv1.ConditionDeorbited+"=Unknown/"+kubernikusv1.ReasonSameCluster+"/a leads to it")
	var got []string
	for _, f := range remedies(k) {
		got = append(got, f.Message)
	}
	wants := []string{"detach the Kluster with kubectl groundskeeper deorbit web -n default --thaw", "delete the server, or detach the volume", "Delete the claim before the cluster"}
	if len(got) != len(wants) {
		t.Fatalf("remedies = %q, want %d of them", got, len(wants))
	}
	for i, want := range wants {
		if !strings.Contains(got[i], want) {
			t.Errorf("remedy %d = %q, want %q in it", i, got[i], want)
		}
	}
	if got := remedies(&kubernikusv1.Kluster{Status: k.Status}); len(got) > 0 {
		t.Errorf("remedies of a Kluster that is not being deleted = %v, want none", got)
	}
}
