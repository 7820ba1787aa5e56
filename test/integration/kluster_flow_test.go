// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

// klusterPlane is a plane whose controllers manage Klusters, with a fake cloud. The workload cluster of each Kluster is the plane
// itself.
type klusterPlane struct {
	*plane.Plane
	c     client.WithWatch
	cloud *fake.Server
	// network is that of the nodes, router the one with the routes of all Klusters.
	network, router string
	namespace       string
}

func newKlusterPlane(t *testing.T, change ...func(*plane.Options)) *klusterPlane {
	t.Helper()
	dir := t.TempDir()
	audit := filepath.Join(dir, "audit.log")
	config := write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
		"controllers: {credentials: {allowPlainHTTP: true}, kluster: {enabled: true, routeGC: {interval: 2s, confirmAfter: 1s}}}\n")
	options := plane.Options{
		Dir: filepath.Join(dir, "plane"), APIServers: 1, Managers: 1, SharedEtcd: true, UnsafeNoFsync: true,
		KubeAPIServerFlags: []string{"--audit-policy-file=" + write(t, auditPolicy), "--audit-log-path=" + audit},
	}
	for _, f := range change {
		f(&options)
	}
	started, err := startAudited(t.Context(), t, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if err := checkPermissions(audit); err != nil {
			t.Error(err)
		}
	})
	d := &klusterPlane{Plane: started, c: clientOf(t, started.Config()), cloud: fake.New(fake.Options{}), namespace: "shop"}
	t.Cleanup(d.cloud.Close)
	d.cloud.AddUser("gardener", "first", "garden")
	d.network = d.cloud.AddNetwork("10.0.0.0/24")
	d.router = d.cloud.AddRouter("garden", d.network)
	d.cloud.AddServer("garden", d.network, "10.0.0.5", "ACTIVE")
	if err := d.c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: d.namespace}}); err != nil {
		t.Fatal(err)
	}
	apply := exec.CommandContext(t.Context(), d.Kubectl(), "--kubeconfig", d.AdminKubeconfig(), "apply", "-k", "../../artifacts/kluster")
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if err := d.Managers[0].Restart(t.Context(), "--config="+config); err != nil {
		t.Fatal(err)
	}
	return d
}

// version is that of the kube-apiserver of the plane.
func (d *klusterPlane) version(t *testing.T) string {
	t.Helper()
	served, err := discovery.NewDiscoveryClientForConfigOrDie(d.Config()).ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	return served.GitVersion
}

