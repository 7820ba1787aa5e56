// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// change is one thing done to a good backend, and fragments of the one error it must lead to; none: it is allowed.
type change struct {
	name   string
	mutate func(*gimbalv1.DiscoveryBackend)
	want   []string
}

func goodBackend() *gimbalv1.DiscoveryBackend {
	backend := &gimbalv1.DiscoveryBackend{
		ObjectMeta: metav1.ObjectMeta{
			Name: "openstack001", Namespace: "gimbal-discovery", ResourceVersion: "1", Generation: 1,
			Finalizers: []string{gimbalv1.FinalizerName},
		},
		Cluster: gimbalv1.Cluster{Type: gimbalv1.BackendOpenStack, Secret: "remote-discover-openstack"},
	}
	gimbalv1.Normalize(backend)
	return backend
}

// whole adds what the generated validation finds, as the server does.
func whole(t *testing.T, errs field.ErrorList, backend, old *gimbalv1.DiscoveryBackend, subresources ...string) field.ErrorList {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := gimbalv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	if old == nil {
		return append(errs, scheme.Validate(t.Context(), nil, backend, subresources...)...)
	}
	return append(errs, scheme.ValidateUpdate(t.Context(), nil, backend, old, subresources...)...)
}

func expect(t *testing.T, errs field.ErrorList, fragments []string) {
	t.Helper()
	if len(fragments) == 0 {
		if len(errs) != 0 {
			t.Errorf("rejected: %v", errs.ToAggregate())
		}
		return
	}
	if len(errs) != 1 {
		t.Fatalf("%d errors, want exactly one with %q: %v", len(errs), fragments, errs.ToAggregate())
	}
	for _, fragment := range fragments {
		if !strings.Contains(errs[0].Error(), fragment) {
			t.Errorf("error %q does not contain %q", errs[0], fragment)
		}
	}
}

