// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/openstack"
	"groundskeeper.io/groundskeeper/test/support/klustertest"
)

func in(phase kubernikusv1.KlusterPhase) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Status.Phase = phase }
}

func wants(version string) func(*kubernikusv1.Kluster) {
	return func(k *kubernikusv1.Kluster) { k.Spec.Version = version }
}

func TestPhase(t *testing.T) {
	type changes = []func(*kubernikusv1.Kluster)
	for name, c := range map[string]struct {
		kluster             changes
		responded, expected bool
		version             string
		want                kubernikusv1.KlusterPhase
	}{
		"nothing known":         {nil, false, false, "", kubernikusv1.KlusterPending},
		"credentials":           {nil, false, true, "", kubernikusv1.KlusterCreating},
		"answers":               {changes{wants("1.36.3")}, true, true, "v1.36.3", kubernikusv1.KlusterRunning},
		"no wanted version":     {nil, true, true, "v1.36.3", kubernikusv1.KlusterRunning},
		"another version":       {changes{wants("1.36.3")}, true, true, "v1.35.9", kubernikusv1.KlusterUpgrading},
		"a vendor's build":      {changes{wants("1.36.3")}, true, true, "v1.36.3-vendor.100+abc", kubernikusv1.KlusterRunning},
		"odd version":           {changes{wants("1.36.3")}, true, true, "main", kubernikusv1.KlusterRunning},
		"responded before":      {changes{in(kubernikusv1.KlusterRunning)}, false, true, "v1.36.3", kubernikusv1.KlusterRunning},
		"upgrading, silent":     {changes{in(kubernikusv1.KlusterUpgrading)}, false, true, "v1.36.3", kubernikusv1.KlusterUpgrading},
		"upgraded":              {changes{in(kubernikusv1.KlusterUpgrading), wants("1.36.3")}, true, true, "v1.36.3", kubernikusv1.KlusterRunning},
		"going":                 {changes{klustertest.Going, in(kubernikusv1.KlusterRunning)}, true, true, "v1.36.3", kubernikusv1.KlusterTerminating},
		"lost its credentials":  {changes{in(kubernikusv1.KlusterCreating)}, false, false, "", kubernikusv1.KlusterPending},
		"reached, then no keys": {changes{in(kubernikusv1.KlusterRunning)}, false, false, "", kubernikusv1.KlusterRunning},
	} {
		t.Run(name, func(t *testing.T) {
			if got := phaseOf(klustertest.Kluster("k", c.kluster...), c.responded, c.expected, c.version); got != c.want {
				t.Errorf("phase = %s, want %s", got, c.want)
			}
		})
	}
}

func TestConditions(t *testing.T) {
	rejected := &openstack.Error{Op: "authenticate", Reason: openstack.ReasonCredentialsRefused, Status: 401}
	var missing checks
	missing.miss(errors.New("no"), time.Time{})
	for name, c := range map[string]struct {
		condition metav1.Condition
		want      string
	}{
		"reachable":      {cloudView{found: &kubernikusv1.OpenstackStatus{}}.condition(), "True/Reachable"},
		"ambiguous":      {cloudView{found: &kubernikusv1.OpenstackStatus{}, unclear: []string{"2"}}.condition(), "True/Ambiguous"},
		"not verified":   {cloudView{found: &kubernikusv1.OpenstackStatus{}, warnings: []openstack.Warning{{Insecure: true}, {}}}.condition(), "True/Insecure"},
		"odd fields":     {cloudView{found: &kubernikusv1.OpenstackStatus{}, warnings: []openstack.Warning{{}}}.condition(), "True/FieldsIgnored"},
		"refused":        {cloudView{err: rejected}.condition(), "False/CredentialsRefused"},
		"missing":        {missing.cloud.latest.condition(), "False/SecretMissing"},
		"answers":        {workloadView{version: "v1.36.3"}.condition(), "True/Reachable"},
		"kubeconfig":     {workloadView{version: "v1.36.3", insecure: true}.condition(), "True/Insecure"},
		"silent":         {workloadView{reason: "Unreachable"}.condition(), "False/Unreachable"},
		"no credentials": {workloadView{reason: kluster.ReasonNoCredentials}.condition(), "Unknown/NoCredentials"},
		"no host":        {workloadView{reason: kluster.ReasonHostUnknown}.condition(), "Unknown/HostUnknown"},
		"missing too":    {missing.workload.latest.condition(), "False/SecretMissing"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := string(c.condition.Status) + "/" + c.condition.Reason; got != c.want {
				t.Errorf("condition = %s, want %s", got, c.want)
			}
		})
	}
}

// TestStatusIsRetained checks that unknown parts of the status are retained, as after a restart.
func TestStatusIsRetained(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	k := klustertest.Kluster("k")
	good := findings{
		cloud: &cloudView{found: &kubernikusv1.OpenstackStatus{ProjectID: "p", RouterID: "r"}}, workload: &workloadView{version: "v1.36.3"}, expected: true,
	}
	first, changed := nextStatus(k, good, now)
	if !changed || first.Phase != kubernikusv1.KlusterRunning || first.Openstack.RouterID != "r" || len(first.Conditions) != 2 {
		t.Fatalf("got %t, %+v", changed, first)
	}
	k.Status = first
	for name, found := range map[string]findings{"again": good, "after a restart": {expected: true}} {
		if next, changed := nextStatus(k, found, now.Add(time.Hour)); changed {
			t.Errorf("%s: it is written again: %+v", name, next)
		}
	}
	k.Status.Openstack = k.Status.Openstack.DeepCopy()
	k.Status.Openstack.LBFloatingNetworkID = "public"
	if next, changed := nextStatus(k, good, now.Add(time.Hour)); changed || next.Openstack.LBFloatingNetworkID != "public" {
		t.Errorf("what another client wrote is written again: %+v", next.Openstack)
	}
	failed := good
	failed.cloud = &cloudView{err: errors.New("no")}
	if next, changed := nextStatus(k, failed, now); !changed || next.Openstack.RouterID != "r" {
		t.Errorf("a failed look loses what was found: %+v", next.Openstack)
	}
	paused, changed := nextStatus(k, findings{paused: true}, now)
	if !changed || paused.Phase != first.Phase || len(paused.Conditions) != 3 {
		t.Errorf("paused: %t, %+v", changed, paused)
	}
	k.Status.Conditions = paused.Conditions
	if next, changed := nextStatus(k, good, now); !changed || len(next.Conditions) != 2 {
		t.Errorf("the pause stays: %+v", next.Conditions)
	}
}
