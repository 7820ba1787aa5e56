// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/drain"
	"groundskeeper.io/groundskeeper/test/plane"
)

// drainedBackend has the Services that start with "us-" drained. It implements drain.Backends.
type drainedBackend struct{}

func (drainedBackend) Of(service drain.Object) (string, bool) {
	backend, _, _ := strings.Cut(service.Name, "-")
	return backend, true
}

func (drainedBackend) FailsOver(types.NamespacedName) bool { return false }

func (drainedBackend) Share(backend, _ string) int {
	if backend == "us" {
		return 0
	}
	return 100
}
func (drainedBackend) ClusterOf(backend string) string { return backend }

func (drainedBackend) KeepsSole(string) bool { return false }

func (drainedBackend) Target(drain.Object, string) drain.Target { return drain.Target{} }

// TestMaintenanceWeightsPolicy checks artifacts/policies/maintenance-weights.yaml without controllers: a route that is written
// during maintenance is stored with weight 0 and a record of its weight, and other routes are not changed.
func TestMaintenanceWeightsPolicy(t *testing.T) {
	t.Parallel()
	started, err := startAudited(t.Context(), t, plane.Options{Dir: filepath.Join(t.TempDir(), "plane"), UnsafeNoFsync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := started.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	for _, args := range []string{
		"apply --server-side -f testdata/crds", "wait --for=condition=Established crd --all --timeout=60s", "apply -f ../../artifacts/policies/maintenance-weights.yaml",
	} {
		command := exec.CommandContext(t.Context(), started.Kubectl(), append(strings.Fields(args), "--kubeconfig", started.AdminKubeconfig())...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("kubectl %s: %v: %s", args, err, out)
		}
	}
	c := clientOf(t, started.Config())
	config, err := started.ConfigFor("system:serviceaccount:groundskeeper-system:groundskeeper-controller-manager", "system:masters")
	if err != nil {
		t.Fatal(err)
	}
	controller := clientOf(t, config)
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); err != nil {
		t.Fatal(err)
	}
	const (
		proxy   = "apiVersion: projectcontour.io/v1\nkind: HTTPProxy\nspec: {virtualhost: {fqdn: a.example.org%s}, "
		gateway = "apiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nspec: {"
	)
	for name, tc := range map[string]struct {
		before, forced string
		// list leads to the references, want are their weights, "-" for none.
		list []string
		want string
	}{
		"proxy": {
			fmt.Sprintf(proxy, "") + "routes: [{services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}]}", "",
			[]string{"spec", "routes", "services"}, "0 1",
		},
		"proxy-weights": {
			fmt.Sprintf(proxy, "") + "routes: [{services: [{name: us-web, port: 80, weight: 40}, {name: eu-web, port: 80, weight: 60}]}]}",
			fmt.Sprintf(proxy, "") + "routes: [{services: [{name: us-web, port: 80, weight: 90}, {name: eu-web, port: 80, weight: 10}, {name: us-web, port: 81, weight: 5}]}]}",
			[]string{"spec", "routes", "services"}, "0 10 5",
		},
		"proxy-tcp": {
			fmt.Sprintf(proxy, ", tls: {passthrough: true}") + "tcpproxy: {services: [{name: us-web, port: 80}, {name: eu-web, port: 80}]}}", "",
			[]string{"spec", "tcpproxy", "services"}, "0 1",
		},
		"proxy-moved": {
			fmt.Sprintf(proxy, "") + "routes: [{services: [{name: eu-web, port: 80}, {name: us-web, port: 80}]}]}",
			fmt.Sprintf(proxy, "") + "routes: [{services: [{name: own, port: 80, weight: 3}, {name: us-web, port: 80}, {name: eu-web, port: 80}]}]}",
			[]string{"spec", "routes", "services"}, "3 0 1",
		},
		"http-route": {
			gateway + "rules: [{backendRefs: [{name: us-web, port: 80, weight: 7}, {name: eu-web, port: 80, weight: 3}]}]}", "",
			[]string{"spec", "rules", "backendRefs"}, "0 3",
		},
		"http-route-import": {
			gateway + "rules: [{backendRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: us-web, port: 80, weight: 7}, {name: us-other, port: 80, weight: 3}, {name: eu-web, port: 80, weight: 1}]}]}", "",
			[]string{"spec", "rules", "backendRefs"}, "0 0 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			object := func(manifest string) *unstructured.Unstructured {
				t.Helper()
				parsed := &unstructured.Unstructured{}
				if err := yaml.Unmarshal([]byte(manifest), &parsed.Object); err != nil {
					t.Fatal(err)
				}
				parsed.SetNamespace("shop")
				parsed.SetName(name)
				return parsed
			}
			if tc.forced == "" {
				tc.forced = tc.before
			}
			route := object(tc.before)
			if err := c.Create(t.Context(), route); err != nil {
				t.Fatal(err)
			}
			for _, kind := range drain.Kinds() {
				if kind.Kind == route.GetKind() {
					if decision, err := kind.Rewrite(route, drainedBackend{}); err != nil || !decision.Write {
						t.Fatalf("%+v, %v", decision, err)
					}
				}
			}
			if err := controller.Update(t.Context(), route); err != nil {
				t.Fatal(err)
			}
			record := route.GetAnnotations()[gimbalv1.AnnotationSavedWeights]
			// A manifest as a tool has it: without the record.
			force := func(ctx context.Context, options ...client.UpdateOption) (*unstructured.Unstructured, error) {
				forced := object(tc.forced)
				forced.SetResourceVersion(route.GetResourceVersion())
				return forced, c.Update(ctx, forced, options...)
			}
			// Admission receives policies by a watch.
			eventually(t, func(ctx context.Context) error {
				forced, err := force(ctx, client.DryRunAll)
				if err == nil && forced.GetAnnotations() == nil {
					err = errors.New("the policy is not in force")
				}
				return err
			})
			forced, err := force(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := weightsAt(forced.Object, tc.list...); got != tc.want {
				t.Errorf("forced back, the weights are %s, want %s", got, tc.want)
			}
			if got := forced.GetAnnotations()[gimbalv1.AnnotationSavedWeights]; got != record {
				t.Errorf("the record is %s, want %s", got, record)
			}
			// The controller does what it likes.
			restored := object(tc.before)
			restored.SetResourceVersion(forced.GetResourceVersion())
			if err := controller.Update(t.Context(), restored); err != nil {
				t.Fatal(err)
			}
			if want := weightsAt(object(tc.before).Object, tc.list...); weightsAt(restored.Object, tc.list...) != want || restored.GetAnnotations() != nil {
				t.Errorf("restored, the weights are %s, want %s", weightsAt(restored.Object, tc.list...), want)
			}
		})
	}
}

// weightsAt returns the weights of all references at a path, through lists.
func weightsAt(node any, path ...string) string {
	switch node := node.(type) {
	case []any:
		var all []string
		for _, each := range node {
			all = append(all, weightsAt(each, path...))
		}
		return strings.Join(all, " ")
	case map[string]any:
		if len(path) > 0 {
			return weightsAt(node[path[0]], path[1:]...)
		}
		if weight, ok := node["weight"]; ok {
			return fmt.Sprint(weight)
		}
	}
	return "-"
}
