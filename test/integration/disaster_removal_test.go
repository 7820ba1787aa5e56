// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// testAPIIsRemoved: the API is removed at a random moment after a Project was created, as kubectl delete -k, a GitOps prune or a
// deletion of the APIServices manually do. An API that is not registered responds 404, which the garbage collector takes for a
// deleted owner. Nothing of a tenant is deleted because of that. SOAK sets the number of rounds.
func (l *losses) testAPIIsRemoved(t *testing.T) {
	const longest = 30 * time.Second
	for round := range rounds(t, 2) {
		project := l.create(t, "removal")
		namespace := &corev1.Namespace{}
		eventually(t, func(ctx context.Context) error {
			if err := l.client.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
				return err
			}
			return l.client.Get(ctx, client.ObjectKey{Name: project.NamespaceName()}, namespace)
		})
		content := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name, Name: "tenant"}}
		if err := l.client.Create(t.Context(), content); err != nil {
			t.Fatal(err)
		}
		// The first removal is immediately: then the garbage collector has not observed the Project yet.
		moment := time.Duration(0)
		if round > 0 {
			moment = rand.N(longest) / time.Duration(1+rand.IntN(10))
		}
		select {
		case <-t.Context().Done():
		case <-time.After(moment):
		}
		registrations := l.unregister(t)
		if err := errors.Join(l.Managers[0].Stop(t.Context()), l.server.Stop(t.Context())); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			l.collectorWorks(t)
		}
		for _, object := range []client.Object{namespace, content} {
			if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil || !object.GetDeletionTimestamp().IsZero() {
				t.Errorf("round %d, removed after %s: %T %s is deleted at %v, %v", round, moment, object, object.GetName(), object.GetDeletionTimestamp(), err)
			}
		}
		l.register(t, registrations)
		restart(t, l.server)
		restart(t, l.Managers[0])
		l.ready(t, project)
		l.removed(t, project)
	}
}

// testAPIIsLost: while the API server is lost, no namespace is deleted. The plugin reports why, and frees the cluster; no namespace of
// a tenant is deleted, and everything works when the API is registered again.
func (l *losses) testAPIIsLost(t *testing.T) {
	registrations := l.registrations(t)
	if err := l.server.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	stuck := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stuck"}}
	if err := errors.Join(l.client.Create(t.Context(), stuck), l.client.Delete(t.Context(), stuck)); err != nil {
		t.Fatal(err)
	}
	eventually(t, func(ctx context.Context) error {
		out, err := l.plugin(ctx, "why", "namespace/stuck")
		for _, want := range []string{"the API of Groundskeeper is unavailable", "uninstall --force-unregister", "list Klusters: "} {
			if !strings.Contains(out, want) {
				return fmt.Errorf("why prints %q, %w, want %q in it", out, err, want)
			}
		}
		return nil
	})
	if out, err := l.plugin(t.Context(), "uninstall", "--yes"); err == nil || !strings.Contains(out, "kubectl groundskeeper uninstall --force-unregister") {
		t.Errorf("uninstall: %v, %s, want the command that frees the cluster", err, out)
	}
	if out, err := l.plugin(t.Context(), "uninstall", "--force-unregister", "--yes"); err != nil || strings.Count(out, "has been deleted") != len(registrations) {
		t.Errorf("uninstall --force-unregister: %v, %s, want %d deleted registrations", err, out, len(registrations))
	}
	eventually(t, func(ctx context.Context) error {
		if err := l.client.Get(ctx, client.ObjectKeyFromObject(stuck), stuck); !apierrors.IsNotFound(err) {
			return fmt.Errorf("namespace stuck is still there: %w", err)
		}
		return nil
	})
	tenant := &corev1.Namespace{}
	if err := l.client.Get(t.Context(), client.ObjectKey{Name: l.old.NamespaceName()}, tenant); err != nil || !tenant.DeletionTimestamp.IsZero() {
		t.Errorf("namespace %s is deleted at %v, %v, want that it stays", l.old.NamespaceName(), tenant.DeletionTimestamp, err)
	}
	if err := l.Managers[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.register(t, registrations)
	restart(t, l.server)
	restart(t, l.Managers[0])
	l.ready(t, l.old)
	if out, err := l.plugin(t.Context(), "uninstall", "--force-unregister", "--yes"); err != nil || !strings.Contains(out, "nothing to delete") {
		t.Errorf("uninstall --force-unregister: %v, %s, want that it deletes nothing while the API is available", err, out)
	}
}

// plugin runs a command of the plugin, and returns what it prints.
func (l *losses) plugin(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, filepath.Join(filepath.Dir(l.Kubectl()), "kubectl-groundskeeper"), append([]string{"--kubeconfig", l.AdminKubeconfig()}, args...)...)
	out, err := command.CombinedOutput()
	return string(out), err
}

// unregister deletes Groundskeeper's APIServices and webhooks, and returns them.
func (l *losses) unregister(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	found := l.registrations(t)
	for i := range found {
		if err := l.client.Delete(t.Context(), found[i].DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// registrations returns Groundskeeper's APIServices and webhooks.
func (l *losses) registrations(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	var found []unstructured.Unstructured
	for kind, version := range map[string]string{
		"APIServiceList": "apiregistration.k8s.io/v1", "ValidatingWebhookConfigurationList": "admissionregistration.k8s.io/v1",
	} {
		list := &unstructured.UnstructuredList{}
		list.SetKind(kind)
		list.SetAPIVersion(version)
		if err := l.client.List(t.Context(), list, client.MatchingLabels{"app.kubernetes.io/part-of": "groundskeeper"}); err != nil {
			t.Fatal(err)
		}
		found = append(found, list.Items...)
	}
	if len(found) < 2 {
		t.Fatalf("registrations = %d, want APIServices and webhooks", len(found))
	}
	return found
}

// register creates what unregister deleted.
func (l *losses) register(t *testing.T, registrations []unstructured.Unstructured) {
	t.Helper()
	for i := range registrations {
		object := &registrations[i]
		object.SetResourceVersion("")
		object.SetUID("")
		unstructured.RemoveNestedField(object.Object, "status")
		if err := l.client.Create(t.Context(), object); err != nil {
			t.Fatal(err)
		}
	}
}

// removed deletes a Project and waits until all that was made for it has been deleted with it.
func (l *losses) removed(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	eventually(t, func(ctx context.Context) error { return remove(ctx, l.client, project) })
	eventually(t, func(ctx context.Context) error {
		if err := confirmDeleted(ctx, l.client, project); err != nil {
			return err
		}
		err := l.client.Get(ctx, client.ObjectKey{Name: project.NamespaceName()}, &corev1.Namespace{})
		if err == nil {
			return fmt.Errorf("namespace %s is still there", project.NamespaceName())
		}
		roles := &rbacv1.ClusterRoleList{}
		if err := l.client.List(ctx, roles, client.MatchingLabels{gardenerv1beta1.LabelProjectName: project.Name}); err != nil || len(roles.Items) > 0 {
			return fmt.Errorf("%d cluster roles are left, %w", len(roles.Items), err)
		}
		return client.IgnoreNotFound(err)
	})
}
