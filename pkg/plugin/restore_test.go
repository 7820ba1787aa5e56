// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllerstate"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

// routesToRestore are what a restorer finds, and counts how often it writes.
type routesToRestore struct {
	found  []release.Restoration
	err    error
	writes int
}

func (r *routesToRestore) Restore(_ context.Context, _ *gimbalv1.DiscoveryBackend, preview bool) ([]release.Restoration, error) {
	if !preview {
		r.writes++
	}
	return r.found, r.err
}

func TestRestoreReferences(t *testing.T) {
	now := metav1.Now()
	web := release.Restoration{Route: "HTTPProxy shop/web", Elements: []string{"spec.routes[0]"}}
	edited := release.Restoration{Route: "HTTPProxy shop/old", Skipped: []string{"spec.routes[1]: it was changed since its references were removed"}}
	rejected := release.Restoration{Route: "HTTPProxy shop/bad", Err: errors.New("update HTTPProxy shop/bad: denied")}
	for name, tc := range map[string]struct {
		change   func(*gimbalv1.DiscoveryBackend)
		found    []release.Restoration
		err      error
		response string
		yes      bool
		preview  bool
		writes   int
		prints   []string
		fails    string
	}{
		"preview":          {found: []release.Restoration{web, edited}, preview: true, prints: []string{"HTTPProxy shop/web spec.routes[0]: would be restored", "HTTPProxy shop/old skipped: spec.routes[1]: it was changed since"}},
		"yes":              {found: []release.Restoration{web}, yes: true, writes: 1, prints: []string{"would be restored", "HTTPProxy shop/web spec.routes[0]: restored"}},
		"confirmed":        {found: []release.Restoration{web}, response: "y\n", writes: 1, prints: []string{"Restore the references of 1 routes to gimbal-discovery/us? [y/N]"}},
		"declined":         {found: []release.Restoration{web}, response: "n\n", fails: "nothing was changed"},
		"nothing recorded": {yes: true, prints: []string{"No route has a record"}},
		"only edited":      {found: []release.Restoration{edited}, yes: true, prints: []string{"skipped"}},
		"a route rejected": {found: []release.Restoration{web, rejected}, yes: true, writes: 1, fails: "denied"},
		"routes unknown":   {err: errors.New("list httpproxies: timeout"), yes: true, fails: "timeout"},
		"it is deleted":    {change: func(b *gimbalv1.DiscoveryBackend) { b.DeletionTimestamp = &now }, yes: true, fails: "is being deleted"},
		"maintenance": {
			change: func(b *gimbalv1.DiscoveryBackend) { b.Cluster.ClusterStatus = gimbalv1.ClusterMaintenance }, found: []release.Restoration{web}, yes: true, writes: 1,
			prints: []string{"HTTPProxy shop/web spec.routes[0]: restored drained, because the backend is in maintenance"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, out := on(t, nil)
			c.in = strings.NewReader(tc.response)
			backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us"}}
			if tc.change != nil {
				tc.change(backend)
			}
			routes := &routesToRestore{found: tc.found, err: tc.err}
			err := c.restoreWith(t.Context(), backend, routes, tc.yes, tc.preview)
			if tc.fails == "" && err != nil || tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)) {
				t.Errorf("error = %v, want %q", err, tc.fails)
			}
			if routes.writes != tc.writes {
				t.Errorf("writes = %d, want %d", routes.writes, tc.writes)
			}
			for _, want := range tc.prints {
				if !strings.Contains(out.String(), want) {
					t.Errorf("output = %q, want %q", out.String(), want)
				}
			}
		})
	}
}

func TestNotTornDown(t *testing.T) {
	running := func(change func(*configv1alpha1.ControllerManagerConfiguration)) uninstall.Manager {
		config := &configv1alpha1.ControllerManagerConfiguration{}
		configv1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
		config.Controllers.Kluster.Enabled = new(true)
		change(config)
		return uninstall.Manager{Config: config}
	}
	asIs := func(*configv1alpha1.ControllerManagerConfiguration) {}
	unknown := uninstall.Manager{Unknown: "there is no Deployment"}
	silent := running(asIs)
	silent.Silent = "no client renews the Lease"
	waiting := running(asIs)
	waiting.Controllers = map[string]controllerstate.State{"kluster-deorbit": {State: controllerstate.Waiting, Reason: "not allowed to patch secrets"}}
	hidden := unknown
	hidden.Controllers = waiting.Controllers
	disabled := uninstall.Manager{Unknown: "its ConfigMap cannot be read", Controllers: map[string]controllerstate.State{
		"kluster-deorbit": {State: controllerstate.Disabled, Reason: "controllers.kluster.enabled is false"}}}
	published := uninstall.Manager{Unknown: "its ConfigMap cannot be read", Controllers: map[string]controllerstate.State{"kluster-deorbit": {State: controllerstate.Running}}}
	probed := &kubernikusv1.Kluster{Status: kubernikusv1.KlusterStatus{Conditions: []metav1.Condition{{Type: kubernikusv1.ConditionOpenStackReachable}}}}
	for name, test := range map[string]struct {
		kluster    *kubernikusv1.Kluster
		manager    uninstall.Manager
		inspection error
		want       string // a part of the reason; empty: it is deorbited
	}{
		"the controller runs": {&kubernikusv1.Kluster{}, running(asIs), nil, ""},
		"Klusters are off":    {probed, running(func(c *configv1alpha1.ControllerManagerConfiguration) { c.Controllers.Kluster.Enabled = nil }), nil, "is off"},
		"the controller is off": {probed, running(func(c *configv1alpha1.ControllerManagerConfiguration) {
			c.Controllers.Enabled = []string{"*", "-kluster-deorbit"}
		}), nil, "is off"},
		"the manager is silent":    {probed, silent, nil, "no client renews the Lease"},
		"it waits for permissions": {probed, waiting, nil, "waits: not allowed to patch secrets"},
		"unknown, and it waits":    {probed, hidden, nil, "waits: not allowed to patch secrets"},
		"disabled by the Lease":    {probed, disabled, nil, "is disabled: controllers.kluster.enabled is false"},
		"running by the Lease":     {&kubernikusv1.Kluster{}, published, nil, ""},
		"unknown, and probed":      {probed, unknown, nil, ""},
		"unknown, and not probed":  {&kubernikusv1.Kluster{}, unknown, nil, "there is no Deployment"},
		"forbidden, and probed":    {probed, uninstall.Manager{}, errors.New("deployments is forbidden"), ""},
		"forbidden and not probed": {&kubernikusv1.Kluster{}, uninstall.Manager{}, errors.New("deployments is forbidden"), "deployments is forbidden"},
	} {
		t.Run(name, func(t *testing.T) {
			got := notTornDown(test.kluster, test.manager, test.inspection)
			if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
				t.Errorf("notTakenDown = %q, want %q in it", got, test.want)
			}
		})
	}
}
