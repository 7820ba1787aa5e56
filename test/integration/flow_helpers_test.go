// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// newProject creates a Project on the shared plane.
func newProject(t *testing.T, prefix string, members ...gardenerv1beta1.ProjectMember) *gardenerv1beta1.Project {
	t.Helper()
	project := &gardenerv1beta1.Project{
		ObjectMeta: metav1.ObjectMeta{Name: name(t, prefix)},
		Spec:       gardenerv1beta1.ProjectSpec{Members: members},
	}
	if err := admin(t).Create(t.Context(), project); err != nil {
		t.Fatal(err)
	}
	return project
}

// member returns a member of a Project; a ServiceAccount's name has its namespace before a slash.
func member(kind, name string, roles ...string) gardenerv1beta1.ProjectMember {
	m := gardenerv1beta1.ProjectMember{Subject: rbacv1.Subject{Kind: kind, Name: name}}
	if namespace, account, ok := strings.Cut(name, "/"); ok {
		m.Namespace, m.Name = namespace, account
	}
	m.SetRoles(roles)
	return m
}

// olivia returns the owner of most Projects.
func olivia() gardenerv1beta1.ProjectMember { return member("User", "olivia", "owner") }

// ready waits until a Project is Ready at its current generation.
func ready(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error { return isReady(ctx, c, project) })
}

// isReady reads a Project and complains unless it is Ready at its current generation.
func isReady(ctx context.Context, c client.Client, project *gardenerv1beta1.Project) error {
	if err := c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
		return err
	}
	if project.Status.Phase != gardenerv1beta1.ProjectReady || project.Status.ObservedGeneration != project.Generation {
		return fmt.Errorf("project %s is %q: %+v", project.Name, project.Status.Phase, project.Status.Conditions)
	}
	return nil
}

// Waits until a Project has a phase, and a condition with that status, reason and a part of the message.
func contains(t *testing.T, project *gardenerv1beta1.Project, phase gardenerv1beta1.ProjectPhase, condition gardenerv1beta1.ConditionType, status, reason, message string) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(project), project); err != nil {
			return err
		}
		for _, found := range project.Status.Conditions {
			if found.Type == condition && string(found.Status) == status && found.Reason == reason && strings.Contains(found.Message, message) &&
				project.Status.Phase == phase {
				return nil
			}
		}
		return fmt.Errorf("project %s is %q: %+v", project.Name, project.Status.Phase, project.Status.Conditions)
	})
}

// eventOf waits for an event on a Project with the reason. Two of them are an error.
func eventOf(t *testing.T, project *gardenerv1beta1.Project, reason string) corev1.Event {
	t.Helper()
	var found []corev1.Event
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		list := &corev1.EventList{}
		if err := c.List(ctx, list, client.MatchingFields{"involvedObject.name": project.Name, "reason": reason}); err != nil {
			return err
		}
		if found = list.Items; len(found) == 0 {
			return fmt.Errorf("project %s has no event %s", project.Name, reason)
		}
		return nil
	})
	if len(found) > 1 || found[0].InvolvedObject.UID != project.UID {
		t.Errorf("events %s: %+v", reason, found)
	}
	return found[0]
}

// get reads an object of the shared plane.
func get(t *testing.T, object client.Object) {
	t.Helper()
	if err := admin(t).Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
}

// change reads an object of the shared plane, changes it and writes it, until no other client writes it meanwhile.
func change[T client.Object](t *testing.T, object T, how func(T)) {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		how(object)
		return c.Update(ctx, object)
	})
}

// Waits until objects of the shared plane have been deleted, or are others of the same name.
func absent(t *testing.T, objects ...client.Object) {
	t.Helper()
	c := admin(t)
	for _, object := range objects {
		eventually(t, func(ctx context.Context) error { return confirmDeleted(ctx, c, object) })
	}
}

// confirmDeleted complains when an object is still there.
func confirmDeleted(ctx context.Context, c client.Client, object client.Object) error {
	current, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T is not an object", object)
	}
	err := c.Get(ctx, client.ObjectKeyFromObject(object), current)
	switch {
	case apierrors.IsNotFound(err), err == nil && current.GetUID() != object.GetUID():
		return nil
	case err != nil:
		return err
	}
	return fmt.Errorf("%T %s is still there, finalizers %v", object, object.GetName(), current.GetFinalizers())
}

// remove deletes an object the way that is always allowed: a Project or a Kluster with the confirmation.
func remove(ctx context.Context, c client.Client, object client.Object) error {
	switch object.(type) {
	case *gardenerv1beta1.Project, *kubernikusv1.Kluster:
		if err := confirm(ctx, c, object); err != nil {
			return err
		}
	}
	return c.Delete(ctx, object)
}

// confirm confirms the deletion of a Project or a Kluster.
func confirm(ctx context.Context, c client.Client, object client.Object) error {
	confirmation := []byte(`{"metadata":{"annotations":{"confirmation.gardener.cloud/deletion":"true"}}}`)
	return c.Patch(ctx, copyOf(object), client.RawPatch(types.MergePatchType, confirmation))
}

// mustRemove deletes a Project of the shared plane and does not wait until it has been deleted.
func mustRemove(t *testing.T, project *gardenerv1beta1.Project) {
	t.Helper()
	if err := remove(t.Context(), admin(t), project); err != nil {
		t.Fatal(errors.Join(errors.New("delete project "+project.Name), err))
	}
}

// write makes a file for one test and returns its path.
func write(t *testing.T, content string) string {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	if _, err := file.WriteString(content); err != nil {
		t.Fatal(err)
	}
	return file.Name()
}

// deleted deletes an object of the shared plane.
func deleted(t *testing.T, object client.Object) client.Object {
	t.Helper()
	if err := remove(t.Context(), admin(t), object); err != nil {
		t.Fatal(err)
	}
	return object
}

// replaced deletes an object of the shared plane and makes it again with a change, before the controller can.
func replaced[T client.Object](t *testing.T, object T, how func(T)) client.Object {
	t.Helper()
	c := admin(t)
	eventually(t, func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if err := c.Delete(ctx, object); err != nil {
			return err
		}
		how(object)
		object.SetUID("")
		object.SetResourceVersion("")
		return c.Create(ctx, object)
	})
	return object
}

// with adds an entry to a map that may be nil.
func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

// diffError returns an error when two values differ.
func diffError(want, got any) error {
	if diff := cmp.Diff(want, got); diff != "" {
		return errors.New("(-want +got):\n" + diff)
	}
	return nil
}

// eachOf calls a function for each object of a list, until it returns an error.
func eachOf(list client.ObjectList, visit func(client.Object) error) error {
	return meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is not an object", item)
		}
		return visit(object)
	})
}
