// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
	"groundskeeper.io/groundskeeper/test/support/kubetest"
)

// TestOptimisticPatch checks that a patch does not apply to an object that was written meanwhile.
func TestOptimisticPatch(t *testing.T) {
	before := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", ResourceVersion: "5"}}
	after := before.DeepCopy()
	after.Labels = map[string]string{"a": "b"}
	if data, err := optimistic(before).Data(after); err != nil || !strings.Contains(string(data), `"resourceVersion":"5"`) {
		t.Errorf("patch = %s, %v, want the version that was read", data, err)
	}
}

// TestTurn checks that permissions stay until workloads have been deleted.
func TestTurn(t *testing.T) {
	deployment := part{appsv1.SchemeGroupVersion.WithResource("deployments"), metav1.ObjectMeta{Name: "runs", UID: "1"}}
	role := part{rbacv1.SchemeGroupVersion.WithResource("clusterroles"), metav1.ObjectMeta{Name: "allows", UID: "2"}}
	if first, recreated := turn([]part{deployment, role}, nil); len(first) != 1 || first[0].Name != "runs" || len(recreated) > 0 {
		t.Errorf("turn of %v, recreated %v, want the workload only", first, recreated)
	}
}

// TestSecretsOfOthersStay checks that only the Secrets of announced Klusters are deleted.
func TestSecretsOfOthersStay(t *testing.T) {
	announced := labelled("v1", "Secret", "gimbal-discovery", "web")
	announced.Labels[clusterid.LabelUID] = "web"
	u, metadata := inCluster(t, nil, announced, labelled("v1", "Secret", "shop", "theirs"))
	if err := u.cleanSecrets(t.Context()); err != nil {
		t.Fatal(err)
	}
	if deleted := deletedNames(metadata); len(deleted) != 1 || deleted[0] != "web" {
		t.Errorf("deleted %q, want the Secret of the announced Kluster", deleted)
	}
}

// TestNamespacesOfOthersStay checks that only the namespaces of the installation are deleted.
func TestNamespacesOfOthersStay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		theirs := labelled("v1", "Namespace", "", "shop")
		theirs.Labels = nil
		u, metadata := inCluster(t, nil, labelled("v1", "Namespace", "", SystemNamespace), theirs)
		u.Client = kubetest.New(t)
		if _, err := u.deleteNamespaces(t.Context()); err != nil {
			t.Fatal(err)
		}
		if deleted := deletedNames(metadata); len(deleted) != 1 || deleted[0] != SystemNamespace {
			t.Errorf("deleted %q, want the namespace of the installation", deleted)
		}
	})
}

// TestTranslationsAreCleanedUp checks that the finalizer of a Translation stays for its controller, unless Translations are abandoned.
func TestTranslationsAreCleanedUp(t *testing.T) {
	for name, abandon := range map[string][]string{"cleaned up": nil, "abandoned": {Translations}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				translation := &midonetv1.Translation{ObjectMeta: named("shop", "pod", held(midonetv1.FinalizerName), going)}
				w := newWorld(t, translation)
				u, metadata := inCluster(t, nil)
				w.Metadata, w.Abandon = u.Metadata, abandon
				found := labelled(midonetv1.SchemeGroupVersion.String(), "Translation", "shop", "pod", held(midonetv1.FinalizerName), going)
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(translation), translation); err != nil {
					t.Fatal(err)
				}
				found.ResourceVersion = translation.ResourceVersion
				if err := metadata.Tracker().Add(found); err != nil {
					t.Fatal(err)
				}
				if _, err := w.deleteTranslations(t.Context()); err == nil {
					t.Fatal("it is gone for the client of metadata, which no controller changes")
				}
				if err := w.Get(t.Context(), client.ObjectKeyFromObject(translation), translation); err != nil {
					t.Fatal(err)
				}
				if kept := len(translation.Finalizers) == 2; kept != (abandon == nil) {
					t.Errorf("finalizers = %q", translation.Finalizers)
				}
			})
		})
	}
}

// TestServedAfterThePlan checks that nothing is removed when the API may have been served by now.
func TestServedAfterThePlan(t *testing.T) {
	u, _ := inCluster(t, nil)
	u.Client = kubetest.New(t)
	if _, err := u.mustNeverHaveServed(t.Context()); err == nil || !strings.Contains(err.Error(), "started after the plan was made") {
		t.Errorf("error = %v, want that the API may have been served", err)
	}
}
