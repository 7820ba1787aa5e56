// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

const octaviaPath = "/load-balancer"

// TestOpenStackDiscoverer runs discoverers between a cloud and a cluster.
func TestOpenStackDiscoverer(t *testing.T) {
	t.Parallel()
	d := newOpenStackClusters(t)
	t.Run("together", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T){
			"life": d.cloudLife, "deleted while it is down": d.cloudDown, "unreachable": d.cloudUnreachable, "credentials": d.cloudCredentials,
			"projects": d.cloudProjects, "suspicious listing": d.cloudSuspicious, "maintenance": d.cloudMaintenance, "confined": d.cloudConfined, "pending": d.cloudPending,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t)
			})
		}
	})
	t.Run("rights", d.cloudPermissions)
}

// cloudLife: load balancers are created, changed and deleted.
func (d *clusters) cloudLife(t *testing.T) {
	v := d.discoverCloud(t, false)
	id, pool := v.balancer(v.ns, "10.1.0.1", "10.1.0.2")
	c := v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
	object := v.status("Synced")
	if *object.Status.Services != 1 || *object.Status.Endpoints != 2 || object.Status.LastSyncTime == nil {
		t.Errorf("status: %+v", object.Status)
	}
	before := v.versions()
	v.requested(3)
	v.unchanged("nothing changed", before)

	member := v.cloud.AddMember(pool, fake.Member{Address: "fd00::1", Port: 8081, Weight: 1})
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2 fd00::1")
	v.cloud.ChangeMember(member, func(m *fake.Member) { m.OperatingStatus = "ERROR" })
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2 fd00::1!")
	v.cloud.RemoveMember(member)
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
	second, _ := v.balancer(v.ns, "10.1.0.3")
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2", second+" 10.1.0.3")
	v.cloud.RemoveLoadBalancer(id)
	v.has(v.ns, second+" 10.1.0.3")
	finally(t, func(context.Context) error { // a gauge is set when the reconciliation ends, after its last write
		page, err := c.read("/metrics")
		if err != nil {
			return err
		}
		for _, want := range []string{
			`gimbal_discoverer_api_latency_milliseconds_count{backendname="` + v.name + `",backendtype="openstack",path="/load-balancer/v2.0/lbaas/pools/{id}/members"}`,
			`gimbal_discoverer_upstream_services_total{backendname="` + v.name + `",backendtype="openstack",namespace="` + v.ns + `"} 1`,
			`gimbal_discoverer_info{backendname="` + v.name + `",backendtype="openstack"`,
		} {
			if !strings.Contains(page, want) {
				return fmt.Errorf("metrics: no %s", want)
			}
		}
		return nil
	})
	if strings.Contains(c.stderrText(), cloudPassword) {
		t.Error("the log has the password")
	}
	c.terminate()
}

// cloudDown: what was deleted while no discoverer ran is deleted when one starts, and nothing else is written.
func (d *clusters) cloudDown(t *testing.T) {
	v := d.discoverCloud(t, false)
	absent, _ := v.balancer(v.ns, "10.1.0.1")
	stays, _ := v.balancer(v.ns, "10.1.0.2")
	c := v.run(cloudPassword)
	v.has(v.ns, absent+" 10.1.0.1", stays+" 10.1.0.2")
	v.status("Synced")
	c.terminate()
	before := v.versions()
	mine := v.service(v.name + "-mine")
	v.create(v.c, mine)
	v.cloud.RemoveLoadBalancer(absent)
	v.run(cloudPassword)
	v.has(v.ns, stays+" 10.1.0.2")
	maps.DeleteFunc(before, func(key, _ string) bool { return strings.Contains(key, absent) })
	v.unchanged("the others", before)
	if err := v.c.Get(t.Context(), client.ObjectKeyFromObject(mine), mine); err != nil {
		t.Error(err)
	}
}

// cloudUnreachable: while Octavia or Keystone does not respond everything remains unchanged, and the status reports so.
func (d *clusters) cloudUnreachable(t *testing.T) {
	v := d.discoverCloud(t, false)
	id, _ := v.balancer(v.ns, "10.1.0.1")
	v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1")
	v.status("Synced")
	before := v.versions()
	for _, fault := range []fake.Fault{
		{Path: octaviaPath, Status: http.StatusServiceUnavailable}, {Path: "/identity", Cut: fake.CutRequest}, {Path: octaviaPath + "/v2.0/lbaas/pools/", Status: http.StatusOK, Body: "{}"},
	} {
		v.cloud.Inject(fault)
		v.status(gimbalv1.ErrorConnection, gimbalv1.ErrorConnection)
		v.cloud.Heal()
		v.status("Synced")
	}
	v.unchanged("in the outages", before)
}

