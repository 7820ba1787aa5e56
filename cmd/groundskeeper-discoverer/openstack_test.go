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
			return o.mode == gimbalv1.BackendOpenStack && o.probe == 30*time.Second && o.openstackQPS == 100 && o.openstackBurst == 200 && len(o.watchlist) == 0
		},
		neededByClouds + "--openstack-project-watchlist=a,b --openstack-certificate-authority=/ca": func(o *options) bool {
			return slices.Equal(o.watchlist, []string{"a", "b"}) && o.caFile == "/ca"
		},
		neededByClouds + "--reconciliation-period=7s --openstack-client-qps=3.5 --openstack-client-burst=9 --num-threads=2": func(o *options) bool {
			return o.probe == 7*time.Second && o.openstackQPS == 3.5 && o.openstackBurst == 9 && o.threads == 2
		},
		// The flags that the operator passes.
		"openstack --backend-name=os --backend-namespace=n --debug --namespaces-allow=a --namespaces-deny=b --namespaces-missing=Create --openstack-certificate-authority=/ca --reconciliation-period=30s": func(o *options) bool {
			return o.debug && o.backendNamespace == "n" && o.missing == "Create"
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

// TestOpenStackCredentials checks that invalid credentials end the start, with an error that names their variables.
func TestOpenStackCredentials(t *testing.T) {
	here := write(t, strings.Replace(kubeconfigOf, "USER", "token: t", 1))
	fine := map[string]string{"OS_AUTH_URL": "https://cloud.example:5000/v3", "OS_USERNAME": "u", "OS_PASSWORD": "hunter2", "OS_TENANT_NAME": "p"}
	for name, tc := range map[string]struct{ variable, value, ca, wants string }{
		"fine":                      {"OS_REGION_NAME", "r", "", ""},
		"none":                      {"OS_AUTH_URL", "", "", "neither OS_AUTH_URL nor OS_CLIENT_CONFIG_FILE"},
		"no password":               {"OS_PASSWORD", "", "", "OS_PASSWORD is not set"},
		"no CA bundle":              {"OS_REGION_NAME", "", "/nowhere", "--openstack-certificate-authority: "},
		"no CA bundle at OS_CACERT": {"OS_CACERT", "/nowhere", "", "OS_CACERT: "},
	} {
		o := newOptions(gimbalv1.BackendOpenStack, func(variable string) string {
			if variable == tc.variable {
				return tc.value
			}
			return fine[variable]
		})
		o.backend, o.gimbalKubeconfig, o.caFile = "os", here, tc.ca
		d, err := newDiscoverer(o)
		if tc.wants == "" {
			if err != nil || d.server != "cloud.example:5000" || d.replica.Check() == nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.wants) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCloudPathOf(t *testing.T) {
	for path, want := range map[string]string{
		"/load-balancer/v2.0/lbaas/loadbalancers":                                     "/load-balancer/v2.0/lbaas/loadbalancers",
		"/v2.0/lbaas/pools/3dd8ab5a-63cf-4f5d-9b4e-000000000001/members":              "/v2.0/lbaas/pools/{id}/members",
		"/v2.0/c15f124f115f42f6a45f2b9672bb0827/lbaas/listeners":                      "/v2.0/{id}/lbaas/listeners",
		"/identity/v3/auth/projects-and-other-things-with-a-name-that-is-rather-long": "/identity/v3/auth/projects-and-other-things-with-a-name-that-is-rather-long",
	} {
		if got := cloudPathOf(path); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}