// clusters returns the rules for the cluster, which apply to creation and changes.
func clusters() []change {
	cluster := func(mutate func(*gimbalv1.Cluster)) func(*gimbalv1.DiscoveryBackend) {
		return func(b *gimbalv1.DiscoveryBackend) { mutate(&b.Cluster) }
	}
	return []change{
		{"good", cluster(func(*gimbalv1.Cluster) {}), nil},
		{"maintenance", cluster(func(c *gimbalv1.Cluster) { c.ClusterStatus = "maintenance" }), nil},
		{"no type", cluster(func(c *gimbalv1.Cluster) { c.Type = "" }), []string{"cluster.type: Required value"}},
		{"unknown status", cluster(func(c *gimbalv1.Cluster) { c.ClusterStatus = "off" }),
			[]string{"cluster.clusterStatus: Unsupported value", `"Enabled"`, `"Maintenance"`}},
		{"unknown drain policy", cluster(func(c *gimbalv1.Cluster) { c.DrainPolicy = "Lax" }),
			[]string{"cluster.drainPolicy: Unsupported value", `"KeepSole"`, `"Strict"`}},
		{"unknown service policy", cluster(func(c *gimbalv1.Cluster) { c.ServicePolicy = "None" }),
			[]string{"cluster.servicePolicy: Unsupported value", `"All"`, `"Exported"`}},
		{"unknown zone policy", cluster(func(c *gimbalv1.Cluster) { c.ZonePolicy = "None" }),
			[]string{"cluster.zonePolicy: Unsupported value", `"Copy"`, `"Omit"`}},
		{"a cloud exports nothing", cluster(func(c *gimbalv1.Cluster) { c.Type, c.ServicePolicy = "openstack", "Exported" }),
			[]string{"cluster.servicePolicy: Invalid value", "set All"}},
		{"unknown missing policy", cluster(func(c *gimbalv1.Cluster) { c.Namespaces.Missing = "Fail" }),
			[]string{"cluster.namespaces.missing: Unsupported value", `"Create"`, `"Ignore"`, `"Wait"`}},

		{"credentials", cluster(func(c *gimbalv1.Cluster) { c.Secret, c.Credentials = "", "kubernetes001-kubecfg" }), nil},
		{"neither secret nor credentials", cluster(func(c *gimbalv1.Cluster) { c.Secret = "" }),
			[]string{"cluster.secret: Required value", "in cluster.secret or in cluster.credentials"}},
		{"both", cluster(func(c *gimbalv1.Cluster) { c.Credentials = "other" }),
			[]string{"cluster.credentials: Invalid value", "cluster.secret and cluster.credentials", "remove one"}},
		{"both the same", cluster(func(c *gimbalv1.Cluster) { c.Credentials = c.Secret }),
			[]string{"cluster.secret and cluster.credentials"}},
		{"secret is no name", cluster(func(c *gimbalv1.Cluster) { c.Secret = "a/b" }), []string{"cluster.secret: Invalid value"}},
		{"credentials is no name", cluster(func(c *gimbalv1.Cluster) { c.Secret, c.Credentials = "", "A" }),
			[]string{"cluster.credentials: Invalid value"}},

		{"interval 1", cluster(func(c *gimbalv1.Cluster) { c.RefreshInterval = new(int32(1)) }), nil},
		{"interval 0", cluster(func(c *gimbalv1.Cluster) { c.RefreshInterval = new(int32(0)) }),
			[]string{"cluster.refreshInterval: Invalid value", "greater than or equal to 1"}},
		{"interval below 0", cluster(func(c *gimbalv1.Cluster) { c.RefreshInterval = new(int32(-30)) }),
			[]string{"cluster.refreshInterval: Invalid value"}},

		{"grace period", cluster(func(c *gimbalv1.Cluster) { c.DrainGracePeriod = &metav1.Duration{Duration: time.Minute} }), nil},
		{"grace period below 0", cluster(func(c *gimbalv1.Cluster) { c.DrainGracePeriod = &metav1.Duration{Duration: -time.Second} }),
			[]string{"cluster.drainGracePeriod: Invalid value", `"-1s"`, "0s or longer"}},

		{"drain duration", cluster(func(c *gimbalv1.Cluster) { c.DrainDuration = &metav1.Duration{Duration: time.Hour} }), nil},
		{"drain duration below 0", cluster(func(c *gimbalv1.Cluster) { c.DrainDuration = &metav1.Duration{Duration: -time.Second} }),
			[]string{"cluster.drainDuration: Invalid value", `"-1s"`, "from 0s to 24h"}},
		{"automatic maintenance", cluster(func(c *gimbalv1.Cluster) {
			c.Maintenance = gimbalv1.MaintenancePolicy{Automatic: true, UnreachablePeriod: &metav1.Duration{Duration: time.Second}, StablePeriod: &metav1.Duration{}}
		}), nil},
		{"failover of Services", cluster(func(c *gimbalv1.Cluster) {
			c.Maintenance.Services = gimbalv1.ServiceMaintenancePolicy{Automatic: true, UnreadyPeriod: &metav1.Duration{Duration: time.Second}, StablePeriod: &metav1.Duration{}}
		}), nil},
		{"unready for no time", cluster(func(c *gimbalv1.Cluster) { c.Maintenance.Services.UnreadyPeriod = &metav1.Duration{} }),
			[]string{"cluster.maintenance.services.unreadyPeriod: Invalid value", `"0s"`, "from 1s to 24h"}},
		{"a Service that is stable for days", cluster(func(c *gimbalv1.Cluster) {
			c.Maintenance.Services.StablePeriod = &metav1.Duration{Duration: 48 * time.Hour}
		}),
			[]string{"cluster.maintenance.services.stablePeriod: Invalid value", `"48h0m0s"`, "from 0s to 24h"}},
		{"unreachable for no time", cluster(func(c *gimbalv1.Cluster) { c.Maintenance.UnreachablePeriod = &metav1.Duration{} }),
			[]string{"cluster.maintenance.unreachablePeriod: Invalid value", `"0s"`, "from 1s to 24h"}},
		{"stable for days", cluster(func(c *gimbalv1.Cluster) { c.Maintenance.StablePeriod = &metav1.Duration{Duration: 48 * time.Hour} }),
			[]string{"cluster.maintenance.stablePeriod: Invalid value", `"48h0m0s"`, "from 0s to 24h"}},
		{"drain duration of days", cluster(func(c *gimbalv1.Cluster) { c.DrainDuration = &metav1.Duration{Duration: 48 * time.Hour} }),
			[]string{"cluster.drainDuration: Invalid value", `"48h0m0s"`, "from 0s to 24h"}},

		{"addresses", cluster(func(c *gimbalv1.Cluster) { c.Addresses.Allow = []string{"10.0.0.0/8", "2001:db8::/32", "192.0.2.1/32"} }), nil},
		{"an address is no network", cluster(func(c *gimbalv1.Cluster) { c.Addresses.Allow = []string{"10.0.0.0/8", "10.1.2.3"} }),
			[]string{"cluster.addresses.allow[1]: Invalid value", "CIDR", "10.1.0.0/16"}},
		{"a network begins elsewhere", cluster(func(c *gimbalv1.Cluster) { c.Addresses.Allow = []string{"10.1.2.3/8"} }),
			[]string{"cluster.addresses.allow[0]: Invalid value", "write 10.0.0.0/8"}},
		{"a mapped network", cluster(func(c *gimbalv1.Cluster) { c.Addresses.Allow = []string{"::ffff:10.0.0.0/104"} }),
			[]string{"cluster.addresses.allow[0]: Invalid value", "IPv4"}},

		{"namespaces", cluster(func(c *gimbalv1.Cluster) {
			c.Namespaces.Allow, c.Namespaces.Deny = []string{"team-a", "1st"}, []string{"team-a"}
		}), nil},
		{"allow is no namespace", cluster(func(c *gimbalv1.Cluster) { c.Namespaces.Allow = []string{"a", "team-*"} }),
			[]string{"cluster.namespaces.allow[1]: Invalid value"}},
		{"deny is no namespace", cluster(func(c *gimbalv1.Cluster) { c.Namespaces.Deny = []string{""} }),
			[]string{"cluster.namespaces.deny[0]: Invalid value"}},
	}
}

