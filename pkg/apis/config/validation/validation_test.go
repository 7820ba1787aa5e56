// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation_test

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	names "k8s.io/apimachinery/pkg/util/validation"

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
	limit := func(change func(*v1alpha1.ResourceLimit)) func(*config) {
		return func(c *config) {
			l := v1alpha1.ResourceLimit{APIGroups: []string{""}, APIVersions: []string{"*"}, Resources: []string{"secrets"}, Size: new(resource.MustParse("1Ki"))}
			change(&l)
			c.Server.Webhooks.ResourceSize.Limits = []v1alpha1.ResourceLimit{l}
		}
	}
	unrestricted := func(subjects ...rbacv1.Subject) func(*config) {
		return func(c *config) { c.Server.Webhooks.ResourceSize.UnrestrictedSubjects = subjects }
	}
	volumes := func(change func(*v1alpha1.LocalVolumeConfiguration)) func(*config) {
		return func(c *config) { change(&c.Controllers.LocalVolume) }
	}
	discovery := func(change func(*v1alpha1.DiscoveryConfiguration)) func(*config) {
		return func(c *config) { change(&c.Controllers.Discovery) }
	}
	kluster := func(change func(*v1alpha1.KlusterConfiguration)) func(*config) {
		return func(c *config) { change(&c.Controllers.Kluster) }
	}
	translation := func(change func(*v1alpha1.TranslationConfiguration)) func(*config) {
		return func(c *config) { change(&c.Controllers.Translation) }
	}
	midonet := func(change func(*v1alpha1.MidoNetConfiguration)) func(*config) {
		return func(c *config) {
			c.Controllers.Translation.MidoNet.URL = "http://midonet:8181/midonet-api"
			change(&c.Controllers.Translation.MidoNet)
		}
	}
	ovn := func(change func(*v1alpha1.OVNConfiguration)) func(*config) {
		return func(c *config) {
			c.Controllers.Translation.OVN.Endpoints = []string{"tcp:127.0.0.1:6641"}
			change(&c.Controllers.Translation.OVN)
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

		"collector":        {func(c *config) { c.Tracing.Endpoint = "collector.tracing.svc:4317" }, ""},
		"collector's URL":  {func(c *config) { c.Tracing.Endpoint = "http://collector:4317" }, `tracing.endpoint: Invalid value: "http://collector:4317": must be HOST:PORT, for instance localhost:4317`},
		"collector's port": {func(c *config) { c.Tracing.Endpoint = "collector:0" }, `tracing.endpoint: Invalid value: "collector:0": must be HOST:PORT, for instance localhost:4317`},
		"no collector":     {func(c *config) { c.Tracing.Endpoint = ":4317" }, `tracing.endpoint: Invalid value: ":4317": must be HOST:PORT, for instance localhost:4317`},
		"no sampling":      {func(c *config) { c.Tracing.SamplingRatePerMillion = new(int32(0)) }, ""},
		"negative rate":    {func(c *config) { c.Tracing.SamplingRatePerMillion = new(int32(-1)) }, `tracing.samplingRatePerMillion: Invalid value: -1: must be between 0 (none) and 1000000 (all)`},
		"rate above all":   {func(c *config) { c.Tracing.SamplingRatePerMillion = new(int32(1000001)) }, `tracing.samplingRatePerMillion: Invalid value: 1000001: must be between 0 (none) and 1000000 (all)`},

		"debugging on IPv6":      {func(c *config) { c.Server.Debugging.BindAddress = "::1" }, ""},
		"debugging for everyone": {func(c *config) { c.Server.Debugging.BindAddress = "0.0.0.0" }, `server.debugging.bindAddress: Invalid value: "0.0.0.0": must be a loopback address: every client that reaches it can read profiles`},
		"debugging port":         {func(c *config) { c.Server.Debugging.Port = new(int32(-1)) }, `server.debugging.port: Invalid value: -1: must be between 0 (any free port) and 65535`},

		"metrics of objects": {func(c *config) {
			c.Server.ObjectMetrics.Kinds = []string{"Kluster", "Project", "DiscoveryBackend", "Translation"}
		}, ""},
		"metrics of unknown objects": {func(c *config) { c.Server.ObjectMetrics.Kinds = []string{"Shoot"} }, `server.objectMetrics.kinds[0]: Unsupported value: "Shoot": supported values: "DiscoveryBackend", "Kluster", "Project", "Translation"`},
		"metrics of objects twice":   {func(c *config) { c.Server.ObjectMetrics.Kinds = []string{"Project", "Project"} }, `server.objectMetrics.kinds[1]: Duplicate value: "Project"`},
		"no objects":                 {func(c *config) { c.Server.ObjectMetrics.Limit = new(int32(0)) }, `server.objectMetrics.limit: Invalid value: 0: must be greater than 0; an empty list of kinds disables the metrics`},
		"too many objects":           {func(c *config) { c.Server.ObjectMetrics.Limit = new(int32(100001)) }, `server.objectMetrics.limit: Invalid value: 100001: must be at most 100000`},

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
		"all except one": {enabled("*", "-stale"), ""},
		"unknown":        {enabled("*", "projects"), `controllers.enabled[1]: Unsupported value: "projects": supported values: "project", "stale"`},
		"unknown out":    {enabled("*", "-projects"), `controllers.enabled[1]: Unsupported value: "projects": supported values: "project", "stale"`},
		"star out":       {enabled("project", "-*"), `controllers.enabled[1]: Unsupported value: "*": supported values: "project", "stale"`},
		"empty name":     {enabled("*", ""), `controllers.enabled[1]: Unsupported value: "": supported values: "project", "stale"`},
		"twice":          {enabled("project", "project"), `controllers.enabled[1]: Duplicate value: "project"`},
		"in and out":     {enabled("*", "project", "-project"), `controllers.enabled[2]: Invalid value: "-project": the list also has project`},
		"out of nothing": {enabled("-project"), `controllers.enabled: Invalid value: ["-project"]: removes controllers from an empty list: add "*"`},
		"project authorization": {func(c *config) { c.Controllers.Project.Authorization = "members" },
			`controllers.project.authorization: Unsupported value: "members": supported values: "roles", "membership"`},
		"concurrency 0":  {func(c *config) { c.Controllers.Project.ConcurrentSyncs = new(int32(0)) }, `controllers.project.concurrentSyncs: Invalid value: 0: must be greater than 0`},
		"concurrency -1": {func(c *config) { c.Controllers.Project.ConcurrentSyncs = new(int32(-1)) }, `controllers.project.concurrentSyncs: Invalid value: -1: must be greater than 0`},
		"quota":          {quota(func(*v1alpha1.QuotaConfiguration) {}), ""},
		"quota with kind": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.Config.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ResourceQuota"}
		}), ""},
		"quota, other": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.Config.TypeMeta = metav1.TypeMeta{APIVersion: "v2", Kind: "LimitRange"}
		}), `controllers.project.quotas[0].config.apiVersion: Unsupported value: "v2": supported values: "v1"; controllers.project.quotas[0].config.kind: Unsupported value: "LimitRange": supported values: "ResourceQuota"`},
		"quota, no group": {quota(func(q *v1alpha1.QuotaConfiguration) {
			q.Config.Spec.Hard = corev1.ResourceList{"count/klusters": resource.MustParse("1"), "count/deployments": resource.MustParse("1"), "count/secrets": resource.MustParse("1")}
		}), `controllers.project.quotas[0].config.spec.hard: Invalid value: "count/deployments": counts nothing, because the core group has no deployments: add the group, as in count/deployments.apps; controllers.project.quotas[0].config.spec.hard: Invalid value: "count/klusters": counts nothing without its group: write count/klusters.kubernikus.sap.cc`},
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

		"days 0": {func(c *config) {
			p := &c.Controllers.Project
			p.MinimumLifetimeDays, p.StaleGracePeriodDays, p.StaleExpirationTimeDays = new(int32(0)), new(int32(0)), new(int32(0))
		}, ""},
		"lifetime -1":        {func(c *config) { c.Controllers.Project.MinimumLifetimeDays = new(int32(-1)) }, `controllers.project.minimumLifetimeDays: Invalid value: -1: must be greater than or equal to 0`},
		"grace -1":           {func(c *config) { c.Controllers.Project.StaleGracePeriodDays = new(int32(-1)) }, `controllers.project.staleGracePeriodDays: Invalid value: -1: must be greater than or equal to 0`},
		"expiration -1":      {func(c *config) { c.Controllers.Project.StaleExpirationTimeDays = new(int32(-1)) }, `controllers.project.staleExpirationTimeDays: Invalid value: -1: must be greater than or equal to 0; controllers.project.staleExpirationTimeDays: Invalid value: -1: must not be less than staleGracePeriodDays`},
		"notice -1":          {func(c *config) { c.Controllers.Project.StaleNoticeDays = new(int32(-1)) }, `controllers.project.staleNoticeDays: Invalid value: -1: must be greater than or equal to 0`},
		"expiration = grace": {func(c *config) { c.Controllers.Project.StaleExpirationTimeDays = new(int32(14)) }, ""},
		"expiration < grace": {func(c *config) { c.Controllers.Project.StaleExpirationTimeDays = new(int32(13)) }, `controllers.project.staleExpirationTimeDays: Invalid value: 13: must not be less than staleGracePeriodDays`},
		"sync period 0":      {func(c *config) { c.Controllers.Project.StaleSyncPeriod = duration(0) }, `controllers.project.staleSyncPeriod: Invalid value: "0s": must be at least 1s`},
		"usage, core":        {func(c *config) { c.Controllers.Project.UsageResources = []string{"pods", "shoots.core.gardener.cloud"} }, ""},
		"usage, none":        {func(c *config) { c.Controllers.Project.UsageResources = []string{} }, ""},
		"usage, a kind":      {func(c *config) { c.Controllers.Project.UsageResources = []string{"Shoot.core.gardener.cloud"} }, `controllers.project.usageResources[0]: Invalid value: "Shoot.core.gardener.cloud": must be a resource and its group, for instance shoots.core.gardener.cloud`},
		"usage, a path":      {func(c *config) { c.Controllers.Project.UsageResources = []string{"shoots.core/v1"} }, `controllers.project.usageResources[0]: Invalid value: "shoots.core/v1": must be a resource and its group, for instance shoots.core.gardener.cloud`},
		"usage, twice":       {func(c *config) { c.Controllers.Project.UsageResources = []string{"a.b", "a.b"} }, `controllers.project.usageResources[1]: Duplicate value: "a.b"`},

		"webhook port":    {func(c *config) { c.Server.Webhooks.Port = new(int32(65536)) }, `server.webhooks.port: Invalid value: 65536: must be between 0 (any free port) and 65535`},
		"webhook address": {func(c *config) { c.Server.Webhooks.BindAddress = "a:1" }, `server.webhooks.bindAddress: Invalid value: "a:1": must be an IP address or a host name`},
		"files": {func(c *config) {
			c.Server.Webhooks.Certificates = v1alpha1.CertificatesConfiguration{Mode: "Files", CertFile: "a", KeyFile: "b"}
		}, ""},
		"files, no names":  {func(c *config) { c.Server.Webhooks.Certificates.Mode = "Files" }, `server.webhooks.certificates.certFile: Required value: mode Files reads it; server.webhooks.certificates.keyFile: Required value: mode Files reads it`},
		"self, a file":     {func(c *config) { c.Server.Webhooks.Certificates.CertFile = "a" }, `server.webhooks.certificates.certFile: Forbidden: only mode Files reads it`},
		"bad certificates": {func(c *config) { c.Server.Webhooks.Certificates.Mode = "self" }, `server.webhooks.certificates.mode: Unsupported value: "self": supported values: "SelfManaged", "Files"`},

		"limit":           {limit(func(*v1alpha1.ResourceLimit) {}), ""},
		"limit, all":      {limit(func(l *v1alpha1.ResourceLimit) { l.APIGroups, l.Resources = []string{"*"}, []string{"*"} }), ""},
		"limit, count":    {limit(func(l *v1alpha1.ResourceLimit) { l.Size, l.Count = nil, new(int64(0)) }), ""},
		"limit, no group": {limit(func(l *v1alpha1.ResourceLimit) { l.APIGroups = nil }), `server.webhooks.resourceSize.limits[0].apiGroups: Required value: name a group; "" is the core group, "*" all of them`},
		"limit, nothing":  {limit(func(l *v1alpha1.ResourceLimit) { l.Resources = nil }), `server.webhooks.resourceSize.limits[0].resources: Required value: name a resource; "*" is all of them`},
		"limit, no name":  {limit(func(l *v1alpha1.ResourceLimit) { l.Resources = []string{""} }), `server.webhooks.resourceSize.limits[0].resources: Invalid value: [""]: a resource has a name`},
		"limit, none":     {limit(func(l *v1alpha1.ResourceLimit) { l.Size = nil }), `server.webhooks.resourceSize.limits[0].size: Required value: limit the size, the count, or both`},
		"limit, size -1":  {limit(func(l *v1alpha1.ResourceLimit) { l.Size = new(resource.MustParse("-1")) }), `server.webhooks.resourceSize.limits[0].size: Invalid value: "-1": must be greater than or equal to 0`},
		"limit, count -1": {limit(func(l *v1alpha1.ResourceLimit) { l.Count = new(int64(-1)) }), `server.webhooks.resourceSize.limits[0].count: Invalid value: -1: must be greater than or equal to 0`},
		"limit mode":      {func(c *config) { c.Server.Webhooks.ResourceSize.Mode = "block" }, `server.webhooks.resourceSize.mode: Unsupported value: "block": supported values: "Block", "Log"`},
		"limit, log":      {func(c *config) { c.Server.Webhooks.ResourceSize.Mode = "Log" }, ""},
		"subjects":        {unrestricted(rbacv1.Subject{Kind: "User", Name: "a"}, rbacv1.Subject{Kind: "Group", Name: "a"}, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "b", Name: "a"}), ""},
		"subject, robot":  {unrestricted(rbacv1.Subject{Kind: "ServiceAccount", Name: "a"}), `server.webhooks.resourceSize.unrestrictedSubjects[0].namespace: Required value: a ServiceAccount has one`},
		"subject, user":   {unrestricted(rbacv1.Subject{Kind: "User", Name: "a", Namespace: "b"}), `server.webhooks.resourceSize.unrestrictedSubjects[0].namespace: Forbidden: only a ServiceAccount has one`},
		"subject, empty":  {unrestricted(rbacv1.Subject{}), `server.webhooks.resourceSize.unrestrictedSubjects[0].name: Required value: name the user, the group or the service account; server.webhooks.resourceSize.unrestrictedSubjects[0].kind: Unsupported value: "": supported values: "User", "Group", "ServiceAccount"`},

		"volumes": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.StorageClassNames, l.PVCDeletionDelay, l.MaxMissingNodeFraction = []string{"fast", "slow.disks"}, duration(0), new(1.0)
		}), ""},
		"class":         {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.StorageClassNames = []string{"a", "-"} }), `controllers.localVolume.storageClassNames[1]: Invalid value: "-": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`},
		"class twice":   {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.StorageClassNames = []string{"a", "a"} }), `controllers.localVolume.storageClassNames[1]: Duplicate value: "a"`},
		"no keys":       {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.NodeTopologyKeys = []string{} }), `controllers.localVolume.nodeTopologyKeys: Required value: without one no volume names its node`},
		"bad key":       {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.NodeTopologyKeys = []string{"/a"} }), `controllers.localVolume.nodeTopologyKeys[0]: Invalid value: "/a": prefix part must be non-empty`},
		"unknown delay": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.UnknownNodeDeletionDelay = duration(-1) }), `controllers.localVolume.unknownNodeDeletionDelay: Invalid value: "-1ns": must be greater than or equal to 0s (0: never)`},
		"unreachable":   {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.UnreachableNodeDelay = duration(-1) }), `controllers.localVolume.unreachableNodeDelay: Invalid value: "-1ns": must be greater than or equal to 0s (0: never)`},
		"delay":         {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.PVCDeletionDelay = duration(-1) }), `controllers.localVolume.pvcDeletionDelay: Invalid value: "-1ns": must be greater than or equal to 0s`},
		"interval":      {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.StalePVDiscoveryInterval = duration(0) }), `controllers.localVolume.stalePVDiscoveryInterval: Invalid value: "0s": must be greater than 0s`},
		"fraction 0":    {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.MaxMissingNodeFraction = new(0.0) }), `controllers.localVolume.maxMissingNodeFraction: Invalid value: 0: must be greater than 0 and at most 1 (1: never stop)`},
		"fraction 1.1":  {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.MaxMissingNodeFraction = new(1.1) }), `controllers.localVolume.maxMissingNodeFraction: Invalid value: 1.1: must be greater than 0 and at most 1 (1: never stop)`},
		"fraction NaN":  {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.MaxMissingNodeFraction = new(math.NaN()) }), `controllers.localVolume.maxMissingNodeFraction: Invalid value: NaN: must be greater than 0 and at most 1 (1: never stop)`},
		"sources": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.VolumeSources, l.CSIDrivers = []v1alpha1.VolumeSource{"local", "hostPath"}, []v1alpha1.CSIDriver{{Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodeid"}, {Name: "zfs.csi.openebs.io", TopologyKey: "openebs.io/nodename"}}
			l.ReleaseCSIVolumes, l.DriverGracePeriod = new(true), duration(0)
		}), ""},
		"source": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.VolumeSources = []v1alpha1.VolumeSource{"nfs"} }), `controllers.localVolume.volumeSources[0]: Unsupported value: "nfs": supported values: "local", "hostPath"`},
		"source twice": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.VolumeSources = []v1alpha1.VolumeSource{"local", "local"}
		}), `controllers.localVolume.volumeSources[1]: Duplicate value: "local"`},
		"no source": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.VolumeSources = []v1alpha1.VolumeSource{} }), `controllers.localVolume.volumeSources: Required value: without a source or a CSI driver no volume is cleaned up; the default is local`},
		"no topology key": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.CSIDrivers = []v1alpha1.CSIDriver{{Name: "a", TopologyKey: "/a"}}
		}), `controllers.localVolume.csiDrivers[0].topologyKey: Invalid value: "/a": prefix part must be non-empty`},
		"driver twice": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.CSIDrivers = []v1alpha1.CSIDriver{{Name: "a", TopologyKey: "b"}, {Name: "a", TopologyKey: "b"}}
		}), `controllers.localVolume.csiDrivers[1]: Duplicate value: "a=b"`},
		"a driver with replicas": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) {
			l.CSIDrivers = []v1alpha1.CSIDriver{{Name: "driver.longhorn.io", TopologyKey: "kubernetes.io/hostname"}}
		}), `controllers.localVolume.csiDrivers[0].name: Forbidden: volumes of driver.longhorn.io are not lost with a node: Longhorn has replicas on other nodes, and rebuilds them`},
		"grace":           {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.DriverGracePeriod = duration(-1) }), `controllers.localVolume.driverGracePeriod: Invalid value: "-1ns": must be greater than or equal to 0s`},
		"release of none": {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.ReleaseCSIVolumes = new(true) }), `controllers.localVolume.csiDrivers: Required value: releaseCSIVolumes needs the CSI drivers whose volumes are released`},
		"threads 0":       {volumes(func(l *v1alpha1.LocalVolumeConfiguration) { l.WorkerThreads = new(int32(0)) }), `controllers.localVolume.workerThreads: Invalid value: 0: must be greater than 0`},

		"discovery": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.Image, d.AdminNamespaces = "registry.example:5000/discoverer@sha256:0123", []string{"a", "b"}
		}), ""},
		"no admins":       {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.AdminNamespaces = []string{} }), ""},
		"drain 0":         {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.DrainConcurrency = new(int32(0)) }), `controllers.discovery.drainConcurrency: Invalid value: 0: must be greater than 0`},
		"discovery image": {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.Image = "two words" }), `controllers.discovery.image: Invalid value: "two words": must be an image, for instance registry.example.com/groundskeeper-discoverer:v1`},
		"admin namespace": {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.AdminNamespaces = []string{"a.b"} }), `controllers.discovery.adminNamespaces[0]: Invalid value: "a.b": must not contain dots`},
		"other kind": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.OtherKinds = []v1alpha1.OtherKind{{Group: "networking.istio.io", Kind: "VirtualService", Resource: "virtualservices", Paths: []string{"spec.http[].route[].destination.host"}}}
		}), ""},
		"other kind that is supported": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.OtherKinds = []v1alpha1.OtherKind{{Group: "projectcontour.io", Kind: "HTTPProxy", Resource: "httpproxies", Paths: []string{"spec.a"}}}
		}), `controllers.discovery.otherKinds[0].group: Invalid value: "projectcontour.io": the kinds of this group that refer to Services are supported without configuration`},
		"other kind without paths": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.OtherKinds = []v1alpha1.OtherKind{{Group: "route.openshift.io", Kind: "Route", Resource: "routes"}}
		}), `controllers.discovery.otherKinds[0].paths: Required value: the fields with the name of a Service, for instance spec.to.name`},
		"other kind with a JSON path": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.OtherKinds = []v1alpha1.OtherKind{{Group: "route.openshift.io", Kind: "Route", Resource: "routes", Paths: []string{"{.spec.to.name}"}}}
		}), `controllers.discovery.otherKinds[0].paths[0]: Invalid value: "{.spec.to.name}": must be names of fields with dots between them, and brackets after those of lists, for instance spec.services[].name`},
		"keep nothing": {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.KeepRemovedReferences = &metav1.Duration{} }), ""},
		"keep for a negative time": {discovery(func(d *v1alpha1.DiscoveryConfiguration) {
			d.KeepRemovedReferences = &metav1.Duration{Duration: -time.Hour}
		}), `controllers.discovery.keepRemovedReferences: Invalid value: "-1h0m0s": must not be negative; 0s records no removed references`},
		"negative automatic maintenance": {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.MaxAutomaticMaintenance = new(int32(-1)) }),
			`controllers.discovery.maxAutomaticMaintenance: Invalid value: -1: must not be negative; 0 turns automatic maintenance off`},
		"admin namespace twice": {discovery(func(d *v1alpha1.DiscoveryConfiguration) { d.AdminNamespaces = []string{"a", "a"} }), `controllers.discovery.adminNamespaces[1]: Duplicate value: "a"`},

		"kluster": {kluster(func(k *v1alpha1.KlusterConfiguration) {
			k.Enabled, k.RouteGC.Interval, k.RouteGC.ConfirmAfter, k.RouteGC.MaxRemovalFraction = new(true), duration(time.Second), duration(0), new(1.0)
		}), ""},
		"kluster, syncs": {kluster(func(k *v1alpha1.KlusterConfiguration) { k.ConcurrentSyncs = new(int32(0)) }), `controllers.kluster.concurrentSyncs: Invalid value: 0: must be greater than 0`},
		"kluster, deorbit": {kluster(func(k *v1alpha1.KlusterConfiguration) {
			k.Deorbit = v1alpha1.DeorbitConfiguration{Timeout: duration(time.Second), StageTimeout: duration(time.Second), APIUnavailableTimeout: duration(time.Second), ServiceGracePeriod: duration(0), PollInterval: duration(time.Second)}
		}), ""},
		"kluster, whole":       {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.Timeout = duration(time.Second - 1) }), `controllers.kluster.deorbit.timeout: Invalid value: "999.999999ms": must be at least 1s`},
		"kluster, stage":       {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.StageTimeout = duration(0) }), `controllers.kluster.deorbit.stageTimeout: Invalid value: "0s": must be at least 1s`},
		"kluster, unavailable": {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.APIUnavailableTimeout = duration(-1) }), `controllers.kluster.deorbit.apiUnavailableTimeout: Invalid value: "-1ns": must be at least 1s`},
		"kluster, grace":       {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.ServiceGracePeriod = duration(-1) }), `controllers.kluster.deorbit.serviceGracePeriod: Invalid value: "-1ns": must be greater than or equal to 0s`},
		"kluster, drivers": {kluster(func(k *v1alpha1.KlusterConfiguration) {
			k.Deorbit.CSIDrivers = []string{"kubernetes.io/aws-ebs", "a b"}
		}), `controllers.kluster.deorbit.csiDrivers[1]: Invalid value: "a b": ` + strings.Join(names.IsQualifiedName("a b"), "; ")},
		"kluster, twice":       {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.CSIDrivers = []string{"a.b", "a.b"} }), `controllers.kluster.deorbit.csiDrivers[1]: Duplicate value: "a.b"`},
		"kluster, classes":     {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.LoadBalancerClasses = []string{"a", "a"} }), `controllers.kluster.deorbit.loadBalancerClasses[1]: Duplicate value: "a"`},
		"kluster, poll":        {kluster(func(k *v1alpha1.KlusterConfiguration) { k.Deorbit.PollInterval = duration(time.Second - 1) }), `controllers.kluster.deorbit.pollInterval: Invalid value: "999.999999ms": must be at least 1s`},
		"kluster, interval":    {kluster(func(k *v1alpha1.KlusterConfiguration) { k.RouteGC.Interval = duration(time.Second - 1) }), `controllers.kluster.routeGC.interval: Invalid value: "999.999999ms": must be at least 1s`},
		"kluster, confirm":     {kluster(func(k *v1alpha1.KlusterConfiguration) { k.RouteGC.ConfirmAfter = duration(-1) }), `controllers.kluster.routeGC.confirmAfter: Invalid value: "-1ns": must be greater than or equal to 0s`},
		"kluster, fraction 0":  {kluster(func(k *v1alpha1.KlusterConfiguration) { k.RouteGC.MaxRemovalFraction = new(0.0) }), ""},
		"kluster, fraction -1": {kluster(func(k *v1alpha1.KlusterConfiguration) { k.RouteGC.MaxRemovalFraction = new(-1.0) }), `controllers.kluster.routeGC.maxRemovalFraction: Invalid value: -1: must be at least 0 (each removal waits) and at most 1 (none is suspicious)`},
		"kluster, fraction":    {kluster(func(k *v1alpha1.KlusterConfiguration) { k.RouteGC.MaxRemovalFraction = new(math.NaN()) }), `controllers.kluster.routeGC.maxRemovalFraction: Invalid value: NaN: must be at least 0 (each removal waits) and at most 1 (none is suspicious)`},
		"kluster, qps":         {kluster(func(k *v1alpha1.KlusterConfiguration) { k.OpenStack.QPS = new(float32(0)) }), `controllers.kluster.openstack.qps: Invalid value: 0: must be greater than 0`},
		"kluster, burst":       {kluster(func(k *v1alpha1.KlusterConfiguration) { k.OpenStack.Burst = new(int32(0)) }), `controllers.kluster.openstack.burst: Invalid value: 0: must be greater than 0`},
		"cluster api": {kluster(func(k *v1alpha1.KlusterConfiguration) {
			k.Enabled, k.ClusterAPI.Enabled, k.ClusterAPI.Namespaces = new(true), new(true), []string{"clusters", "more"}
		}), ""},
		"cluster api, drain":  {kluster(func(k *v1alpha1.KlusterConfiguration) { k.ClusterAPI.DrainTimeout = duration(0) }), `controllers.kluster.clusterAPI.drainTimeout: Invalid value: "0s": must be at least 1s`},
		"cluster api, verify": {kluster(func(k *v1alpha1.KlusterConfiguration) { k.ClusterAPI.VerifyTimeout = duration(time.Second - 1) }), `controllers.kluster.clusterAPI.verifyTimeout: Invalid value: "999.999999ms": must be at least 1s`},
		"cluster api, alone":  {kluster(func(k *v1alpha1.KlusterConfiguration) { k.ClusterAPI.Enabled = new(true) }), `controllers.kluster.clusterAPI.enabled: Invalid value: true: requires the controllers of Klusters: set controllers.kluster.enabled to true`},
		"cluster api, twice":  {kluster(func(k *v1alpha1.KlusterConfiguration) { k.ClusterAPI.Namespaces = []string{"a", "a"} }), `controllers.kluster.clusterAPI.namespaces[1]: Duplicate value: "a"`},
		"kluster, timeout":    {kluster(func(k *v1alpha1.KlusterConfiguration) { k.OpenStack.Timeout = duration(0) }), `controllers.kluster.openstack.timeout: Invalid value: "0s": must be greater than 0s`},

		"service types": {translation(func(t *v1alpha1.TranslationConfiguration) { t.ServiceTypes = []corev1.ServiceType{} }), ""},
		"service type":  {translation(func(t *v1alpha1.TranslationConfiguration) { t.ServiceTypes = []corev1.ServiceType{"ExternalName"} }), `controllers.translation.serviceTypes[0]: Unsupported value: "ExternalName": supported values: "ClusterIP", "NodePort", "LoadBalancer"`},
		"type twice": {translation(func(t *v1alpha1.TranslationConfiguration) {
			t.ServiceTypes = []corev1.ServiceType{"NodePort", "NodePort"}
		}), `controllers.translation.serviceTypes[1]: Duplicate value: "NodePort"`},
		"node addresses": {translation(func(t *v1alpha1.TranslationConfiguration) {
			t.OVN.NodeAddressTypes = []corev1.NodeAddressType{"InternalIP", "ExternalIP"}
		}), ""},
		"node addresses, hostname": {translation(func(t *v1alpha1.TranslationConfiguration) {
			t.OVN.NodeAddressTypes = []corev1.NodeAddressType{"Hostname"}
		}), `controllers.translation.ovn.nodeAddressTypes[0]: Unsupported value: "Hostname": supported values: "InternalIP", "ExternalIP"`},
		"grace period 0":  {translation(func(t *v1alpha1.TranslationConfiguration) { t.NodeGracePeriod = duration(0) }), ""},
		"grace period -1": {translation(func(t *v1alpha1.TranslationConfiguration) { t.NodeGracePeriod = duration(-1) }), `controllers.translation.nodeGracePeriod: Invalid value: "-1ns": must be greater than or equal to 0s`},
		"push, mode":      {translation(func(t *v1alpha1.TranslationConfiguration) { t.Push.Mode = "dry-run" }), `controllers.translation.push.mode: Unsupported value: "dry-run": supported values: "repair", "observe", "plan"`},
		"push, threads":   {translation(func(t *v1alpha1.TranslationConfiguration) { t.Push.Concurrency = new(int32(0)) }), `controllers.translation.push.concurrency: Invalid value: 0: must be greater than 0`},
		"push, drift":     {translation(func(t *v1alpha1.TranslationConfiguration) { t.Push.DriftInterval = duration(time.Second - 1) }), `controllers.translation.push.driftInterval: Invalid value: "999.999999ms": must be at least 1s`},
		"push, orphans":   {translation(func(t *v1alpha1.TranslationConfiguration) { t.Push.Orphans = "keep" }), `controllers.translation.push.orphans: Unsupported value: "keep": supported values: "report", "delete"`},

		"midonet": {midonet(func(*v1alpha1.MidoNetConfiguration) {}), ""},
		"midonet, all": {midonet(func(m *v1alpha1.MidoNetConfiguration) {
			m.URL, m.Username, m.PasswordFile, m.Project = "https://10.0.0.1/midonet-api/", "a", "/b", "c"
		}), ""},
		"midonet, off":         {translation(func(t *v1alpha1.TranslationConfiguration) { t.MidoNet.Timeout = duration(time.Hour) }), ""},
		"midonet, no scheme":   {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.URL = "midonet:8181/midonet-api" }), `controllers.translation.midonet.url: Invalid value: "": must be a URL with http or https and a host, for instance http://midonet:8181/midonet-api`},
		"midonet, broken":      {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.URL = "http://me:secret@a b/midonet-api" }), `controllers.translation.midonet.url: Invalid value: "": must be a URL with http or https and a host, for instance http://midonet:8181/midonet-api`},
		"midonet, path":        {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.URL = "http://midonet:8181/" }), `controllers.translation.midonet.url: Invalid value: "http://midonet:8181/": must end in /midonet-api`},
		"midonet, query":       {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.URL = "http://midonet/midonet-api?a=b" }), `controllers.translation.midonet.url: Invalid value: "http://midonet/midonet-api?a=b": must end in /midonet-api`},
		"midonet, secret":      {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.URL = "http://me:secret@midonet/midonet-api" }), `controllers.translation.midonet.url: Invalid value: "http://me:xxxxx@midonet/midonet-api": must have no user and no password: use username and passwordFile`},
		"midonet, no password": {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.Username = "a" }), `controllers.translation.midonet.passwordFile: Required value: username is set: name the file that holds the password`},
		"midonet, no user":     {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.PasswordFile = "/a" }), `controllers.translation.midonet.username: Required value: passwordFile is set: set the user that it belongs to`},
		"midonet, timeout 0":   {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.Timeout = duration(0) }), `controllers.translation.midonet.timeout: Invalid value: "0s": must be greater than 0s`},
		"midonet, slow":        {midonet(func(m *v1alpha1.MidoNetConfiguration) { m.Timeout = duration(5 * time.Second) }), `controllers.translation.midonet.timeout: Invalid value: "5s": must be shorter than leaderElection.leaseDuration less renewDeadline, 5s: a write of a former leader must not land after another one began`},
		"midonet, alone": {func(c *config) {
			midonet(func(m *v1alpha1.MidoNetConfiguration) { m.Timeout = duration(5 * time.Second) })(c)
			c.LeaderElection.LeaderElect = new(false)
		}, ""},

		"ovn": {ovn(func(*v1alpha1.OVNConfiguration) {}), ""},
		"ovn, all": {ovn(func(o *v1alpha1.OVNConfiguration) {
			o.Endpoints, o.CAFile, o.CertFile, o.KeyFile = []string{"ssl:a:6641", "ssl:[2001:db8::1]:6641", "unix:/run/ovn/ovnnb_db.sock"}, "/a", "/b", "/c"
		}), ""},
		"ovn, scheme":                {ovn(func(o *v1alpha1.OVNConfiguration) { o.Endpoints = []string{"http://a:1"} }), `controllers.translation.ovn.endpoints[0]: Invalid value: "http://a:1": must be tcp:HOST:PORT, ssl:HOST:PORT or unix:/PATH, for instance ssl:ovn.example.com:6641`},
		"ovn, no port":               {ovn(func(o *v1alpha1.OVNConfiguration) { o.Endpoints = []string{"tcp:a"} }), `controllers.translation.ovn.endpoints[0]: Invalid value: "tcp:a": must be tcp:HOST:PORT, ssl:HOST:PORT or unix:/PATH, for instance ssl:ovn.example.com:6641`},
		"ovn, path":                  {ovn(func(o *v1alpha1.OVNConfiguration) { o.Endpoints = []string{"unix:a.sock"} }), `controllers.translation.ovn.endpoints[0]: Invalid value: "unix:a.sock": must be tcp:HOST:PORT, ssl:HOST:PORT or unix:/PATH, for instance ssl:ovn.example.com:6641`},
		"ovn, southbound":            {ovn(func(o *v1alpha1.OVNConfiguration) { o.SouthboundEndpoints = []string{"tcp:a:6642", "x"} }), `controllers.translation.ovn.southboundEndpoints[1]: Invalid value: "x": must be tcp:HOST:PORT, ssl:HOST:PORT or unix:/PATH, for instance ssl:ovn.example.com:6642`},
		"ovn, southbound without CA": {ovn(func(o *v1alpha1.OVNConfiguration) { o.SouthboundEndpoints = []string{"ssl:a:6642"} }), `controllers.translation.ovn.caFile: Required value: an endpoint has ssl: name the file with the certificates of its CA`},
		"ovn, twice":                 {ovn(func(o *v1alpha1.OVNConfiguration) { o.Endpoints = []string{"tcp:a:1", "tcp:a:1"} }), `controllers.translation.ovn.endpoints[1]: Duplicate value: "tcp:a:1"`},
		"ovn, no CA":                 {ovn(func(o *v1alpha1.OVNConfiguration) { o.Endpoints = []string{"ssl:a:1"} }), `controllers.translation.ovn.caFile: Required value: an endpoint has ssl: name the file with the certificates of its CA`},
		"ovn, no key":                {ovn(func(o *v1alpha1.OVNConfiguration) { o.CertFile = "/a" }), `controllers.translation.ovn.keyFile: Required value: certFile is set: name the file that holds the key of the certificate`},
		"ovn, only key":              {ovn(func(o *v1alpha1.OVNConfiguration) { o.KeyFile = "/a" }), `controllers.translation.ovn.certFile: Required value: keyFile is set: name the file that holds the certificate of the key`},
		"ovn, slow":                  {ovn(func(o *v1alpha1.OVNConfiguration) { o.Timeout = duration(5 * time.Second) }), `controllers.translation.ovn.timeout: Invalid value: "5s": must be shorter than leaderElection.leaseDuration less renewDeadline, 5s: a write of a former leader must not land after another one began`},
		"ovn and midonet": {func(c *config) {
			ovn(func(*v1alpha1.OVNConfiguration) {})(c)
			midonet(func(*v1alpha1.MidoNetConfiguration) {})(c)
		}, `controllers.translation.ovn.endpoints: Forbidden: midonet.url is set as well: configure one backend`},
		"backend, named": {func(c *config) {
			ovn(func(*v1alpha1.OVNConfiguration) {})(c)
			c.Controllers.Translation.Backend = "ovn"
		}, ""},
		"backend, other":  {translation(func(t *v1alpha1.TranslationConfiguration) { t.Backend = "calico" }), `controllers.translation.backend: Unsupported value: "calico": supported values: "midonet", "ovn"`},
		"backend, no ovn": {translation(func(t *v1alpha1.TranslationConfiguration) { t.Backend = "ovn" }), `controllers.translation.ovn.endpoints: Required value: backend is ovn`},
		"backend, no URL": {translation(func(t *v1alpha1.TranslationConfiguration) { t.Backend = "midonet" }), `controllers.translation.midonet.url: Required value: backend is midonet`},

		"days, the largest": {func(c *config) {
			c.Controllers.Project.MinimumLifetimeDays = new(int32(106751))
			c.Controllers.Project.StaleGracePeriodDays = new(int32(106751))
			c.Controllers.Project.StaleExpirationTimeDays = new(int32(106751))
		}, ""},
		"days, too many": {func(c *config) {
			c.Controllers.Project.MinimumLifetimeDays = new(int32(106752))
			c.Controllers.Project.StaleGracePeriodDays = new(int32(999999))
			c.Controllers.Project.StaleExpirationTimeDays = new(int32(math.MaxInt32))
		}, `controllers.project.minimumLifetimeDays: Invalid value: 106752: must be at most 106751; controllers.project.staleGracePeriodDays: Invalid value: 999999: must be at most 106751; controllers.project.staleExpirationTimeDays: Invalid value: 2147483647: must be at most 106751`},
		"durations, the longest": {func(c *config) {
			c.LeaderElection.LeaseDuration, c.Controllers.Kluster.Deorbit.Timeout = duration(400000*time.Hour), duration(400000*time.Hour)
		}, ""},
		"a lease of centuries": {func(c *config) {
			c.LeaderElection.LeaseDuration, c.LeaderElection.RenewDeadline, c.LeaderElection.RetryPeriod = duration(math.MaxInt64), duration(math.MaxInt64-1), duration(math.MaxInt64/4)
		}, `leaderElection.leaseDuration: Invalid value: "2562047h47m16.854775807s": must be at most 400000h; leaderElection.renewDeadline: Invalid value: "2562047h47m16.854775806s": must be at most 400000h; leaderElection.retryPeriod: Invalid value: "640511h56m49.213693951s": must be at most 400000h`},
		"workers": {func(c *config) {
			c.Controllers.Project.ConcurrentSyncs, c.Controllers.Kluster.ConcurrentSyncs = new(int32(10001)), new(int32(10001))
			c.Controllers.Translation.Push.Concurrency, c.Controllers.Discovery.DrainConcurrency, c.Controllers.LocalVolume.WorkerThreads = new(int32(10001)), new(int32(10001)), new(int32(10001))
		}, `controllers.project.concurrentSyncs: Invalid value: 10001: must be at most 10000; controllers.translation.push.concurrency: Invalid value: 10001: must be at most 10000; controllers.discovery.drainConcurrency: Invalid value: 10001: must be at most 10000; controllers.kluster.concurrentSyncs: Invalid value: 10001: must be at most 10000; controllers.localVolume.workerThreads: Invalid value: 10001: must be at most 10000`},

		"several problems": {func(c *config) {
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
