// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
	"groundskeeper.io/groundskeeper/pkg/configfile"
)

const head = "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"

// write puts content into a dedicated file and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// effective returns what --print-config prints for options that are changed by change.
func effective(t *testing.T, change func(*Options)) string {
	t.Helper()
	var out bytes.Buffer
	o := NewOptions()
	o.Out, o.PrintConfig = &out, true
	change(o)
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	if err := o.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestDefaults checks that the defaults are those of the golden file, which UPDATE_GOLDEN=1 regenerates.
func TestDefaults(t *testing.T) {
	golden := filepath.Join("testdata", "defaults.yaml")
	got := effective(t, func(*Options) {})
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("no file: %s", diff)
	}
	for name, content := range map[string]string{
		"kind and version":  head,
		"empty sections":    head + "clientConnection:\nleaderElection: {}\nlog:\nserver: {health: }\ncontrollers: {project: {quotas: }, enabled: }\n",
		"the printed file":  got,
		"as JSON":           `{"kind": "ControllerManagerConfiguration", "apiVersion": "config.groundskeeper.io/v1alpha1"}`,
		"with a terminator": "---\n" + head + "...\n",
	} {
		if diff := cmp.Diff(string(want), effective(t, func(o *Options) { o.ConfigFile = write(t, content) })); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestDefaultsAreDocumented checks that the documented defaults are correct.
func TestDefaultsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "configuration.md"))
	if err != nil {
		t.Fatal(err)
	}
	if want := "```yaml\n" + effective(t, func(*Options) {}) + "```\n"; !strings.Contains(string(page), want) {
		t.Errorf("docs/configuration.md does not have\n%s", want)
	}
}

// TestGardenerFile checks that a configuration file of Gardener is valid, and that its fields for other components are named.
func TestGardenerFile(t *testing.T) {
	file := write(t, "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration\n"+
		"gardenClientConnection: {qps: 7}\ncontrollers: {project: {staleGracePeriodDays: 3}, seed: {}}\n")
	own := write(t, head+"clientConnection: {qps: 7}\ncontrollers: {project: {staleGracePeriodDays: 3}}\n")
	got := effective(t, func(o *Options) { o.ConfigFile = file })
	if diff := cmp.Diff(effective(t, func(o *Options) { o.ConfigFile = own }), got); diff != "" {
		t.Error(diff)
	}
	o := &Options{ConfigFile: file}
	if err := o.Complete(); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"controllers.seed"}, o.ignored); diff != "" {
		t.Error(diff)
	}
}

// TestPrintRoundTrip checks that printed configuration can be loaded without a change, including zero and empty values.
func TestPrintRoundTrip(t *testing.T) {
	file := filepath.Join("testdata", "full.yaml")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(string(content), "\n") // the comment
	first := effective(t, func(o *Options) { o.ConfigFile = file })
	if diff := cmp.Diff(want, first); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want, effective(t, func(o *Options) { o.ConfigFile = write(t, first) })); diff != "" {
		t.Error(diff)
	}
}

