// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/clusterapi/desired"
	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// grant grants a user verbs in the namespace of the Cluster.
func (a *capi) grant(user, group, resource string, verbs ...string) {
	a.t.Helper()
	meta := metav1.ObjectMeta{Namespace: a.namespace, Name: strings.Join(append([]string{user, resource}, verbs...), "-")}
	for _, object := range []client.Object{
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		},
	} {
		if err := a.c.Create(a.t.Context(), object); err != nil {
			a.t.Fatal(err)
		}
	}
}

// checkAuthorization checks who may select Clusters, deselect them, and name what they have in OpenStack.
func (a *capi) checkAuthorization() {
	t := a.t
	t.Helper()
	a.grant("anna", desired.Group, "clusters", "get", "create", "update")
	config := rest.CopyConfig(a.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: "anna"}
	anna := clientOf(t, config)
	plain := a.object("{apiVersion: cluster.x-k8s.io/VERSION, kind: Cluster, metadata: {name: plain, namespace: %s}, spec: {paused: false}}", a.namespace)
	with := func(change func(*unstructured.Unstructured)) *unstructured.Unstructured {
		changed := plain.DeepCopy()
		change(changed)
		return changed
	}
	selected := func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{desired.Selection: "true"}) }
	named := func(o *unstructured.Unstructured) {
		o.SetAnnotations(map[string]string{desired.AnnotationCSIClusterID: "other"})
	}
	deselected := func(o *unstructured.Unstructured) {
		o.SetLabels(map[string]string{desired.Selection: "true"})
		o.SetAnnotations(map[string]string{desired.Selection: "false"})
	}
	moved := func(o *unstructured.Unstructured) {
		annotations := o.GetAnnotations()
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[desired.AnnotationDeleteForMove] = ""
		o.SetAnnotations(annotations)
	}
	rejected := func(what, verb string, err error) error {
		if !apierrors.IsForbidden(err) || !strings.Contains(fmt.Sprint(err), verb) {
			return fmt.Errorf("%s: %w, want a rejection that names %q", what, err, verb)
		}
		return nil
	}
	const create, detach = "allowed to create Klusters", "the verb detach"
	// The policy takes effect some time after it was created.
	eventually(t, func(ctx context.Context) error {
		return rejected("a selected Cluster", create, anna.Create(ctx, with(selected), client.DryRunAll))
	})
	if err := anna.Create(t.Context(), plain); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*unstructured.Unstructured){"a label": selected, "a name": named} {
		if err := rejected(what, create, anna.Update(t.Context(), with(change), client.DryRunAll)); err != nil {
			t.Error(err)
		}
	}
	if err := anna.Update(t.Context(), with(func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"a": "b"}) }), client.DryRunAll); err != nil {
		t.Errorf("another label: %v", err)
	}
	a.grant("anna", kubernikusv1.GroupName, "klusters", "create")
	eventually(t, func(ctx context.Context) error { return anna.Update(ctx, with(selected)) })
	if err := a.c.Get(t.Context(), client.ObjectKeyFromObject(plain), plain); err != nil {
		t.Fatal(err)
	}
	for what, change := range map[string]func(*unstructured.Unstructured){"a deselection": deselected, "a move": moved} {
		if err := rejected(what, detach, anna.Update(t.Context(), with(change), client.DryRunAll)); err != nil {
			t.Error(err)
		}
	}
	a.grant("anna", kubernikusv1.GroupName, "klusters", "detach")
	for _, change := range []func(*unstructured.Unstructured){deselected, moved} {
		eventually(t, func(ctx context.Context) error { return anna.Update(ctx, with(change), client.DryRunAll) })
	}
	a.remove(plain)
}

// clear removes what is left of a Cluster that does not exist any more, as its controllers would.
func (a *capi) clear(infrastructure *unstructured.Unstructured, machines ...*unstructured.Unstructured) {
	a.t.Helper()
	a.finalize(infrastructure, infrastructureFinalizer)
	a.remove(infrastructure)
	for _, m := range machines {
		a.finalize(m, machineFinalizer)
		a.remove(m)
	}
}

// Only users who are allowed to create Klusters select Clusters, and nothing is deleted of a cluster whose Cluster is removed by force, or with
// the definition of all Clusters.
func TestClusterAPIGuards(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	if err := d.Managers[0].Restart(t.Context(), "--config="+write(t, clusterAPIConfig)); err != nil {
		t.Fatal(err)
	}
	a := d.serve(t, "v1beta2")
	a.checkAuthorization()
	a.secrets(nil)
	route := fake.Route{Destination: "100.100.1.0/24", NextHop: "10.0.0.5"}
	d.cloud.SetRoutes(d.router, route)
	unchanged := func(when string) {
		t.Helper()
		if routes := d.cloud.Routes(d.router); !slices.Equal(routes, []fake.Route{route}) {
			t.Errorf("%s: routes = %v", when, routes)
		}
	}

	cluster, infrastructure, machines := a.cluster(`groundskeeper.io/deorbit: "true"`, "web-cp")
	k := a.kluster()
	a.held(true, false, true, infrastructure, machines...)
	a.remove(cluster)
	a.held(true, true, true, infrastructure)
	a.finalize(cluster, clusterFinalizer)
	a.replaced(k)
	a.held(false, false, false, infrastructure, machines...)
	unchanged("removed by force")
	a.clear(infrastructure, machines...)

	cluster, infrastructure, machines = a.cluster(`groundskeeper.io/deorbit: "true"`, "web-cp")
	k = a.kluster()
	a.held(true, false, true, infrastructure, machines...)
	d.is(t, k, kubernikusv1.ConditionClusterAPI, "True/Synced")
	definition := a.object("{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: clusters.cluster.x-k8s.io}}")
	a.remove(definition)
	d.is(t, k, kubernikusv1.ConditionClusterAPI, "False/ClustersDismantled")
	a.held(true, false, true, infrastructure, machines...)
	a.finalize(cluster, clusterFinalizer)
	eventually(t, func(ctx context.Context) error {
		if err := d.c.Get(ctx, client.ObjectKeyFromObject(definition), definition); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the definition: %w", err)
		}
		return nil
	})
	// The Kluster of a Cluster that does not exist any more is detached, unless Cluster API is not served before that.
	if err := d.c.Get(t.Context(), client.ObjectKeyFromObject(k), k); client.IgnoreNotFound(err) != nil || err == nil && !k.DeletionTimestamp.IsZero() && !k.Detached() {
		t.Errorf("%v, Kluster = %+v", err, k.ObjectMeta)
	}
	unchanged("dismantled")
}
