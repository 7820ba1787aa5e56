// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"testing"

	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func TestStateOf(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*openstack.Member)
		want   state
	}{
		"online":             {func(*openstack.Member) {}, ready},
		"no monitor":         {func(m *openstack.Member) { m.OperatingStatus = "NO_MONITOR" }, ready},
		"admin down":         {func(m *openstack.Member) { m.AdminUp = false }, down},
		"error":              {func(m *openstack.Member) { m.OperatingStatus = "ERROR" }, down},
		"offline":            {func(m *openstack.Member) { m.OperatingStatus = "OFFLINE" }, down},
		"degraded":           {func(m *openstack.Member) { m.OperatingStatus = "DEGRADED" }, down},
		"no status":          {func(m *openstack.Member) { m.OperatingStatus = "" }, down},
		"draining":           {func(m *openstack.Member) { m.OperatingStatus = "DRAINING" }, draining},
		"weight 0":           {func(m *openstack.Member) { m.Weight = 0 }, draining},
		"weight 0, error":    {func(m *openstack.Member) { m.Weight, m.OperatingStatus = 0, "ERROR" }, down},
		"weight 0, down":     {func(m *openstack.Member) { m.Weight, m.AdminUp = 0, false }, down},
		"draining, switched": {func(m *openstack.Member) { m.OperatingStatus, m.AdminUp = "DRAINING", false }, down},
	} {
		m := member("10.0.0.1:80")
		tc.change(&m)
		if got := stateOf(&m, true); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
		if got := stateOf(&m, false); got != down {
			t.Errorf("%s, with all disabled: %v", name, got)
		}
	}
}

// TestConditions checks that the conditions of endpoints have the meaning that Kubernetes defines.
func TestConditions(t *testing.T) {
	for s, want := range map[state][3]bool{ready: {true, true, false}, draining: {false, true, true}, down: {false, false, false}} {
		if c := s.conditions(); [3]bool{*c.Ready, *c.Serving, *c.Terminating} != want {
			t.Errorf("%v: ready %v, serving %v, terminating %v", s, *c.Ready, *c.Serving, *c.Terminating)
		}
	}
}

// TestBackups checks that backup members receive traffic only while all others are down.
func TestBackups(t *testing.T) {
	backup := member("10.0.0.2:80")
	backup.Backup = true
	for name, tc := range map[string]struct {
		change func(*openstack.Member)
		want   bool
	}{
		"the other is there":  {func(*openstack.Member) {}, false},
		"the other is down":   {func(m *openstack.Member) { m.OperatingStatus = "ERROR" }, true},
		"the other drains":    {func(m *openstack.Member) { m.Weight = 0 }, true},
		"the other is backup": {func(m *openstack.Member) { m.Backup = true }, true},
	} {
		m := member("10.0.0.1:80")
		tc.change(&m)
		endpoints, _ := endpointsOf([]openstack.Member{m, backup}, true)
		for _, all := range endpoints {
			if got := *all[1].Conditions.Ready; got != tc.want {
				t.Errorf("%s: the backup is ready: %v", name, got)
			}
		}
	}
}

// Two members with one address are one endpoint, which is ready when one of them is.
func TestOneAddressTwice(t *testing.T) {
	broken := member("10.0.0.1:80")
	broken.OperatingStatus = "ERROR"
	for _, members := range [][]openstack.Member{{broken, member("10.0.0.1:80")}, {member("10.0.0.1:80"), broken}} {
		endpoints, _ := endpointsOf(members, true)
		for _, all := range endpoints {
			if len(all) != 1 || !*all[0].Conditions.Ready {
				t.Errorf("%+v", all)
			}
		}
	}
}
