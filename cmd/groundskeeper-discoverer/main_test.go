// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/clock"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/discoverer/telemetry"
	"groundskeeper.io/groundskeeper/pkg/process"
)

// needed are the flags without which there is nothing to do.
const needed = "kubernetes --backend-name=us --discover-kubecfg-file=/k "

func environment(string) string { return "pod-1" }

// read executes with these arguments and returns what run would see, the exit code and the messages.
func read(t *testing.T, args string) (*options, int, string) {
	t.Helper()
	var seen *options
	var out, problems bytes.Buffer
	code := execute(t.Context(), strings.Fields(args), environment, &out, &problems, func(_ context.Context, o *options) error {
		seen = o
		return nil
	})
	return seen, code, problems.String()
}

func TestDefaults(t *testing.T) {
	o, code, problems := read(t, needed)
	if code != 0 {
		t.Fatal(problems)
	}
	if o.resync != 30*time.Minute || o.probe != 30*time.Second || o.timeout != 5*time.Second || o.address() != ":8080" || o.missing != "Wait" || o.services != "All" ||
		o.externalNames || o.debug || len(o.allow)+len(o.deny)+len(o.annotations) > 0 || o.confined() != "" || o.qps != 500 || o.burst != 1000 {
		t.Errorf("%+v", o)
	}
	if !strings.HasPrefix(o.identity, "pod-1_") {
		t.Error(o.identity)
	}
}

func TestFlags(t *testing.T) {
	for args, check := range map[string]func(*options) bool{
		needed + "--cluster-name=eu":                               func(o *options) bool { return o.backend == "eu" },
		needed + "--gimbal-kubecfg-file=/g":                        func(o *options) bool { return o.gimbalKubeconfig == "/g" },
		needed + "--resync-interval=5m --reconciliation-period=7s": func(o *options) bool { return o.resync == 5*time.Minute && o.probe == 7*time.Second },
		needed + "--http-client-timeout=3s --num-threads=2":        func(o *options) bool { return o.timeout == 3*time.Second && o.threads == 2 },
		needed + "--prometheus-listen-address=9090":                func(o *options) bool { return o.address() == ":9090" },
		needed + "--prometheus-listen-address=127.0.0.1:0":         func(o *options) bool { return o.address() == "127.0.0.1:0" },
		needed + "--gimbal-client-qps=7.5 --gimbal-client-burst=9": func(o *options) bool { return o.qps == 7.5 && o.burst == 9 },
		needed + "--namespaces-allow=a,b --namespaces-deny=c": func(o *options) bool {
			return slices.Equal(o.policy().Allow, []string{"a", "b"}) && o.policy().Admits("a") && !o.policy().Admits("c")
		},
		needed + "--namespaces-missing=Create":                       func(o *options) bool { return o.policy().Missing == gimbalv1.MissingNamespaceCreate },
		needed + "--service-policy=Exported":                         func(o *options) bool { return o.services == "Exported" },
		needed + "--external-names --debug --copy-annotations=a/b,c": func(o *options) bool { return o.externalNames && o.debug && len(o.annotations) == 2 },
		needed + "--labels-include=a,b.example/ --labels-exclude=c --labels-add=d=e,f=": func(o *options) bool {
			return len(o.labels.Include) == 2 && slices.Equal(o.labels.Exclude, []string{"c"}) && o.labels.Add["d"] == "e" && len(o.labels.Add) == 2
		},
		needed + "--selector=a=b": func(o *options) bool {
			return slices.Equal(o.labels.Selected, []string{"a"}) && o.selected.Matches(labels.Set{"a": "b"}) && !o.selected.Matches(labels.Set{})
		},
		needed + "--debug": func(o *options) bool { return o.selected.Empty() },
		needed + "--backend-namespace=mine --namespaces-allow=mine":     func(o *options) bool { return o.confined() == "mine" },
		needed + "--backend-namespace=mine --namespaces-allow=mine,two": func(o *options) bool { return o.confined() == "" },
	} {
		if o, code, problems := read(t, args); code != 0 || !check(o) {
			t.Errorf("%s: exit code %d, %s%+v", args, code, problems, o)
		}
	}
}

