// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/tools/clientcmd"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// kubeconfig is that of a cluster, changed.
func kubeconfig(t *testing.T, path string, change func(server *string, ca *[]byte)) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.Load(data)
	if err != nil {
		t.Fatal(err)
	}
	for _, cluster := range config.Clusters {
		change(&cluster.Server, &cluster.CertificateAuthorityData)
	}
	if data, err = clientcmd.Write(*config); err != nil {
		t.Fatal(err)
	}
	return data
}

// nowhere leads to a cluster that does not exist.
func (o *orbit) nowhere(t *testing.T) []byte {
	t.Helper()
	return kubeconfig(t, o.workload.AdminKubeconfig(), func(server *string, _ *[]byte) { *server = "https://127.0.0.1:1" })
}

// kept returns the volume and the snapshot of an outfit, which were never observed in the cluster: they stay.
func (d *craft) kept() []string {
	d.t.Helper()
	return []string{"Snapshot " + d.of("Snapshot"), "Volume " + d.of("Volume")}
}

// stuck makes a load balancer one that Octavia is about to change, indefinitely. It returns what ends that.
func (d *craft) stuck(id string) (loose func()) {
	d.t.Helper()
	set := func(status string) {
		control(d.t, nil, "sql", "octavia", "UPDATE load_balancer SET provisioning_status='"+status+"' WHERE id='"+id+"'")
	}
	d.t.Cleanup(func() { set("ACTIVE") })
	set("PENDING_UPDATE")
	return func() { set("ACTIVE") }
}

// selfDestruct ends the Deorbit immediately.
func (d *craft) selfDestruct() {
	d.t.Helper()
	d.annotate(kubernikusv1.SelfDestructAnnotation, kubernikusv1.SelfDestructNow)
}

// testBadCertificate checks that a cluster whose certificate has an unknown CA is not checked, and that OpenStack is cleaned up by
// names.
func testBadCertificate(t *testing.T, o *orbit) {
	config := kubeconfig(t, o.management.AdminKubeconfig(), func(_ *string, ca *[]byte) { *ca = o.workload.CA() })
	d := o.register(t, "certificate", config, nil)
	d.outfit()
	d.paths()
	kept := d.kept()
	d.leave()
	d.landed("Leftovers", kept...)
	d.reports("ClusterUnreachable", "certificate")
	for _, thing := range d.things() {
		if !listed(d.k.Status.Deorbit.Remaining, thing.kind, thing.id, neverSeen) {
			t.Errorf("remaining = %+v, want %s %s", d.k.Status.Deorbit.Remaining, thing.kind, thing.id)
		}
	}
}

// testStuckLoadBalancer checks that a load balancer that stays PENDING is listed when the Kluster is released nevertheless.
func testStuckLoadBalancer(t *testing.T, o *orbit) {
	d := o.register(t, "stuck", o.nowhere(t), nil)
	d.outfit()
	d.paths()
	balancer, left := d.of("LoadBalancer"), append(d.kept(), "SecurityGroup "+d.of("SecurityGroup"))
	d.stuck(balancer)
	d.leave()
	d.remains("LoadBalancer", balancer, "PENDING_UPDATE")
	d.selfDestruct()
	d.landed("Leftovers", append(left, "LoadBalancer "+balancer)...)
	if !listed(d.k.Status.Deorbit.Remaining, "LoadBalancer", balancer, "PENDING_UPDATE") {
		t.Errorf("remaining %+v", d.k.Status.Deorbit.Remaining)
	}
	d.reports("SelfDestruct", "")
	d.reports("Leftover", balancer)
}

// guest creates another user of the project. The returned function changes the user's password, and resets the token caches of the
// services that manage load balancers, which would accept a known token for minutes otherwise.
func (o *orbit) guest(t *testing.T) (user *api, revoke func()) {
	t.Helper()
	admin := realUser(t, "admin")
	user = o.home.in(t)
	user.user = fmt.Sprintf("test-%08x", rand.Uint32())
	path := "identity/users/" + admin.must(http.MethodPost, "identity/users", wrap("user", "name", user.user, "domain_id", "default", "password", user.password))["id"].(string)
	t.Cleanup(func() { admin.must(http.MethodDelete, path, nil) })
	o.home.in(t).grant(admin, user, "member", octaviaMember)
	return user, func() {
		t.Helper()
		user.password += "-2"
		admin.must(http.MethodPatch, path, wrap("user", "password", user.password))
		t.Cleanup(func() { control(t, nil, "up") })
		control(t, nil, "stop", "octavia-api")
		control(t, nil, "up")
	}
}

