// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// life is the activity of users of one kind while processes are killed.
type life struct {
	*world
	*testing.T
	random *rand.Rand
	steps  int
}

// proceed waits for the next step, and reports whether there is one: the killing has not ended, and nothing has failed. Users change
// something at most so often, because the controllers and the servers need the CPU time, too.
func (l *life) proceed(every time.Duration) bool {
	l.ledger.check(l.T)
	if l.Failed() {
		return false
	}
	select {
	case <-l.over:
		return false
	case <-time.After(every):
		l.steps++
		return true
	}
}

// projects creates, changes, deletes and recreates Projects. Namespaces of living Projects have to live.
func (l *life) projects() {
	c := &chaos{Plane: l.Plane, client: l.c, living: map[string]*gardenerv1beta1.Project{}, dead: map[string]*gardenerv1beta1.Project{}}
	namespaces := map[string]*corev1.Namespace{}
	for l.proceed(700 * time.Millisecond) {
		l.namespacesOf(c, namespaces)
		names := slices.Sorted(maps.Keys(c.living))
		if len(names) < 4 {
			l.ledger.protect("the Project was not deleted", c.create(l.T))
			continue
		}
		project := c.living[names[l.random.IntN(len(names))]]
		switch l.random.IntN(6) {
		case 0:
			l.ledger.protect("the Project was not deleted", c.create(l.T))
		case 1, 2, 3:
			c.change(l.T, project)
		default:
			l.ledger.release(project)
			if namespace := namespaces[project.Name]; namespace != nil {
				l.ledger.release(namespace)
				delete(namespaces, project.Name)
			}
			c.delete(l.T, project)
			if l.random.IntN(2) == 0 {
				l.recreate(c, project)
			}
		}
	}
	patiently(l.T, func(ctx context.Context) error { return c.check(ctx) })
	l.Logf("%d steps: %d projects live, %d have been deleted", l.steps, len(c.living), len(c.dead))
}

// namespacesOf protects the namespaces of living Projects.
func (l *life) namespacesOf(c *chaos, namespaces map[string]*corev1.Namespace) {
	list := &corev1.NamespaceList{}
	if err := l.c.List(l.Context(), list, client.HasLabels{"project.gardener.cloud/name"}); err != nil {
		l.Fatal(err)
	}
	for i := range list.Items {
		namespace := &list.Items[i]
		project := c.living[namespace.Labels["project.gardener.cloud/name"]]
		if project != nil && namespaces[project.Name] == nil && namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] == string(project.UID) {
			namespaces[project.Name] = namespace
			l.ledger.protect("its Project was not deleted", namespace)
		}
	}
}

// recreate waits until a Project has been deleted, and creates another one with its name. Nothing of it may be deleted by the name.
func (l *life) recreate(c *chaos, before *gardenerv1beta1.Project) {
	patiently(l.T, func(ctx context.Context) error { return confirmDeleted(ctx, l.c, before) })
	project := &gardenerv1beta1.Project{}
	patiently(l.T, func(ctx context.Context) error {
		project = &gardenerv1beta1.Project{
			ObjectMeta: metav1.ObjectMeta{Name: before.Name},
			Spec:       gardenerv1beta1.ProjectSpec{Members: []gardenerv1beta1.ProjectMember{olivia()}},
		}
		if err := l.c.Create(ctx, project); err != nil {
			return fmt.Errorf("recreate the Project: %w", err)
		}
		return nil
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.living[project.Name] = project
	l.ledger.protect("it was created after the deletion of another Project with this name", project)
}