// TestBadFlags checks that invalid flags are named, with exit code 2.
func TestBadFlags(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "specify the type of the backend",
		"vmware":                       `unknown command "vmware"`,
		"kubernetes":                   "--backend-name: is missing",
		"kubernetes --backend-name=us": "--discover-kubecfg-file: is missing",
		"kubernetes extra":             "extra",
		needed + "--unknown":           "unknown flag: --unknown",
		needed + "--backend-name=Us":   "--backend-name: ",
		needed + "--backend-name=1a":   "--backend-name: ",
		needed + "--backend-name=" + strings.Repeat("a", 41): "--backend-name: ",
		needed + "--backend-namespace=a.b":                   "--backend-namespace: ",
		needed + "--resync-interval=0s":                      "--resync-interval: ",
		needed + "--reconciliation-period=5ms":               "--reconciliation-period: ",
		needed + "--resync-interval=2562047h":                "--resync-interval: 2562047h0m0s is more than 400000h0m0s",
		needed + "--resync-interval=soon":                    "--resync-interval",
		needed + "--http-client-timeout=0s":                  "--http-client-timeout: ",
		needed + "--http-client-timeout=1m":                  "--http-client-timeout: ",
		needed + "--num-threads=0":                           "--num-threads: ",
		needed + "--gimbal-client-qps=0":                     "--gimbal-client-qps: ",
		needed + "--gimbal-client-burst=0":                   "--gimbal-client-burst: ",
		needed + "--namespaces-allow=A":                      "--namespaces-allow: ",
		needed + "--namespaces-deny=a_b":                     "--namespaces-deny: ",
		needed + "--namespaces-missing=create":               "--namespaces-missing: ",
		needed + "--service-policy=exported":                 "--service-policy: ",
		needed + "--copy-annotations=a/b/c":                  "--copy-annotations: ",
		needed + "--labels-exclude=a*":                       "--labels-exclude: ",
		needed + "--labels-include=/":                        "--labels-include: ",
		needed + "--labels-add=a=b*":                         "--labels-add: ",
		needed + "--labels-add=a/b/c=d":                      "--labels-add: ",
		needed + "--labels-add=gimbal.heptio.com/backend=eu": "--labels-add: ",
		needed + "--selector=a%%b":                           "--selector: ",
		needed + "--prometheus-listen-address=x":             "--prometheus-listen-address: ",
		needed + "--prometheus-listen-address=a:b":           "--prometheus-listen-address: ",
	} {
		o, code, problems := read(t, args)
		if code != process.ExitUsage || o != nil || !strings.Contains(problems, want) || !strings.Contains(problems, "--help") {
			t.Errorf("%s: exit code %d, %q", args, code, problems)
		}
	}
}

func TestExitCodes(t *testing.T) {
	var out, problems bytes.Buffer
	fail := func(context.Context, *options) error { return errors.New("broken") }
	if code := execute(t.Context(), strings.Fields(needed), environment, &out, &problems, fail); code != process.ExitFailed || problems.String() != "error: broken\n" {
		t.Errorf("exit code %d, %q", code, problems.String())
	}
	for _, args := range []string{"--help", "--version", "kubernetes --help", "kubernetes --version"} {
		out.Reset()
		if code := execute(t.Context(), strings.Fields(args), environment, &out, &problems, fail); code != 0 || out.Len() == 0 {
			t.Errorf("%s: exit code %d", args, code)
		}
	}
}

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
		o := newOptions(gimbalv1.BackendKubernetes, environment)
		o.backend, o.gimbalKubeconfig, o.discoverKubeconfig = "us", here, write(t, strings.Replace(kubeconfigOf, "USER", tc.user, 1))
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
	o := newOptions(gimbalv1.BackendKubernetes, environment)
	if _, err := newDiscoverer(o); err == nil || !strings.Contains(err.Error(), "--gimbal-kubecfg-file") {
		t.Error(err)
	}
	o.gimbalKubeconfig, o.discoverKubeconfig = here, "/nowhere"
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