func TestValidateDiscoveryBackend(t *testing.T) {
	name := func(name string) func(*gimbalv1.DiscoveryBackend) {
		return func(b *gimbalv1.DiscoveryBackend) { b.Name = name }
	}
	for _, tc := range append(clusters(), []change{
		{"unknown type", func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = "vmware" },
			[]string{"cluster.type: Unsupported value", `"kubernetes"`, `"openstack"`}},
		{"exported Services", func(b *gimbalv1.DiscoveryBackend) {
			b.Cluster.Type, b.Cluster.ServicePolicy = gimbalv1.BackendKubernetes, "exported"
		}, nil},
		{"name of one letter", name("u"), nil},
		{"name with dashes and digits", name("us-east--1"), nil},
		{"longest name", name(strings.Repeat("a", 40)), nil},
		{"name too long", name(strings.Repeat("a", 41)), []string{"metadata.name: Invalid value", "at most 40"}},
		{"capital", name("Us"), []string{"metadata.name: Invalid value", "lower-case"}},
		{"digit first", name("1us"), []string{"metadata.name: Invalid value", "start with a lower-case letter"}},
		{"dash last", name("us-"), []string{"metadata.name: Invalid value", "not end with a dash"}},
		{"dot", name("us.east"), []string{"metadata.name: Invalid value"}},
		{"line break", name("us\n"), []string{"metadata.name: Invalid value"}},
		{"generateName", func(b *gimbalv1.DiscoveryBackend) { b.GenerateName = "us-" }, nil},
		{"generateName too long", func(b *gimbalv1.DiscoveryBackend) { b.GenerateName = strings.Repeat("a", 41) },
			[]string{"metadata.generateName: Invalid value", "at most 40"}},
		{"no namespace", func(b *gimbalv1.DiscoveryBackend) { b.Namespace = "" }, []string{"metadata.namespace: Required value"}},
	}...) {
		t.Run(tc.name, func(t *testing.T) {
			backend := goodBackend()
			tc.mutate(backend)
			gimbalv1.Normalize(backend)
			expect(t, whole(t, ValidateDiscoveryBackend(backend), backend, nil), tc.want)
		})
	}
}

func TestValidateDiscoveryBackendUpdate(t *testing.T) {
	for _, tc := range append(clusters(), []change{
		{"type in another case", func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = "OpenStack" }, nil},
		{"another type", func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Type = gimbalv1.BackendKubernetes },
			[]string{"cluster.type: Invalid value", "cannot be changed from openstack", "create another"}},
		{"another secret", func(b *gimbalv1.DiscoveryBackend) { b.Cluster.Secret = "rotated" }, nil},
		{"another namespace", func(b *gimbalv1.DiscoveryBackend) { b.Namespace = "other" },
			[]string{"metadata.namespace: Invalid value", "immutable"}},
	}...) {
		t.Run(tc.name, func(t *testing.T) {
			old, backend := goodBackend(), goodBackend()
			tc.mutate(backend)
			gimbalv1.Normalize(backend)
			expect(t, whole(t, ValidateDiscoveryBackendUpdate(backend, old), backend, old), tc.want)
		})
	}
}

// An object that an older server or an import stored may break a rule. A change that does not touch the cluster is valid.
func TestValidateDiscoveryBackendUpdateAcceptsStoredObjects(t *testing.T) {
	stored := goodBackend()
	stored.Name = "1us"
	stored.Cluster.Credentials = "other"
	backend := stored.DeepCopy()
	backend.Finalizers = nil
	expect(t, whole(t, ValidateDiscoveryBackendUpdate(backend, stored), backend, stored), nil)
	backend.Cluster.Debug = true
	expect(t, whole(t, ValidateDiscoveryBackendUpdate(backend, stored), backend, stored), []string{"cluster.secret and cluster.credentials"})
}
