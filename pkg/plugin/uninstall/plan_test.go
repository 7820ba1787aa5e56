// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// configured returns the configuration of a manager with these lines.
func configured(t *testing.T, lines string) *v1alpha1.ControllerManagerConfiguration {
	t.Helper()
	config, err := parseConfig([]byte("apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n" + lines))
	if err != nil {
		t.Fatal(err)
	}
	return config
}

const everything = "controllers: {kluster: {enabled: true}, translation: {midonet: {url: http://midonet.example.com/midonet-api}}}"

// installed returns an installation with one object of each kind, all controllers on.
func installed(t *testing.T) *Found {
	t.Helper()
	return &Found{
		Registrations: []string{"apiservices v1.midonet.org"}, Served: groups(), Namespaces: []string{SystemNamespace},
		Manager: Manager{Deployed: true, Config: configured(t, everything)},
		Projects: []*gardenerv1beta1.Project{{ObjectMeta: metav1.ObjectMeta{Name: "shop"},
			Spec: gardenerv1beta1.ProjectSpec{Namespace: new("garden-shop"), Members: make([]gardenerv1beta1.ProjectMember, 2)}}},
		Klusters:     []*kubernikusv1.Kluster{{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: "web"}}},
		Backends:     []*gimbalv1.DiscoveryBackend{{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us"}, Cluster: gimbalv1.Cluster{ClusterStatus: gimbalv1.ClusterEnabled}}},
		Translations: make([]metav1.PartialObjectMetadata, 3),
		Contents:     map[string]Content{"garden-shop": {Pods: 4, Claims: 1}, SystemNamespace: {Pods: 2, Claims: 1, Secrets: 2}},
	}
}

var defaults = Options{Projects: Keep, Klusters: Detach, Timeout: time.Minute}

// Blockers are found before the removal begins, and name the remedy.
func TestBlockers(t *testing.T) {
	for name, test := range map[string]struct {
		change  func(*Found)
		options func(*Options)
		want    string
	}{
		"nothing": {},
		"an API is unavailable": {func(f *Found) { f.Unavailable = []string{"v1.midonet.org: no endpoints"} }, nil,
			"APIService v1.midonet.org: no endpoints. Restore the API server"},
		"an API is unavailable, and its namespace goes": {func(f *Found) {
			f.Unavailable, f.Contents[SystemNamespace] = []string{"v1.midonet.org: no endpoints"}, Content{Terminating: true}
		}, nil, "APIService v1.midonet.org: no endpoints, and namespace groundskeeper-system is being deleted, so that no API server can be started"},
		"Klusters of Cluster API": {func(f *Found) {
			f.Klusters[0].Annotations = map[string]string{kubernikusv1.ClusterAPIUIDAnnotation: "u"}
		}, nil, "1 Klusters belong to Clusters of Cluster API"},
		"hooks of Cluster API": {func(f *Found) { f.Hooked = []string{"machines a/m"} }, nil, "1 of its objects have hooks or finalizers"},
		"hooks, abandoned, and the controller runs": {func(f *Found) {
			f.Hooked, f.Manager.Config = []string{"machines a/m"}, configured(t, strings.Replace(everything, "kluster: {", "kluster: {clusterAPI: {enabled: true}, ", 1))
		}, func(o *Options) { o.Abandon = []string{Klusters} }, "stop the controller manager"},
		"hooks, abandoned, and the controller is off": {func(f *Found) { f.Hooked = []string{"machines a/m"} }, func(o *Options) { o.Abandon = []string{Klusters} }, ""},
		"hooks, abandoned, and it is unknown what runs": {func(f *Found) {
			f.Hooked, f.Manager.Config, f.Manager.Unknown = []string{"machines a/m"}, nil, "no Deployment"
			f.Projects, f.Klusters, f.Backends, f.Translations = nil, nil, nil, nil
		}, func(o *Options) { o.Abandon = []string{Klusters} }, "stop the controller manager"},
		"owners are not served": {func(f *Found) { f.Stranded = []string{"namespaces garden-shop"} }, nil,
			"the owners of 1 object are no longer served, so that Kubernetes does not delete them (namespaces garden-shop). Apply the manifests again"},
		"no manager":       {func(f *Found) { f.Manager.Silent = "no manager renews Lease a/b" }, nil, "does not work (no manager renews Lease a/b)"},
		"nothing to do":    {func(f *Found) { *f = Found{Served: groups(), Manager: Manager{Silent: "no Lease"}} }, nil, ""},
		"no configuration": {func(f *Found) { f.Manager.Config, f.Manager.Unknown = nil, "no Deployment" }, nil, "(no Deployment). Pass its file with --config"},
		"Projects": {func(f *Found) {
			f.Manager.Config = configured(t, strings.Replace(everything, "{", "{enabled: ['*', -project], ", 1))
		}, nil,
			`1 Projects, and the controller "project" does not run`},
		"backends": {func(f *Found) {
			f.Manager.Config = configured(t, strings.Replace(everything, "{", "{enabled: ['*', -discovery-operator], ", 1))
		}, nil, `1 DiscoveryBackends, and the controller "discovery-operator" does not run`},
		"backends in maintenance": {func(f *Found) {
			f.Manager.Config = configured(t, strings.Replace(everything, "{", "{enabled: ['*', -discovery-maintenance], ", 1))
			f.Backends[0].Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
		}, nil, `1 DiscoveryBackends in maintenance, and the controller "discovery-maintenance" does not run`},
		"Klusters": {func(f *Found) { f.Manager.Config = configured(t, ""); f.Translations = nil }, nil, "with --abandon=klusters"},
		"Klusters are abandoned": {func(f *Found) { f.Manager.Config = configured(t, ""); f.Translations = nil },
			func(o *Options) { o.Abandon = []string{Klusters} }, ""},
		"Translations":              {func(f *Found) { f.Manager.Config = configured(t, "controllers: {kluster: {enabled: true}}") }, nil, "with --abandon=translations"},
		"Translations, only a plan": {func(f *Found) { f.Manager.Config.Controllers.Translation.Push.Mode = v1alpha1.PushModePlan }, nil, "with --abandon=translations"},
		"Translations are abandoned": {func(f *Found) { f.Manager.Config = configured(t, "controllers: {kluster: {enabled: true}}") },
			func(o *Options) { o.Abandon = []string{Translations} }, ""},
		"Translations come back": {func(f *Found) { f.Manager.Deployed = false }, nil, `Restart the controller manager with "-translation-convert"`},
		"a paused Project": {func(f *Found) { f.Projects[0].Annotations = map[string]string{kit.AnnotationPaused: "true"} }, nil,
			"Project shop is paused: kubectl annotate project shop groundskeeper.io/paused-"},
		"a paused Kluster": {func(f *Found) { f.Klusters[0].Annotations = map[string]string{kit.AnnotationPaused: "true"} }, nil,
			"kubectl annotate kluster --namespace garden-shop web groundskeeper.io/paused-"},
		"a protected Kluster": {func(f *Found) {
			f.Klusters[0].Annotations = map[string]string{kubernikusv1.TerminationProtectionAnnotation: "x"}
		}, nil, "kubectl annotate kluster --namespace garden-shop web kubernikus.cloud.sap/termination-protection-"},
	} {
		t.Run(name, func(t *testing.T) {
			f, o := installed(t), defaults
			if test.change != nil {
				test.change(f)
			}
			if test.options != nil {
				test.options(&o)
			}
			got := NewPlan(f, o).Blockers
			if test.want == "" {
				if len(got) > 0 {
					t.Errorf("got %q", got)
				}
				return
			}
			if len(got) != 1 || !strings.Contains(got[0], test.want) {
				t.Errorf("got %q, want one with %q", got, test.want)
			}
		})
	}
}

// The plan lists what happens, in its order, and what is worse than usual in capitals.
func TestPlan(t *testing.T) {
	f := installed(t)
	f.Backends[0].Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	f.Backends[0].Status.Routes = &gimbalv1.RouteStatus{Matching: 7, WithoutAlternative: &gimbalv1.RouteNames{Count: 2}}
	f.Klusters[0].Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true}
	f.Parts = []string{"deployments groundskeeper-system/groundskeeper-apiserver"}
	const want = `1. The controller manager restarts without the controllers that make Translations:
     ConfigMap groundskeeper-system/groundskeeper-controller-manager-uninstall
2. DiscoveryBackends come back to service, and routes get the weights that their users wanted:
     gimbal-discovery/us
3. Klusters are detached: their clusters and OpenStack are not touched:
     garden-shop/web: its announcement is withdrawn, traffic moves to other backends
4. DiscoveryBackends are deleted, with the Services that they published and the references to them in routes:
     gimbal-discovery/us: 7 routes send to it, 2 of them have no other backend and will return errors
5. Translations are deleted, and their resources are removed from MidoNet:
     3 Translations
6. Projects are deleted; their namespaces stay, without the roles of members:
     shop: 2 members, namespace garden-shop with 4 pods and 1 claim
7. Registrations are deleted:
     apiservices v1.midonet.org
8. Objects of the installation are deleted:
     deployments groundskeeper-system/groundskeeper-apiserver
9. Namespaces of the installation are deleted WITH ALL THEIR CONTENTS, including volumes:
     groundskeeper-system with 2 pods, 1 claim and 2 Secrets
`
	if got := NewPlan(f, defaults).String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	worst := NewPlan(f, Options{Projects: Delete, Klusters: Deorbit, Abandon: []string{Translations}, KeepData: true}).String()
	for _, want := range []string{"Klusters are DEORBITED", "namespaces WITH ALL THEIR CONTENTS", "their resources are NOT CLEANED UP (--abandon=translations)", "stay, with their volumes"} {
		if !strings.Contains(worst, want) {
			t.Errorf("it does not contain %q:\n%s", want, worst)
		}
	}
}