// cloudCredentials: tokens that end are no trouble, rejected credentials are reported, and a replica with better ones takes over.
func (d *clusters) cloudCredentials(t *testing.T) {
	v := d.discoverCloud(t, false)
	id, pool := v.balancer(v.ns, "10.1.0.1")
	first := v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1")
	v.cloud.RevokeTokens()
	v.cloud.AddMember(pool, fake.Member{Address: "10.1.0.2", Port: 8080, Weight: 1})
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
	v.status("Synced")

	const next = "correct-horse"
	before := v.versions()
	v.cloud.AddUser(cloudUser, next, v.ns)
	wrong := v.run("wrong")
	object := v.status("Synced", gimbalv1.ErrorAuthentication)
	if message := object.Status.Errors[0].Message; !strings.Contains(message, "the new discoverer cannot take over") {
		t.Errorf("message: %s", message)
	}
	if _, err := wrong.read("/readyz"); err == nil {
		t.Error("a discoverer without credentials is ready")
	}
	wrong.terminate()
	v.status("Synced")
	v.cloud.RevokeTokens()
	v.status(gimbalv1.ErrorAuthentication, gimbalv1.ErrorAuthentication)
	v.unchanged("refused", before)
	second := v.run(next)
	v.ready(second)
	first.terminate()
	v.cloud.AddMember(pool, fake.Member{Address: "10.1.0.3", Port: 8080, Weight: 1})
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2 10.1.0.3")
	v.status("Synced")
}

// cloudProjects: each project has its namespace; one without permissions keeps what it has while the others continue.
func (d *clusters) cloudProjects(t *testing.T) {
	v := d.discoverCloud(t, false)
	bank, blog := name(t, "bank"), name(t, "blog")
	v.makeNamespace(v.c, bank)
	v.cloud.AddProject(cloudUser, "id-of-bank", strings.ToUpper(bank))
	v.cloud.AddProject(cloudUser, "id-of-blog", blog)
	id, pool := v.balancer(v.ns, "10.1.0.1")
	other, otherPool := v.balancer("id-of-bank", "10.2.0.1")
	late, _ := v.balancer("id-of-blog", "10.3.0.1")
	c := v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1")
	v.has(bank, other+" 10.2.0.1")
	v.status("Incomplete", gimbalv1.ErrorNamespaceMissing)
	v.makeNamespace(v.c, blog)
	v.has(blog, late+" 10.3.0.1")
	v.status("Synced")

	v.cloud.ForbidProject("id-of-bank", true)
	object := v.status(gimbalv1.ErrorAuthentication, gimbalv1.ErrorAuthentication)
	if message := object.Status.Errors[0].Message; !strings.Contains(message, "(id-of-bank)") {
		t.Errorf("message: %s", message)
	}
	v.cloud.AddMember(otherPool, fake.Member{Address: "10.2.0.2", Port: 8080, Weight: 1})
	v.cloud.AddMember(pool, fake.Member{Address: "10.1.0.2", Port: 8080, Weight: 1})
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
	c.terminate()
	c = v.run(cloudPassword) // it has never listed the resources of the project
	v.ready(c)
	v.cloud.RemoveLoadBalancer(late)
	v.has(blog)
	v.has(bank, other+" 10.2.0.1")
	v.cloud.ForbidProject("id-of-bank", false)
	v.has(bank, other+" 10.2.0.1 10.2.0.2")
	v.status("Synced")
	c.terminate()

	c = v.run(cloudPassword, "--openstack-project-watchlist="+v.ns)
	v.has(bank)
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
	c.terminate()
}

// cloudSuspicious: a listing that lacks most is believed when a second one, ten seconds later, lacks the same.
func (d *clusters) cloudSuspicious(t *testing.T) {
	v := d.discoverCloud(t, false)
	var ids, copies []string
	for i := range 12 {
		address := fmt.Sprintf("10.1.0.%d", i+1)
		id, _ := v.balancer(v.ns, address)
		ids, copies = append(ids, id), append(copies, id+" "+address)
	}
	c := v.run(cloudPassword)
	v.has(v.ns, copies...)
	before := v.versions()
	v.cloud.Inject(fake.Fault{Path: octaviaPath + "/v2.0/lbaas/loadbalancers", Status: http.StatusOK, Body: `{"loadbalancers": []}`, Times: 1})
	c.message("A listing of the backend lacks most services")
	v.requested(13) // one per second
	v.unchanged("one wrong listing", before)
	for _, id := range ids[1:] {
		v.cloud.RemoveLoadBalancer(id)
	}
	v.has(v.ns, copies[0])
}

