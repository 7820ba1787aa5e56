// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/console"
)

// The page prompts as the commands do, and makes the same changes.
func TestConsoleActions(t *testing.T) {
	backend := &gimbalv1.DiscoveryBackend{ObjectMeta: metav1.ObjectMeta{Namespace: "gimbal-discovery", Name: "us"}}
	backend.Cluster.ClusterStatus = gimbalv1.ClusterEnabled
	backend.Status.Routes = &gimbalv1.RouteStatus{Matching: 3, WithoutAlternative: &gimbalv1.RouteNames{Count: 1, Names: []string{"HTTPProxy shop/web"}}}
	kluster := &kubernikusv1.Kluster{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-shop", Name: "web", UID: "u", Finalizers: []string{"example.com/hold"}}}
	kluster.Status.Conditions = []metav1.Condition{condition(kubernikusv1.ConditionOpenStackReachable, "True", "Reachable", "")}
	c, out := on(t, nil, backend, kluster)
	c.client = interceptor.NewClient(c.client, interceptor.Funcs{ // whether a manager runs is unknown, and the Kluster was probed
		Get: func(ctx context.Context, from client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, ok := object.(*coordinationv1.Lease); ok {
				return errForbidden
			}
			return from.Get(ctx, key, object, options...)
		},
	})
	actions := map[string]console.Action{}
	for _, a := range c.consoleActions() {
		actions[a.Name] = a
	}
	confirm := func(name string, object client.Object, preview, question string) {
		t.Helper()
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
		a := actions[name]
		if !a.Applies(object) {
			t.Fatalf("%s does not apply to %T", name, object)
		}
		q, err := a.Prompt(t.Context(), object)
		if err != nil || !strings.Contains(q.Preview, preview) || q.Question != question {
			t.Errorf("%s: question = %+v, %v, want %q and %q", name, q, err, preview, question)
		}
		if err := a.Do(t.Context(), object); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := c.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			t.Fatal(err)
		}
	}
	if actions["undrain"].Applies(backend) || actions["drain"].Applies(kluster) {
		t.Error("an action applies where there is nothing to do")
	}
	confirm("drain", backend, "1 of them have no other backend, and will RETURN ERRORS", "Take gimbal-discovery/us out of service?")
	if backend.Cluster.ClusterStatus != gimbalv1.ClusterMaintenance {
		t.Errorf("clusterStatus = %s, want Maintenance", backend.Cluster.ClusterStatus)
	}
	confirm("undrain", backend, "", "Bring gimbal-discovery/us back to service?")
	if backend.Cluster.ClusterStatus != gimbalv1.ClusterEnabled {
		t.Errorf("clusterStatus = %s, want Enabled", backend.Cluster.ClusterStatus)
	}
	stale := kluster.DeepCopy()
	confirm("deorbit", kluster, "DELETES the routes of its pods", "Delete Kluster garden-shop/web?")
	if kluster.DeletionTimestamp.IsZero() || kluster.Annotations[gardenerv1beta1.AnnotationConfirmDeletion] != "true" {
		t.Errorf("Kluster = %+v, want it confirmed and being deleted", kluster.ObjectMeta)
	}
	if !strings.Contains(out.String(), "deorbit of Klusters garden-shop/web was confirmed on the page") {
		t.Errorf("printed %q, want what was done", out)
	}
	stale.Annotations = map[string]string{kubernikusv1.TerminationProtectionAnnotation: "true"}
	if _, err := actions["deorbit"].Prompt(t.Context(), stale); err == nil || !strings.Contains(err.Error(), "protects it") {
		t.Errorf("question about a protected Kluster: %v, want an error", err)
	}
	stale.Annotations = nil
	if err := actions["deorbit"].Do(t.Context(), stale); err == nil {
		t.Error("a Kluster that was changed meanwhile was deleted")
	}
}
