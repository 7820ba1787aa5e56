// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// neededByClouds are the flags without which there is nothing to do.
const neededByClouds = "openstack --backend-name=os "

func TestOpenStackFlags(t *testing.T) {
	for args, check := range map[string]func(*options) bool{
		neededByClouds: func(o *options) bool {
			return o.Mode == gimbalv1.BackendOpenStack && o.Probe == 30*time.Second && o.OpenStackQPS == 100 && o.OpenStackBurst == 200 && len(o.Watchlist) == 0
		},
		neededByClouds + "--openstack-project-watchlist=a,b --openstack-certificate-authority=/ca": func(o *options) bool {
			return slices.Equal(o.Watchlist, []string{"a", "b"}) && o.CAFile == "/ca"
		},
		neededByClouds + "--reconciliation-period=7s --openstack-client-qps=3.5 --openstack-client-burst=9 --num-threads=2": func(o *options) bool {
			return o.Probe == 7*time.Second && o.OpenStackQPS == 3.5 && o.OpenStackBurst == 9 && o.Threads == 2
		},
		// The flags that the operator passes.
		"openstack --backend-name=os --backend-namespace=n --debug --namespaces-allow=a --namespaces-deny=b --namespaces-missing=Create --openstack-certificate-authority=/ca --reconciliation-period=30s": func(o *options) bool {
			return o.debug && o.BackendNamespace == "n" && o.Policy.Missing == "Create"
		},
	} {
		if o, code, problems := read(t, args); code != 0 || !check(o) {
			t.Errorf("%s: exit code %d, %s%+v", args, code, problems, o)
		}
	}
}

func TestBadOpenStackFlags(t *testing.T) {
	for args, want := range map[string]string{
		"openstack": "--backend-name: is missing",
		neededByClouds + "--discover-kubecfg-file=/k":       "unknown flag: --discover-kubecfg-file",
		neededByClouds + "--external-names":                 "unknown flag: --external-names",
		neededByClouds + "--openstack-client-qps=0":         "--openstack-client-qps: ",
		neededByClouds + "--openstack-client-burst=0":       "--openstack-client-burst: ",
		neededByClouds + "--openstack-project-watchlist=a,": "--openstack-project-watchlist: ",
		needed + "--openstack-project-watchlist=a":          "unknown flag: --openstack-project-watchlist",
	} {
		o, code, problems := read(t, args)
		if code != process.ExitUsage || o != nil || !strings.Contains(problems, want) || !strings.Contains(problems, "--help") {
			t.Errorf("%s: exit code %d, %q", args, code, problems)
		}
	}
}

// TestHelp checks that the help of each type has exactly its flags, and describes the sources of the credentials of a cloud.
func TestHelp(t *testing.T) {
	for mode, want := range map[string]struct{ has, lacks []string }{
		"kubernetes": {[]string{"--discover-kubecfg-file", "--copy-annotations"}, []string{"--openstack"}},
		"openstack":  {[]string{"--openstack-project-watchlist", "OS_AUTH_URL", "OS_CLIENT_CONFIG_FILE"}, []string{"--discover-kubecfg-file", "--copy-annotations"}},
	} {
		var out, problems bytes.Buffer
		code := execute(t.Context(), []string{mode, "--help"}, environment, &out, &problems, func(context.Context, *options) error { return nil })
		for _, text := range want.has {
			if code != 0 || !strings.Contains(out.String(), text) {
				t.Errorf("%s --help has no %s", mode, text)
			}
		}
		for _, text := range want.lacks {
			if strings.Contains(out.String(), text) {
				t.Errorf("%s --help has %s", mode, text)
			}
		}
	}
}