// register creates a Kluster and its Secret.
func (d *klusterPlane) register(t *testing.T, name, podRange string) (*kubernikusv1.Kluster, *corev1.Secret) {
	t.Helper()
	kubeconfig, err := os.ReadFile(d.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	k := klusterIn(d.namespace, name, strings.TrimPrefix(d.version(t), "v"))
	k.Spec.ClusterCIDR = new(podRange)
	k.Spec.CloudProvider = kubernikusv1.CloudProvider{ClusterName: &name, CSIClusterID: &name}
	clouds := `{clouds: {cloud: {auth: {auth_url: "` + d.cloud.AuthURL() + `", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name + "-secret"}, Data: map[string][]byte{
		"kubeconfig": kubeconfig, "clouds.yaml": []byte(clouds),
	}}
	for _, object := range []client.Object{k, secret} {
		if err := d.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return k, secret
}

// is waits until a condition of a Kluster is Status/Reason.
func (d *klusterPlane) is(t *testing.T, k *kubernikusv1.Kluster, kind, want string) {
	t.Helper()
	if err := within(t, 2*time.Minute, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
			return err
		}
		if c := meta.FindStatusCondition(k.Status.Conditions, kind); c != nil && string(c.Status)+"/"+c.Reason == want {
			return nil
		}
		return fmt.Errorf("conditions of %s: %+v", k.Name, k.Status.Conditions)
	}); err != nil {
		t.Fatal(err)
	}
}

// edit changes an objecteven if another client does so at the same time.
func (d *klusterPlane) edit(t *testing.T, object client.Object, how func()) {
	t.Helper()
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how()
		return d.c.Update(ctx, object)
	})
}

// routesAre waits until the router has exactly these.
func (d *klusterPlane) routesAre(t *testing.T, want ...fake.Route) {
	t.Helper()
	eventually(t, func(context.Context) error {
		if got := d.cloud.Routes(d.router); !slices.Equal(got, want) {
			return fmt.Errorf("the routes are %v", got)
		}
		return nil
	})
}

// TestKluster runs the lifecycle of a Kluster: registration, route cleanup, credential rotation, a conflict with another Kluster,
// and detachment.
func TestKluster(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	live, orphan := fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "100.100.2.0/24", NextHop: "10.0.0.6"}
	second, foreign := fake.Route{Destination: "100.100.3.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "192.168.0.0/24", NextHop: "10.0.0.77"}
	siblings := fake.Route{Destination: "100.101.1.0/24", NextHop: "10.0.0.5"}
	d.cloud.SetRoutes(d.router, live, orphan, second, foreign, siblings)

	k, secret := d.register(t, "web", "100.100.0.0/16")
	d.is(t, k, kubernikusv1.ConditionAPIServerReachable, "True/Reachable")
	d.is(t, k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	if k.Status.Phase != kubernikusv1.KlusterRunning || k.Status.ApiserverVersion != d.version(t) || k.RouterID() != d.router || k.Status.Openstack.LBSubnetID == "" {
		t.Errorf("status %+v, %+v", k.Status, k.Status.Openstack)
	}
	d.routesAre(t, live, second, foreign, siblings)
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")

	// Both controllers write conditions, and neither removes the other's.
	sibling, siblingSecret := d.register(t, "api", "100.101.0.0/16")
	d.is(t, sibling, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")
	d.is(t, sibling, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")

	// Credentials that Keystone does not take any more, and new ones.
	d.cloud.AddUser("gardener", "second", "garden")
	d.cloud.RevokeTokens()
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "Unknown/CredentialsRefused")
	for _, s := range []*corev1.Secret{secret, siblingSecret} {
		d.edit(t, s, func() {
			s.Data["clouds.yaml"] = []byte(`{clouds: {cloud: {auth: {auth_url: "` + d.cloud.AuthURL() +
				`", username: gardener, password: second, user_domain_name: Default, project_id: garden}}}}`)
		})
	}
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")

	// A route that comes back while nothing may be removed stays.
	d.edit(t, k, func() { k.Spec.RouteGC = &kubernikusv1.RouteGCSpec{DryRun: new(true)} })
	d.cloud.SetRoutes(d.router, live, orphan, second, foreign, siblings)
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "False/DryRun")
	if gc := k.Status.RouteGC; gc == nil || gc.OrphanCount != 1 || gc.Orphans[0].Destination != orphan.Destination || gc.Orphans[0].NextHop != orphan.NextHop ||
		gc.Orphans[0].Reason != kubernikusv1.OrphanNoPort || gc.Orphans[0].Since == nil || gc.Orphans[0].RemovalDue != nil {
		t.Errorf("status.routeGC = %+v, want the orphaned route without a time of its removal", gc)
	}
	d.routesAre(t, live, orphan, second, foreign, siblings)

	d.is(t, k, kubernikusv1.ConditionClusterUnique, "False/SameCluster") // the sibling leads to it as well
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionClusterUnique); !strings.Contains(c.Message, "that Groundskeeper runs in") {
		t.Errorf("message = %q, want the cluster of Groundskeeper in it", c.Message)
	}
	// The Secret stays as long as the Kluster. Nothing is done to the cluster that Groundskeeper runs in, until it is detached.
	for _, object := range []client.Object{secret, k} {
		if object == client.Object(k) {
			if err := confirm(t.Context(), d.c, k); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.c.Delete(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	d.is(t, k, kubernikusv1.ConditionDeorbited, "False/OwnCluster")
	d.edit(t, k, func() {
		metav1.SetMetaDataAnnotation(&k.ObjectMeta, kubernikusv1.TerminationProtectionAnnotation, "yes")
	})
	d.is(t, k, kubernikusv1.ConditionDeorbited, "Unknown/TerminationProtected")
	d.edit(t, k, func() { delete(k.Annotations, kubernikusv1.TerminationProtectionAnnotation) })
	d.is(t, k, kubernikusv1.ConditionDeorbited, "False/OwnCluster")
	if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(secret), secret); err != nil || secret.DeletionTimestamp.IsZero() {
		t.Fatalf("the Secret of a Kluster that is being deleted: %v, %v", err, secret.DeletionTimestamp)
	}
	d.edit(t, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, kubernikusv1.DetachAnnotation, "true") })
	for _, object := range []client.Object{k, secret} {
		eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, object) })
	}
	d.routesAre(t, live, orphan, second, foreign, siblings)
	d.is(t, sibling, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")

	// A Kluster without a kubeconfig or a cloud is deleted immediately.
	none := klusterIn(d.namespace, "none", "1.36.3")
	none.Spec.NoCloud = true
	if err := d.c.Create(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	if err := confirm(t.Context(), d.c, none); err != nil {
		t.Fatal(err)
	}
	if err := d.c.Delete(t.Context(), none); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, d.c, none) })
}
