// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster/announce"
)

// announcedRoute sends a part of its traffic to a service of the cluster.
const announcedRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: route}
spec:
  parentRefs: [{name: gateway}]
  rules:
  - backendRefs: [{name: web-page, port: 80, weight: 70}, {name: eu-page, port: 80, weight: 30}]
`

// announcement is a Kluster that is announced, and a route to it.
type announcement struct {
	*shop
	d       *klusterPlane
	k       *kubernikusv1.Kluster
	source  *corev1.Secret
	backend *gimbalv1.DiscoveryBackend
	secret  *corev1.Secret
	route   *unstructured.Unstructured
}

// TestAnnouncedKluster checks that the announcement of a Kluster is kept in sync, withdrawn, restored, and withdrawn permanently.
func TestAnnouncedKluster(t *testing.T) {
	t.Parallel()
	d := newKlusterPlane(t)
	a := &announcement{shop: &shop{drainPlane: &drainPlane{Plane: d.Plane, c: d.c}, T: t, namespace: d.namespace}, d: d}
	a.kubectl(t, "apply", "--server-side", "-f", "testdata/crds", "--field-manager=installer")
	a.kubectl(t, "wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
	a.k, a.source = d.register(t, "web", "100.100.0.0/16")
	d.edit(t, a.k, func() { a.k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true} })
	d.is(t, a.k, kubernikusv1.ConditionAnnounced, "True/Announced")
	a.backend = &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: "web"}}
	a.secret = &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: "web-discovery"}}
	for _, step := range []struct {
		name string
		take func(*announcement)
	}{
		{"made", (*announcement).made}, {"in sync", (*announcement).inSync}, {"name taken", (*announcement).nameTaken},
		{"change of mind", (*announcement).changeOfMind}, {"disabled", (*announcement).disabled}, {"torn down", (*announcement).tornDown},
	} {
		if !t.Run(step.name, func(t *testing.T) { a.T = t; step.take(a) }) {
			return
		}
	}
}

// has waits until something is true of the backend.
func (a *announcement) has(what string, is func(*gimbalv1.DiscoveryBackend) bool) {
	a.Helper()
	eventually(a.T, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(a.backend), a.backend); err != nil {
			return err
		}
		if !is(a.backend) {
			return fmt.Errorf("not %s: %+v, %+v", what, a.backend.Cluster, a.backend.Status.Conditions)
		}
		return nil
	})
}

// leads waits until the Secret of the backend has a kubeconfig.
func (a *announcement) leads(kubeconfig []byte) {
	a.Helper()
	eventually(a.T, func(ctx context.Context) error {
		if err := a.c.Get(ctx, client.ObjectKeyFromObject(a.secret), a.secret); err != nil {
			return err
		}
		if !bytes.Equal(a.secret.Data["config"], kubeconfig) {
			return errors.New("the Secret has another kubeconfig")
		}
		return nil
	})
}

func (a *announcement) made() {
	a.has("as announced", func(b *gimbalv1.DiscoveryBackend) bool {
		return b.Labels[clusterid.LabelNamespace] == a.namespace && b.Labels[clusterid.LabelName] == "web" && b.Labels[clusterid.LabelUID] == string(a.k.UID) &&
			b.Cluster.Type == gimbalv1.BackendKubernetes && b.Cluster.Secret == "web-discovery" && b.Cluster.ClusterStatus == gimbalv1.ClusterEnabled &&
			b.Cluster.DrainPolicy == gimbalv1.DrainStrict && len(b.OwnerReferences) == 0
	})
	a.leads(a.source.Data["kubeconfig"])
	if len(a.secret.Data) != 1 || len(a.secret.OwnerReferences) > 0 {
		a.Errorf("the Secret has %d keys, owners %v", len(a.secret.Data), a.secret.OwnerReferences)
	}
}

// Groundskeeper's fields are restored, changed values are synced, and the user's fields remain.
func (a *announcement) inSync() {
	a.d.edit(a.T, a.backend, func() {
		a.backend.Cluster.DrainPolicy, a.backend.Cluster.RefreshInterval, a.backend.Cluster.ClusterStatus = gimbalv1.DrainKeepSole, new(int32(60)), gimbalv1.ClusterMaintenance
	})
	a.has("brought back", func(b *gimbalv1.DiscoveryBackend) bool {
		return b.Cluster.DrainPolicy == gimbalv1.DrainStrict && *b.Cluster.RefreshInterval == 60 && b.Cluster.ClusterStatus == gimbalv1.ClusterMaintenance
	})
	a.d.edit(a.T, a.backend, func() { a.backend.Cluster.ClusterStatus = gimbalv1.ClusterEnabled })
	renewed := append([]byte("# renewed\n"), a.source.Data["kubeconfig"]...)
	a.d.edit(a.T, a.source, func() { a.source.Data["kubeconfig"] = renewed })
	a.leads(renewed)
	a.d.edit(a.T, a.secret, func() { a.secret.Data["config"] = []byte("drift") })
	a.leads(renewed)
	for _, object := range []client.Object{a.secret, a.backend} {
		before := object.GetUID()
		if err := a.c.Delete(a.Context(), object); err != nil {
			a.Fatal(err)
		}
		eventually(a.T, func(ctx context.Context) error {
			if err := a.c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return err
			}
			if object.GetUID() == before {
				return fmt.Errorf("%s is still there", object.GetName())
			}
			return nil
		})
	}
	a.d.edit(a.T, a.source, func() { a.source.Data["kubeconfig"] = []byte("{}") })
	a.d.is(a.T, a.k, kubernikusv1.ConditionAnnounced, "False/SecretInvalid")
	a.leads(renewed)
	a.d.edit(a.T, a.source, func() { a.source.Data["kubeconfig"] = renewed })
	a.d.is(a.T, a.k, kubernikusv1.ConditionAnnounced, "True/Announced")
}

// Names of backends are unique in all namespaces, and none begins with another one. What waits for one continues automatically.
func (a *announcement) nameTaken() {
	mine := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "page"}}
	mine.Cluster = gimbalv1.Cluster{Type: gimbalv1.BackendKubernetes, Secret: "none"}
	a.create(mine)
	page, _ := a.d.register(a.T, "page", "100.102.0.0/16")
	begins, _ := a.d.register(a.T, "web-1", "100.103.0.0/16")
	for _, k := range []*kubernikusv1.Kluster{page, begins} {
		a.d.edit(a.T, k, func() { k.Spec.Discovery = &kubernikusv1.DiscoverySpec{Enabled: true} })
		a.d.is(a.T, k, kubernikusv1.ConditionAnnounced, "False/NameTaken")
	}
	if message := meta.FindStatusCondition(begins.Status.Conditions, kubernikusv1.ConditionAnnounced).Message; !strings.Contains(message, discoveryNamespace+"/web") {
		a.Errorf("message: %s", message)
	}
	if err := a.c.Delete(a.Context(), mine); err != nil {
		a.Fatal(err)
	}
	a.d.is(a.T, page, kubernikusv1.ConditionAnnounced, "True/Announced")
	// A Kluster that was never announced is deleted immediately, including its Secret.
	for _, k := range []*kubernikusv1.Kluster{page, begins} {
		a.d.edit(a.T, k, func() { k.Spec.Discovery = nil })
		eventually(a.T, func(ctx context.Context) error { return a.withdrawn(ctx, k) })
	}
}

// withdrawn complains while anything is left of an announcement.
func (a *announcement) withdrawn(ctx context.Context, k *kubernikusv1.Kluster) error {
	for _, object := range []client.Object{
		&gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: k.Name}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: discoveryNamespace, Name: k.Name + "-discovery"}},
	} {
		if err := confirmDeleted(ctx, a.c, object); err != nil {
			return err
		}
	}
	if err := a.c.Get(ctx, client.ObjectKeyFromObject(k), k); err != nil {
		return client.IgnoreNotFound(err)
	}
	if c := meta.FindStatusCondition(k.Status.Conditions, kubernikusv1.ConditionAnnounced); c != nil && k.DeletionTimestamp.IsZero() {
		return fmt.Errorf("condition %+v", c)
	}
	return nil
}

// weights returns those of the route, as JSON.
func (a *announcement) weights() string {
	a.Helper()
	rules, _, _ := unstructured.NestedSlice(a.read(a.route).Object, "spec", "rules")
	references, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "backendRefs")
	weights := map[string]any{}
	for _, reference := range references {
		weights[reference.(map[string]any)["name"].(string)] = reference.(map[string]any)["weight"]
	}
	text, err := json.Marshal(weights)
	if err != nil {
		a.Fatal(err)
	}
	return string(text)
}

func (a *announcement) weigh(want string) {
	a.Helper()
	eventually(a.T, func(context.Context) error {
		if got := a.weights(); got != want {
			return fmt.Errorf("weights %s, want %s", got, want)
		}
		return nil
	})
}

// Disabled, its traffic moves to other backends. Enabled again before that is over, it has its traffic back.
func (a *announcement) changeOfMind() {
	eu := a.shop.backend(discoveryNamespace, "eu")
	a.service(a.backend, "web-page")
	a.service(eu, "eu-page")
	a.route = a.apply("user", announcedRoute)
	a.d.edit(a.T, a.backend, func() { a.backend.Cluster.DrainGracePeriod = &metav1.Duration{Duration: time.Hour} })
	a.d.edit(a.T, a.k, func() { a.k.Spec.Discovery.Enabled = false })
	a.d.is(a.T, a.k, kubernikusv1.ConditionAnnounced, "False/Withdrawing")
	a.weigh(`{"eu-page":30,"web-page":0}`)
	a.is(a.backend, "False/GracePeriod")
	a.d.edit(a.T, a.k, func() { a.k.Spec.Discovery.Enabled = true })
	a.d.is(a.T, a.k, kubernikusv1.ConditionAnnounced, "True/Announced")
	a.weigh(`{"eu-page":30,"web-page":70}`)
	a.is(a.backend, "False/Enabled")
}

// Disabled, and drained: nothing is left, in the routes neither.
func (a *announcement) disabled() {
	a.d.edit(a.T, a.backend, func() { a.backend.Cluster.DrainGracePeriod = nil })
	a.d.edit(a.T, a.k, func() { a.k.Spec.Discovery.Enabled = false })
	eventually(a.T, func(ctx context.Context) error { return a.withdrawn(ctx, a.k) })
	a.weigh(`{"eu-page":30}`)
}

// Deorbit withdraws it in the same way, with the permissions of the controller manager.
func (a *announcement) tornDown() {
	a.d.edit(a.T, a.k, func() { a.k.Spec.Discovery.Enabled = true })
	a.d.is(a.T, a.k, kubernikusv1.ConditionAnnounced, "True/Announced")
	a.has("announced again", func(*gimbalv1.DiscoveryBackend) bool { return true })
	a.service(a.backend, "web-page") // the first one was deleted with the backend
	a.edit(a.route, func(route *unstructured.Unstructured) {
		route.Object["spec"] = a.parse(announcedRoute).Object["spec"]
	})
	if err := confirm(a.Context(), a.c, a.k); err != nil {
		a.Fatal(err)
	}
	if err := a.c.Delete(a.Context(), a.k); err != nil {
		a.Fatal(err)
	}
	config := rest.CopyConfig(a.Config())
	user, groups := account("groundskeeper-system", "groundskeeper-controller-manager")
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: append(groups, "system:authenticated")}
	manager := clientOf(a.T, config)
	eventually(a.T, func(ctx context.Context) error {
		report, err := announce.Withdraw(ctx, manager, manager, a.k)
		if err == nil && len(report.Remaining) > 0 {
			err = fmt.Errorf("remaining: %+v", report.Remaining)
		}
		return err
	})
	if err := a.withdrawn(a.Context(), a.k); err != nil {
		a.Error(err)
	}
	a.weigh(`{"eu-page":30}`)
}
