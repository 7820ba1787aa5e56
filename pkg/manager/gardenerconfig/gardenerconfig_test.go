// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package gardenerconfig

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
)

const head = "apiVersion: controllermanager.config.gardener.cloud/v1alpha1\nkind: ControllerManagerConfiguration\n"

func TestDecode(t *testing.T) {
	type config = v1alpha1.ControllerManagerConfiguration
	for name, tc := range map[string]struct {
		content string
		want    func(*config)
		ignored string
	}{
		"nothing": {"", func(*config) {}, ""},
		"empty sections": {"gardenClientConnection:\ncontrollers: {project: , plant: }\nleaderElection:\nserver: {http: , https: }\ndebugging:\n",
			func(*config) {}, ""},
		"connection": {"gardenClientConnection: {kubeconfig: /k, qps: 100, burst: 130, contentType: application/json, acceptContentTypes: a}\n", func(c *config) {
			c.ClientConnection = v1alpha1.ClientConnectionConfiguration{Kubeconfig: "/k", QPS: new(float32(100)), Burst: new(int32(130))}
		}, "gardenClientConnection.acceptContentTypes gardenClientConnection.contentType"},
		"connection, older name": {"clientConnection: {qps: 0, burst: 7, contentType: a}\n", func(c *config) {
			c.ClientConnection.Burst = new(int32(7)) // zero is unset there
		}, "clientConnection.contentType"},
		"election": {"leaderElection: {leaderElect: false, leaseDuration: 30s, renewDeadline: 20s, retryPeriod: 5s, resourceLock: leases, resourceName: n, resourceNamespace: garden}\n", func(c *config) {
			c.LeaderElection = v1alpha1.LeaderElectionConfiguration{
				LeaderElect: new(false), ResourceName: "n", ResourceNamespace: "garden",
				LeaseDuration: &metav1.Duration{Duration: 30 * time.Second}, RenewDeadline: &metav1.Duration{Duration: 20 * time.Second},
				RetryPeriod: &metav1.Duration{Duration: 5 * time.Second},
			}
		}, ""},
		"lock that was removed": {"leaderElection: {resourceLock: configmapsleases}\n", func(*config) {}, "leaderElection.resourceLock"},
		"log": {"logLevel: debug\nlogFormat: text\nkubernetesLogLevel: 3\n", func(c *config) {
			c.Log = v1alpha1.LogConfiguration{Level: "debug", Format: "text"}
		}, "kubernetesLogLevel"},
		"project": {"controllers:\n  project:\n    concurrentSyncs: 3\n    minimumLifetimeDays: 0\n    staleGracePeriodDays: 2\n    staleExpirationTimeDays: 3\n    staleSyncPeriod: 4h\n" +
			"    quotas: [{config: {apiVersion: v1, kind: ResourceQuota, spec: {hard: {pods: 5}}}, projectSelector: {matchLabels: {a: b}}}]\n", func(c *config) {
			c.Controllers.Project = v1alpha1.ProjectControllerConfiguration{
				ConcurrentSyncs: new(int32(3)), MinimumLifetimeDays: new(int32(0)), StaleGracePeriodDays: new(int32(2)),
				StaleExpirationTimeDays: new(int32(3)), StaleSyncPeriod: &metav1.Duration{Duration: 4 * time.Hour},
				Quotas: []v1alpha1.QuotaConfiguration{{
					Config: corev1.ResourceQuota{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"},
						Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"pods": resource.MustParse("5")}}},
					ProjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
				}},
			}
		}, ""},
		"syncs 0": {"controllers: {project: {concurrentSyncs: 0}}\n", func(*config) {}, ""},
		"others' sections": {"controllers: {plant: {syncPeriod: soon}, shootQuota: {}}\nfeatureGates: {HVPA: true}\ndebugging: {enableProfiling: true}\n" +
			"seedClientConnection: {qps: 1}\nshootClientConnection: {qps: 1}\nshootBackup: {schedule: a}\ndiscovery: {ttl: 10s}\n", func(*config) {},
			"controllers.plant controllers.shootQuota debugging discovery featureGates seedClientConnection shootBackup shootClientConnection"},
		"older servers": {"server: {http: {bindAddress: 0.0.0.0, port: 2718}, https: {bindAddress: 1.2.3.4, port: 443, tls: {serverCertPath: c, serverKeyPath: k}}}\n", func(c *config) {
			c.Server.Health = v1alpha1.AddressConfiguration{BindAddress: "0.0.0.0", Port: new(int32(2718))}
			c.Server.Webhooks.AddressConfiguration = v1alpha1.AddressConfiguration{BindAddress: "1.2.3.4", Port: new(int32(443))}
			c.Server.Webhooks.Certificates = v1alpha1.CertificatesConfiguration{Mode: "Files", CertFile: "c", KeyFile: "k"}
		}, ""},
		"newer servers": {"server: {healthProbes: {port: 0}, metrics: {port: 2719}, enableDebugHandlers: true, webhooks: {port: 9, tls: {serverCertDir: /d}}}\n", func(c *config) {
			c.Server.Webhooks.Port = new(int32(9))
			c.Server.Webhooks.Certificates = v1alpha1.CertificatesConfiguration{Mode: "Files", CertFile: "/d/tls.crt", KeyFile: "/d/tls.key"}
		}, "server.enableDebugHandlers server.metrics"},
		"resource admission": {"server: {resourceAdmissionConfiguration: {operationMode: log, unrestrictedSubjects: [{kind: User, name: u}], " +
			"limits: [{apiGroups: [a], apiVersions: [v1], resources: [r], size: 1Ki, count: 4}]}}\n", func(c *config) {
			c.Server.Webhooks.ResourceSize = v1alpha1.ResourceSizeConfiguration{
				Mode: "Log", UnrestrictedSubjects: []rbacv1.Subject{{Kind: "User", Name: "u"}},
				Limits: []v1alpha1.ResourceLimit{{APIGroups: []string{"a"}, APIVersions: []string{"v1"}, Resources: []string{"r"},
					Size: new(resource.MustParse("1Ki")), Count: new(int64(4))}},
			}
		}, ""},
		"mode block": {"server: {resourceAdmissionConfiguration: {operationMode: block}}\n", func(c *config) {
			c.Server.Webhooks.ResourceSize.Mode = "Block"
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := Decode([]byte(head + tc.content))
			if err != nil {
				t.Fatal(err)
			}
			want := &config{TypeMeta: metav1.TypeMeta{APIVersion: "config.groundskeeper.io/v1alpha1", Kind: "ControllerManagerConfiguration"}}
			tc.want(want)
			if !equality.Semantic.DeepEqual(want, file.Config) {
				t.Error(cmp.Diff(want, file.Config))
			}
			if got := strings.Join(file.Ignored, " "); got != tc.ignored {
				t.Errorf("ignored %s, want %s", got, tc.ignored)
			}
			v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(file.Config)
			if errs := validation.ValidateControllerManagerConfiguration(file.Config, nil); len(errs) > 0 && tc.content == "" {
				t.Error(errs.ToAggregate())
			}
		})
	}
}

