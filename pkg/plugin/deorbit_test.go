// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/uninstall"
)

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