func TestFlags(t *testing.T) {
	const quiet = head + "clientConnection: {kubeconfig: /a}\nserver: {health: {bindAddress: 10.0.0.1, port: 80}}\nlog: {format: json}\n"
	for name, tc := range map[string]struct {
		change func(*Options)
		want   func(*v1alpha1.ControllerManagerConfiguration) any
		equals any
	}{
		"kubeconfig": {
			func(o *Options) { o.Kubeconfig = "/b" },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.ClientConnection.Kubeconfig }, "/b",
		},
		"no kubeconfig": {
			func(*Options) {},
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.ClientConnection.Kubeconfig }, "/a",
		},
		"health address": {
			func(o *Options) { o.HealthAddress = "[::1]:0" },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Server.Health },
			v1alpha1.AddressConfiguration{BindAddress: "::1", Port: new(int32(0))},
		},
		"health port": {
			func(o *Options) { o.HealthAddress = ":8080" },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Server.Health },
			v1alpha1.AddressConfiguration{Port: new(int32(8080))},
		},
		"no health address": {
			func(*Options) {},
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Server.Health },
			v1alpha1.AddressConfiguration{BindAddress: "10.0.0.1", Port: new(int32(80))},
		},
		"terminal, format given": {
			func(o *Options) { o.logsToTerminal = true },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Log.Format }, v1alpha1.LogFormatJSON,
		},
		"terminal, no format": {
			func(o *Options) { o.ConfigFile, o.logsToTerminal = "", true },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Log.Format }, v1alpha1.LogFormatText,
		},
		"terminal, printed": {
			func(o *Options) { o.ConfigFile, o.logsToTerminal, o.PrintConfig = "", true, true },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Log.Format }, v1alpha1.LogFormatJSON,
		},
		"no terminal, no format": {
			func(o *Options) { o.ConfigFile, o.logsToTerminal = "", false },
			func(c *v1alpha1.ControllerManagerConfiguration) any { return c.Log.Format }, v1alpha1.LogFormatJSON,
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			o.ConfigFile = write(t, quiet)
			tc.change(o)
			if err := o.Complete(); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.equals, tc.want(o.config)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOptionsReject checks that each message names the file or the flag, the line and the field, on one line.
func TestOptionsReject(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		change  func(*Options)
		want    string
	}{
		"missing file":         {"", func(o *Options) { o.ConfigFile = "testdata/none.yaml" }, `--config: open testdata/none.yaml: no such file or directory`},
		"a directory":          {"", func(o *Options) { o.ConfigFile = "testdata" }, `--config: read testdata: is a directory`},
		"empty file":           {"\n", nil, `FILE: apiVersion is missing, it must be "config.groundskeeper.io/v1alpha1"; kind is missing, it must be "ControllerManagerConfiguration"`},
		"other version":        {"kind: ControllerManagerConfiguration\napiVersion: config.groundskeeper.io/v1\n", nil, `FILE: line 2: apiVersion "config.groundskeeper.io/v1" is unknown, it must be "config.groundskeeper.io/v1alpha1"`},
		"other kind":           {"apiVersion: config.groundskeeper.io/v1alpha1\nkind: KubeletConfiguration\n", nil, `FILE: line 2: kind "KubeletConfiguration" is unknown, it must be "ControllerManagerConfiguration"`},
		"unknown section":      {head + "translation:\n  tenant: a\n", nil, `FILE: line 3: unknown field "translation"`},
		"unknown field":        {head + "controllers:\n  project:\n    concurrentSync: 5\n", nil, `FILE: line 5: unknown field "controllers.project.concurrentSync"`},
		"unknown in quota":     {head + "controllers:\n  project:\n    quotas:\n    - config:\n        spec:\n          hart: {}\n", nil, `FILE: line 8: unknown field "controllers.project.quotas[0].config.spec.hart"`},
		"doubled field":        {head + "log:\n  level: info\n  level: debug\n", nil, `FILE: line 5: field "log.level" is set twice, first on line 4`},
		"doubled section":      {head + "log: {}\nserver: {}\nlog: {}\n", nil, `FILE: line 5: field "log" is set twice, first on line 3`},
		"bad duration":         {head + "leaderElection:\n  retryPeriod: soon\n", nil, `FILE: line 4: leaderElection.retryPeriod: "soon" is no duration, write one such as 12h or 1h30m`},
		"bad quantity":         {head + "controllers:\n  project:\n    quotas:\n    - config:\n        spec:\n          hard:\n            pods: lots\n", nil, `FILE: line 9: controllers.project.quotas[0].config.spec.hard.pods: quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'`},
		"text for a port":      {head + "server: {health: {port: http}}\n", nil, `FILE: line 3: server.health.port: expected a whole number of 32 bits, not string`},
		"invalid value":        {head + "leaderElection:\n  leaseDuration: 5s\n", nil, `FILE: line 3: leaderElection.renewDeadline: Invalid value: "10s": must be shorter than leaseDuration`},
		"unknown controller":   {head + "controllers:\n  enabled:\n  - \"*\"\n  - -projekt\n", nil, `FILE: line 6: controllers.enabled[1]: Unsupported value: "projekt": supported values: "` + strings.Join(names(controllers(nil)), `", "`) + `"`},
		"Gardener's":           {"apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration\ngardenClientConnection: {qps: -1}\n", nil, `FILE: line 3: gardenClientConnection.qps: Invalid value: -1: must be greater than 0`},
		"unknown, Gardener's":  {"apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration\nprojects: {}\n", nil, `FILE: line 3: unknown field "projects"`},
		"several values":       {head + "clientConnection:\n  qps: 0\n  burst: -1\n", nil, `FILE: line 4: clientConnection.qps: Invalid value: 0: must be greater than 0; line 5: clientConnection.burst: Invalid value: -1: must be greater than 0`},
		"bad health address":   {"", func(o *Options) { o.HealthAddress = "localhost" }, `--health-address: "localhost" is not HOST:PORT`},
		"bad health port":      {"", func(o *Options) { o.HealthAddress = "localhost:http" }, `--health-address: "localhost:http" is not HOST:PORT with a numeric port`},
		"health port too big":  {"", func(o *Options) { o.HealthAddress = ":65536" }, `configuration: server.health.port: Invalid value: 65536: must be between 0 (any free port) and 65535`},
		"bad webhook address":  {"", func(o *Options) { o.WebhookAddress = "localhost" }, `--webhook-address: "localhost" is not HOST:PORT`},
		"too many days":        {head + "controllers:\n  project:\n    minimumLifetimeDays: 999999\n", nil, `FILE: line 5: controllers.project.minimumLifetimeDays: Invalid value: 999999: must be at most 106751`},
		"too many, Gardener's": {"apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration\ncontrollers:\n  project:\n    minimumLifetimeDays: 999999\n", nil, `FILE: line 5: controllers.project.minimumLifetimeDays: Invalid value: 999999: must be at most 106751`},
		"centuries":            {head + "controllers:\n  project:\n    staleSyncPeriod: 2562047h\n", nil, `FILE: line 5: controllers.project.staleSyncPeriod: Invalid value: "2562047h0m0s": must be at most 400000h`},
		"negative verbosity":   {"", func(o *Options) { o.Verbosity = -1 }, `-v: -1 is negative`},
	} {
		t.Run(name, func(t *testing.T) {
			o := NewOptions()
			if tc.content != "" {
				o.ConfigFile = write(t, tc.content)
			}
			if tc.change != nil {
				tc.change(o)
			}
			err := o.Complete()
			if err == nil {
				err = o.Validate()
			}
			if err == nil {
				t.Fatal("no error")
			}
			if want := strings.Replace(tc.want, "FILE", o.ConfigFile, 1); err.Error() != want {
				t.Errorf("got  %s\nwant %s", err, want)
			}
		})
	}
}