// TestPlanAsJSON checks that scripts get each object, however many there are.
func TestPlanAsJSON(t *testing.T) {
	f := installed(t)
	for i := range 43 {
		f.Parts = append(f.Parts, fmt.Sprintf("roles a/%02d", i))
	}
	plan := NewPlan(f, defaults)
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"steps":[{"title":"`, `{"title":"Klusters are detached`, `"objects":["garden-shop/web"]`, `"roles a/42"`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("JSON = %s, want %q in it", data, want)
		}
	}
	if text := plan.String(); !strings.Contains(text, "roles a/42") || strings.Contains(text, "more") {
		t.Errorf("text = %s, want each object", text)
	}
}

func TestEmptyCluster(t *testing.T) {
	if p := NewPlan(&Found{Served: sets.New[string]()}, defaults); !p.Nothing || len(p.Blockers)+len(p.Sections) > 0 {
		t.Errorf("got %+v", p)
	}
}

// TestAnnouncementsAreNotEnabled checks that an announced backend is withdrawn with its Kluster, and not restored first.
func TestAnnouncementsAreNotEnabled(t *testing.T) {
	f := installed(t)
	f.Backends[0].Cluster.ClusterStatus = gimbalv1.ClusterMaintenance
	f.Backends[0].Labels = map[string]string{clusterid.LabelUID: "uid"}
	if text := NewPlan(f, defaults).String(); strings.Contains(text, "come back to service") {
		t.Errorf("got\n%s", text)
	}
}

func TestDualApprovalIsReported(t *testing.T) {
	f := installed(t)
	f.Projects[0].Spec.DualApprovalForDeletion = make([]gardenerv1beta1.DualApprovalForDeletion, 1)
	if text := NewPlan(f, defaults).String(); !strings.Contains(text, "Mind: Project shop requires dual approval") {
		t.Errorf("got\n%s", text)
	}
}

func TestOptions(t *testing.T) {
	for want, change := range map[string]func(*Options){
		"":                                     func(*Options) {},
		`--projects: "all" is not keep`:        func(o *Options) { o.Projects = "all" },
		`--klusters: "" is not detach`:         func(o *Options) { o.Klusters = "" },
		`--abandon: "projects" is not transla`: func(o *Options) { o.Abandon = []string{"projects"} },
		"--timeout: 0s is not positive":        func(o *Options) { o.Timeout = 0 },
	} {
		o := defaults
		change(&o)
		if err := o.Validate(); (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