// An error names the field as in the file, with its line.
func TestErrors(t *testing.T) {
	for name, tc := range map[string]struct{ content, want string }{
		"unknown section":    {"gardenClientConections: {}\n", `line 3: unknown field "gardenClientConections"`},
		"unknown field":      {"gardenClientConnection:\n  kps: 1\n", `line 4: unknown field "gardenClientConnection.kps"`},
		"unknown, project":   {"controllers:\n  project:\n    staleGraceDays: 1\n    concurrentSyncs: x\n", `line 5: unknown field "controllers.project.staleGraceDays"; line 6: controllers.project.concurrentSyncs: expected a whole number of 32 bits, not string`},
		"doubled":            {"logLevel: info\nlogLevel: info\n", `line 4: field "logLevel" is set twice, first on line 3`},
		"two connections":    {"gardenClientConnection: {qps: 1}\nclientConnection: {qps: 1}\n", `line 4: clientConnection and gardenClientConnection are two names of one field: keep one`},
		"two health":         {"server:\n  healthProbes: {port: 1}\n  http: {port: 1}\n", `line 5: server.http and server.healthProbes are two names of one field: keep one`},
		"two webhooks":       {"server:\n  webhooks: {port: 1}\n  https: {port: 1}\n", `line 5: server.https and server.webhooks are two names of one field: keep one`},
		"directory and file": {"server:\n  https:\n    tls: {serverCertDir: a, serverKeyPath: b}\n", `line 5: server.https.tls: serverCertDir cannot be combined with serverCertPath or serverKeyPath`},
		"qps":                {"gardenClientConnection:\n  qps: -1\n", `line 4: gardenClientConnection.qps: Invalid value: -1: must be greater than 0`},
		"qps, older":         {"clientConnection:\n  qps: -1\n", `line 4: clientConnection.qps: Invalid value: -1: must be greater than 0`},
		"level":              {"logLevel: loud\n", `line 3: logLevel: Unsupported value: "loud": supported values: "debug", "info", "error"`},
		"port":               {"server:\n  http: {port: -1}\n", `line 4: server.http.port: Invalid value: -1: must be between 0 (any free port) and 65535`},
		"port, newer":        {"server:\n  webhooks:\n    port: -1\n", `line 5: server.webhooks.port: Invalid value: -1: must be between 0 (any free port) and 65535`},
		"no key":             {"server:\n  https:\n    tls: {serverCertPath: a}\n", `line 5: server.https.tls.serverKeyPath: Required value: mode Files reads it`},
		"mode":               {"server:\n  resourceAdmissionConfiguration: {operationMode: loud}\n", `line 4: server.resourceAdmissionConfiguration.operationMode: Unsupported value: "loud": supported values: "Block", "Log"`},
		"limit":              {"server:\n  resourceAdmissionConfiguration:\n    limits:\n    - {apiGroups: [a], resources: [r]}\n", `line 6: server.resourceAdmissionConfiguration.limits[0].size: Required value: limit the size, the count, or both`},
		"expiration":         {"controllers:\n  project: {staleExpirationTimeDays: 1}\n", `line 4: controllers.project.staleExpirationTimeDays: Invalid value: 1: must not be less than staleGracePeriodDays`},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			if file, err := Decode([]byte(head + tc.content)); err != nil {
				got = append(got, err.Error())
			} else {
				v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(file.Config)
				for _, err := range validation.ValidateControllerManagerConfiguration(file.Config, nil) {
					if err.Field != "controllers.enabled[0]" {
						got = append(got, file.Place(err).Error())
					}
				}
			}
			if got := strings.Join(got, "; "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}

// TestPlace checks that a field whose name only begins with that of a renamed field is another field.
func TestPlace(t *testing.T) {
	file, err := Decode([]byte(head + "logLevel: info\n"))
	if err != nil {
		t.Fatal(err)
	}
	for own, theirs := range map[string]string{"log.level": "logLevel", "log.levels": "log.levels", "log.level[0]": "logLevel[0]"} {
		if got := file.Place(&field.Error{Field: own, Type: field.ErrorTypeRequired}).Error(); !strings.Contains(got, theirs+": ") {
			t.Errorf("%s became %s, want %s", own, got, theirs)
		}
	}
}

// FuzzDecode: no file makes reading panic, and numbers of days that are accepted fit into a period.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(head + "controllers: {project: {minimumLifetimeDays: 999999, staleGracePeriodDays: 0, staleExpirationTimeDays: 0}}\n"))
	f.Add([]byte(head + "controllers: {project: {quotas: [{}]}}\nserver: {https: {tls: {}}}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Decode(data)
		if err != nil {
			return
		}
		v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(file.Config)
		errs := validation.ValidateControllerManagerConfiguration(file.Config, nil)
		for _, err := range errs {
			_ = file.Place(err).Error()
		}
		project := &file.Config.Controllers.Project
		for _, days := range []int32{*project.MinimumLifetimeDays, *project.StaleGracePeriodDays, *project.StaleExpirationTimeDays} {
			if period := time.Duration(days) * 24 * time.Hour; len(errs) == 0 && (period < 0 || period/(24*time.Hour) != time.Duration(days)) {
				t.Errorf("%d days were accepted and became %s", days, period)
			}
		}
	})
}
