// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// TestDeletionNeedsConfirmation checks that no user, not even an administrator, can delete a Project or a Kluster without a
// confirmation, and that a deletion immediately after the confirmation succeeds even if another replica receives it.
func TestDeletionNeedsConfirmation(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "confirm")
	first, second := clientOf(t, shared.DirectConfig(0)), clientOf(t, shared.DirectConfig(1))
	for resource, object := range map[string]func() client.Object{
		"projects.core.gardener.cloud": func() client.Object {
			return &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name(t, "confirm")}}
		},
		"klusters.kubernikus.sap.cc": func() client.Object { return klusterIn(namespace, name(t, "k"), "1.36.3") },
	} {
		t.Run(resource, func(t *testing.T) {
			t.Parallel()
			for range rounds(t, 5) {
				o := object()
				if err := first.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}
				want := unconfirmed(resource, o.GetName())
				rejected(t, admin(t).Delete(t.Context(), o), want)
				rejected(t, second.Delete(t.Context(), o, client.DryRunAll), want)
				rejected(t, admin(t).Delete(t.Context(), o, client.PropagationPolicy(metav1.DeletePropagationForeground)), want)
				rejected(t, admin(t).Delete(t.Context(), o, client.Preconditions{UID: new(o.GetUID())}), want)
				if get(t, o); o.GetDeletionTimestamp() != nil {
					t.Fatal("it is being deleted")
				}
				if err := confirm(t.Context(), first, o); err != nil {
					t.Fatal(err)
				}
				if err := second.Delete(t.Context(), o); err != nil {
					t.Fatalf("confirmed and deleted immediately: %v", err)
				}
				// Without the confirmation now: another DELETE of what is going passes.
				accepted(t, client.IgnoreNotFound(withoutConfirmation(t, second, o)))
				accepted(t, client.IgnoreNotFound(first.Delete(t.Context(), o)))
			}
		})
	}
}

// withoutConfirmation takes a confirmation back.
func withoutConfirmation(t *testing.T, c client.Client, object client.Object) error {
	t.Helper()
	return c.Patch(t.Context(), copyOf(object), mergePatch(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":null}}}`))
}

// TestDeletionOfACollectionNeedsConfirmation checks that DELETECOLLECTION deletes all selected objects if all are confirmed, and
// none otherwise.
func TestDeletionOfACollectionNeedsConfirmation(t *testing.T) {
	t.Parallel()
	c, namespace := admin(t), freshNamespace(t, "collection")
	klusters := map[string]*kubernikusv1.Kluster{}
	for i, stage := range []string{"done", "done", "live"} {
		kluster := klusterIn(namespace, fmt.Sprintf("k%d", i), "1.36.3")
		kluster.Labels = map[string]string{"stage": stage}
		if err := c.Create(t.Context(), kluster); err != nil {
			t.Fatal(err)
		}
		if stage == "done" {
			accepted(t, confirm(t.Context(), c, kluster))
		}
		klusters[kluster.Name] = kluster
	}
	living := func(names ...string) {
		t.Helper()
		for _, name := range names {
			if get(t, klusters[name]); klusters[name].DeletionTimestamp != nil {
				t.Errorf("%s is being deleted", name)
			}
		}
	}
	everything := func(options ...client.DeleteAllOfOption) error {
		return c.DeleteAllOf(t.Context(), &kubernikusv1.Kluster{}, append(options, client.InNamespace(namespace))...)
	}
	want := unconfirmed("klusters.kubernikus.sap.cc", "k2")
	rejected(t, everything(), want)
	rejected(t, everything(client.DryRunAll), want)
	rejected(t, everything(client.MatchingFields{"metadata.name": "k2"}), want)
	rejected(t, everything(client.MatchingLabels{"stage": "live"}), want)
	living("k0", "k1", "k2")
	accepted(t, everything(client.MatchingLabels{"stage": "done"}, client.DryRunAll))
	living("k0", "k1", "k2")

	accepted(t, everything(client.MatchingLabels{"stage": "done"}))
	living("k2")
	for _, name := range []string{"k0", "k1"} {
		if get(t, klusters[name]); klusters[name].DeletionTimestamp == nil {
			t.Errorf("%s is not being deleted", name)
		}
	}
	rejected(t, everything(), want) // those that are being deleted do not confirm the live one
	accepted(t, confirm(t.Context(), c, klusters["k2"]))
	accepted(t, everything())

	projects := []string{name(t, "collection"), name(t, "collection")}
	for i, name := range projects {
		project := &gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"collection": namespace}}}
		accepted(t, c.Create(t.Context(), project))
		if i == 0 {
			accepted(t, confirm(t.Context(), c, project))
		}
	}
	ofTest := client.MatchingLabels{"collection": namespace}
	rejected(t, c.DeleteAllOf(t.Context(), &gardenerv1beta1.Project{}, ofTest), unconfirmed("projects.core.gardener.cloud", projects[1]))
	list := &gardenerv1beta1.ProjectList{}
	accepted(t, c.List(t.Context(), list, ofTest))
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp != nil {
			t.Errorf("project %s is being deleted", list.Items[i].Name)
		}
		accepted(t, remove(t.Context(), c, &list.Items[i]))
	}
}

