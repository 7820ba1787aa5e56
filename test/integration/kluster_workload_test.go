// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
	"groundskeeper.io/groundskeeper/test/plane"
)

// workloads is a plane whose controllers manage Klusters, and another one that is the workload cluster of one.
type workloads struct {
	*klusterPlane
	workload *plane.Plane
	w        client.WithWatch
}

// newWorkloads starts both. Route GC runs once an hour: an earlier run was triggered.
func newWorkloads(t *testing.T, controllers ...string) *workloads {
	t.Helper()
	d := &workloads{klusterPlane: newKlusterPlane(t), workload: newWorkloadPlane(t)}
	d.w = clientOf(t, d.workload.Config())
	config := write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
		"controllers: {"+strings.Join(append(controllers, "credentials: {allowPlainHTTP: true}", "kluster: {enabled: true, routeGC: {interval: 1h, confirmAfter: 1s}}"), ", ")+"}\n")
	if err := d.Managers[0].Restart(t.Context(), "--config="+config); err != nil {
		t.Fatal(err)
	}
	return d
}

// enroll registers the workload cluster, with a kubeconfig.
func (d *workloads) enroll(t *testing.T, name, kubeconfig string, change func(*kubernikusv1.Kluster)) (*kubernikusv1.Kluster, *corev1.Secret) {
	t.Helper()
	k := klusterIn(d.namespace, name, "1.36.3")
	change(k)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: name + "-secret"}, Data: map[string][]byte{
		"kubeconfig": d.read(t, kubeconfig),
		"clouds.yaml": []byte(`{clouds: {cloud: {auth: {auth_url: "` + d.cloud.AuthURL() +
			`", username: gardener, password: first, user_domain_name: Default, project_id: garden}}}}`),
	}}
	for _, object := range []client.Object{k, secret} {
		if err := d.c.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
	return k, secret
}

func (d *workloads) read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// metric reads a series of the manager; -1: it has none.
func (d *workloads) metric(ctx context.Context, series string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+d.Managers[0].Address()+"/metrics", http.NoBody)
	if err != nil {
		return 0, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close() //nolint:errcheck // it is only read
	page, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(page)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return -1, nil
}

// becomes waits until a series of the manager has a value.
func (d *workloads) becomes(t *testing.T, series string, want float64) {
	t.Helper()
	finally(t, func(ctx context.Context) error {
		got, err := d.metric(ctx, series)
		if err == nil && got != want {
			err = fmt.Errorf("%s is %v, want %v", series, got, want)
		}
		return err
	})
}

func (d *workloads) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := d.w.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	return node
}

func (d *workloads) lose(t *testing.T, nodes ...*corev1.Node) {
	t.Helper()
	for _, node := range nodes {
		if err := d.w.Delete(t.Context(), node); err != nil {
			t.Fatal(err)
		}
	}
}

// watched makes and loses nodes until one is missed: from then on each is.
func (d *workloads) watched(t *testing.T) {
	t.Helper()
	before, err := d.metric(t.Context(), deletedSeries)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	finally(t, func(ctx context.Context) error {
		number++
		d.lose(t, d.node(t, fmt.Sprint("probe-", number)))
		if now, err := d.metric(ctx, deletedSeries); err != nil || now == before {
			return fmt.Errorf("no node is missed: %w", err)
		}
		return nil
	})
}

const deletedSeries = "groundskeeper_kluster_nodes_gone_total"

// TestKlusterNodeDeleted checks that the deletion of a node triggers Route GC immediately, and that neither a restart of the API
// server nor a heartbeat does.
func TestKlusterNodeDeleted(t *testing.T) {
	t.Parallel()
	d := newWorkloads(t)
	server := d.cloud.AddServer("garden", d.network, "10.0.0.6", "ACTIVE")
	live, lost := fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}, fake.Route{Destination: "100.100.2.0/24", NextHop: "10.0.0.6"}
	third := fake.Route{Destination: "100.100.3.0/24", NextHop: "10.0.0.5"}
	d.cloud.SetRoutes(d.router, live, lost, third)
	node := d.node(t, "gone")
	many := make([]*corev1.Node, 0, 100)
	for i := range cap(many) {
		many = append(many, d.node(t, fmt.Sprint("many-", i)))
	}
	k, _ := d.enroll(t, "web", kubeconfigFor(t, d.workload, "groundskeeper-kluster", "kluster/workload/account.yaml", "kluster/workload/nodes.yaml"), func(*kubernikusv1.Kluster) {})
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")
	d.is(t, k, kubernikusv1.ConditionOpenStackReachable, "True/Reachable")
	d.watched(t)

	d.cloud.RemoveServer(server, false)
	d.lose(t, node)
	d.routesAre(t, live, third)
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")

	// A hundred nodes are one reconciliation, and another one if they do not go within its time.
	d.cloud.Requests()
	passes := func() (n int) {
		for _, request := range d.cloud.Requests() {
			if request.Path == "/compute/v2.1/servers/detail" {
				n++
			}
		}
		return n
	}
	before, err := d.metric(t.Context(), deletedSeries)
	if err != nil {
		t.Fatal(err)
	}
	d.lose(t, many...)
	d.becomes(t, deletedSeries, before+100)
	seen := 0
	eventually(t, func(context.Context) error {
		if seen += passes(); seen == 0 {
			return fmt.Errorf("no pass was made")
		}
		return nil
	})
	if seen > 3 {
		t.Errorf("%d passes", seen)
	}

	// An API server that is being deleted and comes back takes no node with it.
	keeper := d.node(t, "keeper")
	api := d.workload.KubeAPIServer
	before, err = d.metric(t.Context(), deletedSeries)
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.lose(t, keeper)
	d.becomes(t, deletedSeries, before+1)
	d.becomes(t, `groundskeeper_kluster_workload_sessions{purpose="nodes"}`, 1)

	// Paused, nothing is watched.
	d.edit(t, k, func() { metav1.SetMetaDataAnnotation(&k.ObjectMeta, "groundskeeper.io/paused", "true") })
	d.becomes(t, `groundskeeper_kluster_workload_sessions{purpose="nodes"}`, 0)
}

// TestKlusterSecretWakes checks that a Secret that is created or repaired triggers Route GC immediately.
func TestKlusterSecretWakes(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	config := write(t, "apiVersion: config.groundskeeper.io/v1alpha1\nkind: ControllerManagerConfiguration\n"+
		"controllers: {enabled: [kluster-routegc], credentials: {allowPlainHTTP: true}, kluster: {enabled: true, routeGC: {interval: 1h, confirmAfter: 1s}}}\n")
	if err := d.Managers[0].Restart(t.Context(), "--config="+config); err != nil {
		t.Fatal(err)
	}
	k := klusterIn(d.namespace, "web", "1.36.3")
	k.Spec.Openstack.RouterID = d.router
	if err := d.c.Create(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "Unknown/CredentialsInvalid")
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: d.namespace, Name: "web-secret"}, Data: map[string][]byte{
		"clouds.yaml": []byte(`{clouds: {cloud: {auth: {auth_url: "` + d.cloud.AuthURL() + `", username: gardener, password: wrong, user_domain_name: Default, project_id: garden}}}}`),
	}}
	if err := d.c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "Unknown/CredentialsRefused")
	d.edit(t, secret, func() {
		secret.Data["clouds.yaml"] = []byte(strings.ReplaceAll(string(secret.Data["clouds.yaml"]), "wrong", "first"))
	})
	d.is(t, k, kubernikusv1.ConditionRoutesClean, "True/NoOrphans")
}
