// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
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
	if o.Resync != 30*time.Minute || o.Probe != 30*time.Second || o.Timeout != 5*time.Second || o.ListenAddress != ":8080" || o.Policy.Missing != "Wait" || o.Services != "All" || o.Zones != "Copy" ||
		o.ExternalNames || o.debug || len(o.Policy.Allow)+len(o.Policy.Deny)+len(o.Annotations) > 0 || o.Confined != "" || o.QPS != 500 || o.Burst != 1000 {
		t.Errorf("%+v", o)
	}
	if !strings.HasPrefix(o.Identity, "pod-1_") {
		t.Error(o.Identity)
	}
}

func TestFlags(t *testing.T) {
	for args, check := range map[string]func(*options) bool{
		needed + "--cluster-name=eu":                               func(o *options) bool { return o.Backend == "eu" },
		needed + "--gimbal-kubecfg-file=/g":                        func(o *options) bool { return o.GimbalKubeconfig == "/g" },
		needed + "--resync-interval=5m --reconciliation-period=7s": func(o *options) bool { return o.Resync == 5*time.Minute && o.Probe == 7*time.Second },
		needed + "--http-client-timeout=3s --num-threads=2":        func(o *options) bool { return o.Timeout == 3*time.Second && o.Threads == 2 },
		needed + "--prometheus-listen-address=9090":                func(o *options) bool { return o.ListenAddress == ":9090" },
		needed + "--prometheus-listen-address=127.0.0.1:0":         func(o *options) bool { return o.ListenAddress == "127.0.0.1:0" },
		needed + "--gimbal-client-qps=7.5 --gimbal-client-burst=9": func(o *options) bool { return o.QPS == 7.5 && o.Burst == 9 },
		needed + "--namespaces-allow=a,b --namespaces-deny=c": func(o *options) bool {
			return slices.Equal(o.Policy.Allow, []string{"a", "b"}) && o.Policy.Admits("a") && !o.Policy.Admits("c")
		},
		needed + "--namespaces-missing=Create":                       func(o *options) bool { return o.Policy.Missing == gimbalv1.MissingNamespaceCreate },
		needed + "--service-policy=Exported":                         func(o *options) bool { return o.Services == "Exported" },
		needed + "--zone-policy=Omit":                                func(o *options) bool { return o.Zones == "Omit" },
		needed + "--external-names --debug --copy-annotations=a/b,c": func(o *options) bool { return o.ExternalNames && o.debug && len(o.Annotations) == 2 },
		needed + "--labels-include=a,b.example/ --labels-exclude=c --labels-add=d=e,f=": func(o *options) bool {
			return len(o.Labels.Include) == 2 && slices.Equal(o.Labels.Exclude, []string{"c"}) && o.Labels.Add["d"] == "e" && len(o.Labels.Add) == 2
		},
		needed + "--selector=a=b": func(o *options) bool {
			return slices.Equal(o.Labels.Selected, []string{"a"}) && o.Selector.Matches(labels.Set{"a": "b"}) && !o.Selector.Matches(labels.Set{})
		},
		needed + "--debug": func(o *options) bool { return o.Selector.Empty() },
		needed + "--backend-namespace=mine --namespaces-allow=mine":     func(o *options) bool { return o.Confined == "mine" },
		needed + "--backend-namespace=mine --namespaces-allow=mine,two": func(o *options) bool { return o.Confined == "" },
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
		"vmware":                       `"vmware" is no command of groundskeeper-discoverer, which has kubernetes, openstack`,
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
		needed + "--zone-policy=omit":                        "--zone-policy: ",
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