// TestControllersNeedConfirmation checks that neither the namespace controller nor the garbage collector can delete a Kluster
// without a confirmation.
func TestControllersNeedConfirmation(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "controllers")
	kluster := klusterIn(namespace, "k", "1.36.3")
	accepted(t, admin(t).Create(t.Context(), kluster))
	user, groups := account("kube-system", "namespace-controller")
	namespaceController := as(t, user, groups...)
	user, groups = account("kube-system", "generic-garbage-collector")
	collector := as(t, user, groups...)

	want := unconfirmed("klusters.kubernikus.sap.cc", "k")
	rejected(t, namespaceController.DeleteAllOf(t.Context(), &kubernikusv1.Kluster{}, client.InNamespace(namespace)), want)
	rejected(t, collector.Delete(t.Context(), kluster, client.Preconditions{UID: &kluster.UID}), want)
	if get(t, kluster); kluster.DeletionTimestamp != nil {
		t.Fatal("it is being deleted")
	}
	accepted(t, confirm(t.Context(), admin(t), kluster))
	accepted(t, collector.Delete(t.Context(), kluster, client.Preconditions{UID: &kluster.UID}, client.DryRunAll))
	accepted(t, namespaceController.DeleteAllOf(t.Context(), &kubernikusv1.Kluster{}, client.InNamespace(namespace)))
	if get(t, kluster); kluster.DeletionTimestamp == nil {
		t.Error("it is not being deleted")
	}
}

// TestPluginsCanBeDisabled checks that each admission plugin can be disabled by its name.
func TestPluginsCanBeDisabled(t *testing.T) {
	t.Parallel()
	namespace := freshNamespace(t, "off")
	config, flags := thirdReplica(t)
	c := clientOf(t, serve(t, config, append(flags, "--disable-admission-plugins=DeletionConfirmation,TerminationProtection,CustomVerbAuthorizer")...).config)
	kluster := klusterIn(namespace, "k", "1.36.3")
	kluster.Annotations = map[string]string{kubernikusv1.TerminationProtectionAnnotation: "true", confirmedBy: "anybody"}
	accepted(t, c.Create(t.Context(), kluster))
	if kluster.Annotations[confirmedBy] != "anybody" {
		t.Errorf("annotations %v", kluster.Annotations)
	}
	if err := c.Delete(t.Context(), kluster, client.DryRunAll); err != nil {
		t.Errorf("without the plugins: %v", err)
	}
	if err := admin(t).Delete(t.Context(), kluster, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("on a server with the plugins: %v", err)
	}
}
