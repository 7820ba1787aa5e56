// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
)

const kubeconfigOf = `{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: u}}], users: [{name: u, user: {USER}}], clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}]}`

func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestConnections checks that the kubeconfig of the backend, which belongs to another user, cannot make the process run or read
// anything.
func TestConnections(t *testing.T) {
	here := write(t, strings.Replace(kubeconfigOf, "USER", "token: t", 1))
	for name, tc := range map[string]struct{ user, wants string }{
		"a token":         {"token: hunter2", ""},
		"a command":       {"exec: {apiVersion: client.authentication.k8s.io/v1, command: hunter2, interactiveMode: Never}", "--discover-kubecfg-file: users[0].user.exec"},
		"another file":    {"tokenFile: /hunter2", "--discover-kubecfg-file: users[0].user.tokenFile"},
		"not credentials": {"", "--discover-kubecfg-file: users[0].user has no credentials"},
	} {
		o := &Options{Mode: gimbalv1.BackendKubernetes, Backend: "us", GimbalKubeconfig: here}
		o.DiscoverKubeconfig = write(t, strings.Replace(kubeconfigOf, "USER", tc.user, 1))
		d, err := newDiscoverer(o)
		if tc.wants != "" {
			if err == nil || !strings.Contains(err.Error(), tc.wants) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || d.replica.Check() == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	o := &Options{Mode: gimbalv1.BackendKubernetes}
	if _, err := newDiscoverer(o); err == nil || !strings.Contains(err.Error(), "--gimbal-kubecfg-file") {
		t.Error(err)
	}
	o.GimbalKubeconfig, o.DiscoverKubeconfig = here, "/nowhere"
	if _, err := newDiscoverer(o); err == nil || !strings.Contains(err.Error(), "--discover-kubecfg-file") {
		t.Error(err)
	}
}

func TestDiscovered(t *testing.T) {
	now := time.Unix(1000, 0)
	entry := func(kind string) []report.Entry {
		return []report.Entry{{Problem: report.Problem{Type: kind, Message: "m"}}}
	}
	for name, tc := range map[string]struct {
		entries []report.Entry
		last    time.Time
		status  metav1.ConditionStatus
		reason  string
	}{
		"not yet":     {nil, time.Time{}, metav1.ConditionFalse, report.ReasonPending},
		"all":         {nil, now, metav1.ConditionTrue, report.ReasonSynced},
		"unreachable": {entry(gimbalv1.ErrorConnection), now, metav1.ConditionFalse, gimbalv1.ErrorConnection},
		"limited":     {entry(gimbalv1.ErrorRateLimited), now, metav1.ConditionFalse, gimbalv1.ErrorRateLimited},
		"refused":     {entry(gimbalv1.ErrorAuthentication), time.Time{}, metav1.ConditionFalse, gimbalv1.ErrorAuthentication},
		"not all":     {entry(gimbalv1.ErrorNamespaceMissing), now, metav1.ConditionFalse, report.ReasonIncomplete},
	} {
		if got := discovered(tc.entries, 1, 2, tc.last); got.Status != tc.status || got.Reason != tc.reason || got.Message == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for copied, want := range map[int]string{6: "6 of 7 services are copied: see status.errors for the others", 7: "all 7 services are copied, but not completely: see status.errors"} {
		if got := discovered(entry(gimbalv1.ErrorInvalidService), copied, 7, now).Message; got != want {
			t.Errorf("message = %q, want %q", got, want)
		}
	}
}

func TestNotify(t *testing.T) {
	d := &discoverer{ledger: report.NewLedger(clock.RealClock{}), meters: telemetry.New("us", "kubernetes", "v1", func() int { return 0 })}
	handle := d.handle(t.Context())
	handle(&report.Problem{Type: gimbalv1.ErrorConnection, Message: "m"})
	if entries := d.ledger.Entries(); len(entries) != 1 || entries[0].Type != gimbalv1.ErrorConnection {
		t.Error(entries)
	}
	if handle(nil); len(d.ledger.Entries()) != 0 {
		t.Error(d.ledger.Entries())
	}
}

func TestPathOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/services":                         "/api/v1/services",
		"/api/v1/namespaces/shop/services":         "/api/v1/namespaces/{namespace}/services",
		"/apis/discovery.k8s.io/v1/endpointslices": "/apis/discovery.k8s.io/v1/endpointslices",
		"/api/v1/namespaces/services/services":     "/api/v1/namespaces/{namespace}/services",
	} {
		if got := pathOf(path); got != want {
			t.Errorf("%s: got %s", path, got)
		}
	}
}

// TestMeasured checks that watches, which do not end, are not measured.
func TestMeasured(t *testing.T) {
	d := &discoverer{meters: telemetry.New("us", "kubernetes", "v1", func() int { return 0 })}
	requests := 0
	transport := d.measured(pathOf)(roundTripper(func(*http.Request) (*http.Response, error) {
		requests++
		return nil, errors.New("broken")
	}))
	for _, url := range []string{"/api/v1/services", "/api/v1/services?watch=true"} {
		response, err := transport.RoundTrip(httptest.NewRequest(http.MethodGet, url, nil))
		if err == nil {
			_ = response.Body.Close()
			t.Error("the error is lost")
		}
	}
	if requests != 2 {
		t.Error(requests)
	}
}

// TestOpenStackCredentials checks that invalid credentials end the start, with an error that names their variables.
func TestOpenStackCredentials(t *testing.T) {
	here := write(t, strings.Replace(kubeconfigOf, "USER", "token: t", 1))
	fine := map[string]string{"OS_AUTH_URL": "https://cloud.example:5000/v3", "OS_USERNAME": "u", "OS_PASSWORD": "hunter2", "OS_TENANT_NAME": "p"}
	for name, tc := range map[string]struct{ variable, value, ca, wants string }{
		"fine":                      {"OS_REGION_NAME", "r", "", ""},
		"none":                      {"OS_AUTH_URL", "", "", "neither OS_AUTH_URL nor OS_CLIENT_CONFIG_FILE"},
		"plain http":                {"OS_AUTH_URL", "http://cloud.example:5000/v3", "", "the URL of Keystone in OS_AUTH_URL is plain http"},
		"no password":               {"OS_PASSWORD", "", "", "OS_PASSWORD is not set"},
		"no CA bundle":              {"OS_REGION_NAME", "", "/nowhere", "--openstack-certificate-authority: "},
		"no CA bundle at OS_CACERT": {"OS_CACERT", "/nowhere", "", "OS_CACERT: "},
	} {
		getenv := func(variable string) string {
			if variable == tc.variable {
				return tc.value
			}
			return fine[variable]
		}
		o := &Options{Mode: gimbalv1.BackendOpenStack, Backend: "os", GimbalKubeconfig: here, CAFile: tc.ca, Getenv: getenv}
		d, err := newDiscoverer(o)
		if tc.wants == "" {
			if err != nil || d.there.server != "cloud.example:5000" || d.replica.Check() == nil {
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
