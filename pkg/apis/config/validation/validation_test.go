// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
)

func TestValidateControllerManagerConfiguration(t *testing.T) {
	type config = v1alpha1.ControllerManagerConfiguration
	duration := func(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }
	quota := func(change func(*v1alpha1.QuotaConfiguration)) func(*config) {
		return func(c *config) {
			q := v1alpha1.QuotaConfiguration{
				Config: corev1.ResourceQuota{Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{
					"count/secrets":                      resource.MustParse("10"),
					"count/klusters.kubernikus.sap.cc":   resource.MustParse("0"),
					corev1.ResourceRequestsStorage:       resource.MustParse("1Ti"),
					"gold.storageclass/requests.storage": resource.MustParse("5Gi"),
				}}},
				ProjectSelector: &metav1.LabelSelector{},
			}
			change(&q)
			c.Controllers.Project.Quotas = append(c.Controllers.Project.Quotas, q)
		}
	}
	enabled := func(names ...string) func(*config) {
		return func(c *config) { c.Controllers.Enabled = names }
	}

	for name, tc := range map[string]struct {
		change func(*config)
		want   string
	}{
		"defaults": {func(*config) {}, ""},

		"qps 0":      {func(c *config) { c.ClientConnection.QPS = new(float32(0)) }, `clientConnection.qps: Invalid value: 0: must be greater than 0`},
		"qps -1":     {func(c *config) { c.ClientConnection.QPS = new(float32(-1)) }, `clientConnection.qps: Invalid value: -1: must be greater than 0`},
		"qps 0.5":    {func(c *config) { c.ClientConnection.QPS = new(float32(0.5)) }, ""},
		"burst 0":    {func(c *config) { c.ClientConnection.Burst = new(int32(0)) }, `clientConnection.burst: Invalid value: 0: must be greater than 0`},
		"kubeconfig": {func(c *config) { c.ClientConnection.Kubeconfig = "/does/not/matter/here" }, ""},

		"no election":   {func(c *config) { c.LeaderElection.LeaderElect = new(false) }, ""},
		"bad namespace": {func(c *config) { c.LeaderElection.ResourceNamespace = "a.b" }, `leaderElection.resourceNamespace: Invalid value: "a.b": must not contain dots`},
		"dotted lease":  {func(c *config) { c.LeaderElection.ResourceName = "a.b" }, ""},
		"bad lease":     {func(c *config) { c.LeaderElection.ResourceName = strings.Repeat("a", 254) }, `leaderElection.resourceName: Invalid value: "` + strings.Repeat("a", 254) + `": must be no more than 253 characters`},
		"short lease": {func(c *config) {
			c.LeaderElection.LeaseDuration = duration(999 * time.Millisecond)
			c.LeaderElection.RenewDeadline = duration(500 * time.Millisecond)
			c.LeaderElection.RetryPeriod = duration(100 * time.Millisecond)
		}, `leaderElection.leaseDuration: Invalid value: "999ms": must be at least 1s: a Lease counts in whole seconds`},
		"shortest lease": {func(c *config) {
			c.LeaderElection.LeaseDuration = duration(time.Second)
			c.LeaderElection.RenewDeadline = duration(999 * time.Millisecond)
			c.LeaderElection.RetryPeriod = duration(100 * time.Millisecond)
		}, ""},
		"renew = lease":  {func(c *config) { c.LeaderElection.RenewDeadline = duration(15 * time.Second) }, `leaderElection.renewDeadline: Invalid value: "15s": must be shorter than leaseDuration`},
		"renew 0":        {func(c *config) { c.LeaderElection.RenewDeadline = duration(0) }, `leaderElection.renewDeadline: Invalid value: "0s": must be greater than 0s; leaderElection.retryPeriod: Invalid value: "2s": plus a fifth of it must be shorter than renewDeadline`},
		"retry 0":        {func(c *config) { c.LeaderElection.RetryPeriod = duration(0) }, `leaderElection.retryPeriod: Invalid value: "0s": must be greater than 0s`},
		"retry negative": {func(c *config) { c.LeaderElection.RetryPeriod = duration(-time.Second) }, `leaderElection.retryPeriod: Invalid value: "-1s": must be greater than 0s`},
		"retry jittered": {func(c *config) { c.LeaderElection.RetryPeriod = duration(9 * time.Second) }, `leaderElection.retryPeriod: Invalid value: "9s": plus a fifth of it must be shorter than renewDeadline`},
		"retry at most":  {func(c *config) { c.LeaderElection.RetryPeriod = duration(8333 * time.Millisecond) }, ""},

		"debug text": {func(c *config) { c.Log = v1alpha1.LogConfiguration{Level: "debug", Format: "text"} }, ""},
		"error json": {func(c *config) { c.Log = v1alpha1.LogConfiguration{Level: "error", Format: "json"} }, ""},
		"bad level":  {func(c *config) { c.Log.Level = "warn" }, `log.level: Unsupported value: "warn": supported values: "debug", "info", "error"`},
		"bad format": {func(c *config) { c.Log.Format = "JSON" }, `log.format: Unsupported value: "JSON": supported values: "json", "text"`},

		"IPv4":          {func(c *config) { c.Server.Health.BindAddress = "127.0.0.1" }, ""},
		"IPv6":          {func(c *config) { c.Server.Health.BindAddress = "::1" }, ""},
		"host name":     {func(c *config) { c.Server.Health.BindAddress = "localhost" }, ""},
		"bad address":   {func(c *config) { c.Server.Health.BindAddress = "127.0.0.1:80" }, `server.health.bindAddress: Invalid value: "127.0.0.1:80": must be an IP address or a host name`},
		"any port":      {func(c *config) { c.Server.Health.Port = new(int32(0)) }, ""},
		"port 65535":    {func(c *config) { c.Server.Health.Port = new(int32(65535)) }, ""},
		"port 65536":    {func(c *config) { c.Server.Health.Port = new(int32(65536)) }, `server.health.port: Invalid value: 65536: must be between 0 (any free port) and 65535`},
		"negative port": {func(c *config) { c.Server.Health.Port = new(int32(-1)) }, `server.health.port: Invalid value: -1: must be between 0 (any free port) and 65535`},

		"none":           {enabled(), ""},
		"one":            {enabled("project"), ""},
		"all but one":    {enabled("*", "-stale"), ""},
		"unknown":        {enabled("*", "projects"), `controllers.enabled[1]: Unsupported value: "projects": supported values: "project", "stale"`},
		"unknown out":    {enabled("*", "-projects"), `controllers.enabled[1]: Unsupported value: "projects": supported values: "project", "stale"`},
		"star out":       {enabled("project", "-*"), `controllers.enabled[1]: Unsupported value: "*": supported values: "project", "stale"`},
		"empty name":     {enabled("*", ""), `controllers.enabled[1]: Unsupported value: "": supported values: "project", "stale"`},
		"twice":          {enabled("project", "project"), `controllers.enabled[1]: Duplicate value: "project"`},
		"in and out":     {enabled("*", "project", "-project"), `controllers.enabled[2]: Invalid value: "-project": the list also has project`},
		"out of nothing": {enabled("-project"), `controllers.enabled: Invalid value: ["-project"]: takes controllers out of nothing: add "*"`},
		"concurrency 0":  {func(c *config) { c.Controllers.Project.ConcurrentSyncs = new(int32(0)) }, `controllers.project.concurrentSyncs: Invalid value: 0: must be greater than 0`},
		"concurrency -1": {func(c *config) { c.Controllers.Project.ConcurrentSyncs = new(int32(-1)) }, `controllers.project.concurrentSyncs: Invalid value: -1: must be greater than 0`},
		"quota":          {quota(func(*v1alpha1.QuotaConfiguration) {}), ""},
		"quota with kind": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.Config.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}
		}), ""},
		"quota, other": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.Config.TypeMeta = metav1.TypeMeta{APIVersion: "v2", Kind: "LimitRange"}
		}), `controllers.project.quotas[0].config.apiVersion: Unsupported value: "v2": supported values: "v1"; controllers.project.quotas[0].config.kind: Unsupported value: "LimitRange": supported values: "ResourceQuota"`},
		"quota, empty":    {quota(func(q *v1alpha1.QuotaConfiguration) { q.Config.Spec.Hard = nil }), `controllers.project.quotas[0].config.spec.hard: Required value: at least one resource must be limited`},
		"quota, negative": {quota(func(q *v1alpha1.QuotaConfiguration) { q.Config.Spec.Hard["pods"] = resource.MustParse("-1") }), `controllers.project.quotas[0].config.spec.hard.pods: Invalid value: "-1": must be greater than or equal to 0`},
		"quota, bad name": {quota(func(q *v1alpha1.QuotaConfiguration) { q.Config.Spec.Hard["/a"] = resource.MustParse("1") }), `controllers.project.quotas[0].config.spec.hard: Invalid value: "/a": prefix part must be non-empty`},
		"selector": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.ProjectSelector.MatchLabels = map[string]string{"tier": "gold"}
		}), ""},
		"selector, bad op": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.ProjectSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Is"}}
		}), `controllers.project.quotas[0].projectSelector.matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`},
		"selector, value": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.ProjectSelector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "In"}}
		}), `controllers.project.quotas[0].projectSelector.matchExpressions[0].values: Required value: must be specified when ` + "`operator` is 'In' or 'NotIn'"},

		"everything at once": {func(c *config) {
			c.ClientConnection.QPS = new(float32(0))
			c.Log.Level = "loud"
			c.Controllers.Project.ConcurrentSyncs = new(int32(0))
		}, `clientConnection.qps: Invalid value: 0: must be greater than 0; log.level: Unsupported value: "loud": supported values: "debug", "info", "error"; controllers.project.concurrentSyncs: Invalid value: 0: must be greater than 0`},
	} {
		t.Run(name, func(t *testing.T) {
			c := &config{}
			v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(c)
			tc.change(c)
			var got []string
			for _, err := range validation.ValidateControllerManagerConfiguration(c, []string{"project", "stale"}) {
				got = append(got, err.Error())
			}
			if got := strings.Join(got, "; "); got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
		})
	}
}