// checkPeriods fails when a number that was accepted does not fit into the periods that are computed of it.
func checkPeriods(t testing.TB, config *v1alpha1.ControllerManagerConfiguration) {
	project := &config.Controllers.Project
	for name, days := range map[string]int32{
		"minimumLifetimeDays": *project.MinimumLifetimeDays, "staleGracePeriodDays": *project.StaleGracePeriodDays,
		"staleExpirationTimeDays": *project.StaleExpirationTimeDays, "staleNoticeDays": *project.StaleNoticeDays,
	} {
		if period := time.Duration(days) * 24 * time.Hour; period < 0 || period/(24*time.Hour) != time.Duration(days) {
			t.Errorf("%s: %d days were accepted and became %s", name, days, period)
		}
	}
	if lease := config.LeaderElection.LeaseDuration.Duration; lease/time.Second > math.MaxInt32 {
		t.Errorf("leaderElection.leaseDuration: %s was accepted and does not fit into a Lease", lease)
	}
	for name, period := range map[string]*metav1.Duration{
		"leaderElection.retryPeriod":                 config.LeaderElection.RetryPeriod,
		"controllers.project.staleSyncPeriod":        project.StaleSyncPeriod,
		"controllers.translation.push.driftInterval": config.Controllers.Translation.Push.DriftInterval,
		"controllers.kluster.deorbit.pollInterval":   config.Controllers.Kluster.Deorbit.PollInterval,
		"controllers.kluster.routeGC.interval":       config.Controllers.Kluster.RouteGC.Interval,
		"controllers.localVolume.pvcDeletionDelay":   config.Controllers.LocalVolume.PVCDeletionDelay,
		"controllers.kluster.openstack.timeout":      config.Controllers.Kluster.OpenStack.Timeout,
	} {
		if stretched := 2 * period.Duration; stretched < period.Duration {
			t.Errorf("%s: %s was accepted and overflows when it is doubled", name, period.Duration)
		}
	}
}

// FuzzConfig: no file makes loading panic; what is accepted fits into the periods computed of it; what loads prints, and
// loads again as the same.
func FuzzConfig(f *testing.F) {
	for _, file := range []string{"testdata/defaults.yaml", "testdata/full.yaml"} {
		content, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(content)
	}
	f.Add([]byte(head + "leaderElection: {leaseDuration: -1ns, retryPeriod: 2562047h}\nserver: {health: {port: -1}}\n"))
	f.Add([]byte(head + "controllers: {project: {minimumLifetimeDays: 999999, staleGracePeriodDays: 0, staleExpirationTimeDays: 106751}, kluster: {deorbit: {pollInterval: 2562047h}}}\n"))
	f.Add([]byte(head + "controllers: {project: {quotas: [{}, {config: {spec: {hard: {a: 1.5, b: 1e3, c: 0x1}}}, projectSelector: {matchExpressions: [{key: a, operator: In}]}}]}}\n"))
	read := func(data []byte) (*v1alpha1.ControllerManagerConfiguration, error) {
		config, lines, err := configfile.Decode[v1alpha1.ControllerManagerConfiguration](data, v1alpha1.SchemeGroupVersion.WithKind(v1alpha1.ControllerManagerConfigurationKind))
		if err != nil {
			return nil, err
		}
		v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
		errs := validation.ValidateControllerManagerConfiguration(config, []string{"project"})
		for _, err := range errs {
			_ = lines.At(err.Field, err).Error()
		}
		if len(errs) == 0 {
			checkPeriods(f, config)
		}
		return config, nil
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		first, err := read(data)
		if err != nil {
			return
		}
		var out bytes.Buffer
		if err := configfile.Print(&out, first); err != nil {
			t.Fatal(err)
		}
		second, err := read(out.Bytes())
		if err != nil {
			t.Fatalf("%v\n%s", err, out.Bytes())
		}
		if !equality.Semantic.DeepEqual(first, second) {
			t.Errorf("%s\n%s", cmp.Diff(first, second), out.Bytes())
		}
	})
}