// held returns a Kluster whose Deorbit is in progress: its load balancer is stuck, and everything that does not wait for the load
// balancer has been deleted.
func (o *orbit) held(t *testing.T, name string, credentials map[string][]byte) (d *craft, loose func()) {
	t.Helper()
	d = o.register(t, name, nil, func(d *craft) {
		d.secret.Data = credentials
		d.secret.Data["kubeconfig"] = o.nowhere(t)
		d.k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
	})
	d.outfit()
	balancer := d.of("LoadBalancer")
	loose = d.stuck(balancer)
	d.leave()
	d.remains("LoadBalancer", balancer, "PENDING_UPDATE")
	within(t, "all that can go has been deleted", func() error {
		if left := d.things(); slices.ContainsFunc(left, func(t thing) bool { return t.kind == "Volume" || t.kind == "FloatingIP" }) {
			return fmt.Errorf("%+v", left)
		}
		return nil
	})
	return d, loose
}

// testRevokedCredentials checks that revoked credentials block Deorbit until the Secret has new ones; otherwise the timeout ends
// it, with a list of the last observed resources and a note that more may exist.
func testRevokedCredentials(t *testing.T, o *orbit) {
	user, revoke := o.guest(t)
	user.login()
	path, application := user.applicationCredential()
	mended, looseMended := o.held(t, "revoked", user.secret("", "", user.password).Data)
	renewed, looseRenewed := o.held(t, "application", application)
	lost, looseLost := o.held(t, "lost", user.secret("", "", user.password).Data)
	mended.paths()
	user.must(http.MethodDelete, path, nil)
	revoke()
	for _, d := range []*craft{mended, renewed, lost} {
		d.is(kubernikusv1.ConditionDeorbited, "False/CredentialsRefused")
	}
	looseMended()
	looseRenewed()
	looseLost()

	renewed.of("LoadBalancer") // Deorbit has no valid credentials to delete it
	if c := meta.FindStatusCondition(renewed.k.Status.Conditions, kubernikusv1.ConditionDeorbited); !strings.Contains(c.Message, remedy) {
		t.Errorf("message %q", c.Message)
	}
	user.relogin()
	_, application = user.applicationCredential()
	renewed.edit(renewed.secret, func() { renewed.secret.Data["clouds.yaml"] = application["clouds.yaml"] })
	renewed.landed("Deorbited")

	mended.of("LoadBalancer") // Deorbit has no valid credentials to delete it
	password := user.secret("", "", user.password).Data["openstack-password"]
	mended.edit(mended.secret, func() { mended.secret.Data["openstack-password"] = password })
	mended.landed("Deorbited")

	var left []string
	for _, thing := range lost.things() {
		left = append(left, thing.kind+" "+thing.id)
	}
	balancer := lost.of("LoadBalancer")
	lost.edit(lost.k, func() { lost.k.Spec.Deorbit.Timeout = during(time.Second) })
	lost.landed("Leftovers", left...)
	if all := lost.k.Status.Deorbit.Remaining; !listed(all, "LoadBalancer", balancer, "") || !listed(all, "Project", lost.projectID, "could not be checked") {
		t.Errorf("remaining %+v", all)
	}
	lost.reports("Leftover", "Project")
}

// testIdentityConflict checks that, of two Klusters with one name in a project, neither loses anything, because the owner is
// unknown.
func testIdentityConflict(t *testing.T, o *orbit) {
	twin := func(d *craft) {
		d.k.Spec.CloudProvider.ClusterName = new("twins-lb")
		d.k.Spec.Deorbit.UnseenVolumes = kubernikusv1.DeletionPolicyDelete
	}
	one, other := o.register(t, "castor", o.nowhere(t), twin), o.register(t, "pollux", nil, twin)
	for _, d := range []*craft{one, other} {
		d.outfit()
		d.paths()
	}
	one.had, other.had = one.things(), other.things()
	one.leave()
	one.is(kubernikusv1.ConditionDeorbited, "False/"+kubernikusv1.ReasonIdentityConflict)
	one.until("each thing of it is held", func() error {
		for _, thing := range one.had {
			if kind := thing.kind; kind != "Route" && !listed(one.k.Status.Deorbit.Remaining, kind, thing.id, "Kluster pollux/pollux has the same clusterName") {
				return fmt.Errorf("%s %s is not in %+v", kind, thing.id, one.k.Status.Deorbit.Remaining)
			}
		}
		return nil
	})
	if c := meta.FindStatusCondition(one.k.Status.Conditions, kubernikusv1.ConditionDeorbited); !strings.Contains(c.Message, "pollux/pollux") {
		t.Errorf("message %q", c.Message)
	}
	one.selfDestruct()
	var left []string
	for _, thing := range one.had {
		left = append(left, thing.kind+" "+thing.id)
	}
	one.landed("Leftovers", left...)
	one.unharmed(one)
	one.unharmed(other)
	if !slices.ContainsFunc(one.k.Status.Deorbit.Remaining, func(o kubernikusv1.DeorbitObject) bool { return o.Kind == "Route" }) {
		t.Errorf("no route in %+v", one.k.Status.Deorbit.Remaining)
	}
}