// cloudMaintenance: as long as the endpoints are withheld nothing gets ready, regardless of Octavia.
func (d *clusters) cloudMaintenance(t *testing.T) {
	v := d.discoverCloud(t, false)
	id, pool := v.balancer(v.ns, "10.1.0.1")
	v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1")
	withhold := func(yes bool) {
		eventually(t, func(ctx context.Context) error {
			object := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: v.admin, Name: v.name}}
			if err := v.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			object.Status.EndpointsDrained = yes
			return v.c.Status().Update(ctx, object)
		})
	}
	withhold(true)
	v.markWithheld()
	v.has(v.ns, id+" 10.1.0.1!")
	drained := v.cloud.AddMember(pool, fake.Member{Address: "10.1.0.2", Port: 8080})
	v.has(v.ns, id+" 10.1.0.1! 10.1.0.2!")
	withhold(false)
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2!") // it drains automatically
	v.cloud.ChangeMember(drained, func(m *fake.Member) { m.Weight = 1 })
	v.has(v.ns, id+" 10.1.0.1 10.1.0.2")
}

// markWithheld marks the slices as the controller does that withholds them, until the discoverer has followed.
func (v *clouded) markWithheld() {
	v.t.Helper()
	eventually(v.t, func(ctx context.Context) error {
		all := &discoveryv1.EndpointSliceList{}
		if err := v.c.List(ctx, all, client.InNamespace(v.ns), client.MatchingLabels{gimbalv1.LabelBackend: v.name}); err != nil {
			return err
		}
		for i := range all.Items {
			slice := &all.Items[i]
			if _, marked := slice.Annotations[desired.AnnotationWithheld]; !marked {
				metav1.SetMetaDataAnnotation(&slice.ObjectMeta, desired.AnnotationWithheld, "{}")
				if err := v.c.Update(ctx, slice); err != nil {
					return err
				}
				return errors.New("slice " + slice.Name + " was just marked")
			}
			for _, endpoint := range slice.Endpoints {
				if endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready {
					return errors.New("slice " + slice.Name + " is still ready")
				}
			}
		}
		return nil
	})
}

// cloudPending: a load balancer that Octavia is changing keeps its copy.
func (d *clusters) cloudPending(t *testing.T) {
	v := d.discoverCloud(t, false)
	id, pool := v.balancer(v.ns, "10.1.0.1")
	v.run(cloudPassword)
	v.has(v.ns, id+" 10.1.0.1")
	v.cloud.Hold(id)
	before := v.versions()
	v.cloud.RemovePool(pool)
	v.requested(3)
	v.unchanged("pending", before)
	v.cloud.Release(id)
	v.cloud.Settle()
	v.has(v.ns, id)
}

// cloudConfined: a backend outside the admin namespaces gets the project of its namespace, and requests no other.
func (d *clusters) cloudConfined(t *testing.T) {
	v := d.discoverCloud(t, true)
	other := name(t, "other")
	v.makeNamespace(v.c, other)
	v.cloud.AddProject(cloudUser, "id-of-other", other)
	v.balancer("id-of-other", "10.2.0.1")
	id, _ := v.balancer(v.ns, "10.1.0.1")
	v.run(cloudPassword, "--namespaces-allow="+v.ns)
	v.has(v.ns, id+" 10.1.0.1")
	v.status("Synced")
	v.has(other)
	for _, r := range v.requests(v.user(discoverer)) {
		if r.ObjectRef.Resource != "" && r.ObjectRef.Namespace != v.ns {
			t.Errorf("it requested to %s %s in namespace %q", r.Verb, r.ObjectRef.Resource, r.ObjectRef.Namespace)
		}
	}
}

// cloudPermissions: whatever discoverers requested in all these tests, they had permission to by artifacts/discovery.
func (d *clusters) cloudPermissions(t *testing.T) {
	v := &discovered{clusters: d, t: t}
	all := v.requests("system:serviceaccount:")
	for _, r := range all {
		if r.Annotations["authorization.k8s.io/decision"] == "forbid" {
			t.Errorf("%s may not %s %+v", r.User.Username, r.Verb, r.ObjectRef)
		}
	}
	if !slices.ContainsFunc(all, requests.isWriteOfCopy) {
		t.Error(errors.New("the audit log has no writes of copies"))
	}
}
