// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/console"
)

// consoleActions are the changes of the commands drain and deorbit, with their questions.
func (c *command) consoleActions() []console.Action {
	status := func(name, title string, to gimbalv1.ClusterStatus) console.Action {
		return actionOf(c, name, title, backendsTitle,
			func(b *gimbalv1.DiscoveryBackend) bool { return b.Cluster.ClusterStatus != to },
			func(_ context.Context, b *gimbalv1.DiscoveryBackend) (question, error) { return drainQuestion(b, to) },
			func(ctx context.Context, b *gimbalv1.DiscoveryBackend) error { return c.setClusterStatus(ctx, b, to) })
	}
	return []console.Action{
		status("drain", "Drain", gimbalv1.ClusterMaintenance),
		status("undrain", "Bring back to service", gimbalv1.ClusterEnabled),
		actionOf(c, "deorbit", "Confirm the deletion", klustersTitle,
			func(k *kubernikusv1.Kluster) bool { return k.DeletionTimestamp.IsZero() }, c.deletionQuestion, c.confirmDeletion),
	}
}

// actionOf makes an action of functions about one type. What was done is printed, too.
func actionOf[T client.Object](
	c *command, name, title, kind string, applies func(T) bool, prompt func(context.Context, T) (question, error), do func(context.Context,
		T) error,
) console.Action {
	a := console.Action{
		Name: name, Title: title,
		Applies: func(object client.Object) bool {
			typed, ok := object.(T)
			return ok && applies(typed)
		},
		Prompt: func(ctx context.Context, object client.Object) (console.Question, error) {
			q, err := prompt(ctx, object.(T))
			return console.Question{Preview: q.preview, Question: q.text}, c.explained(ctx, err)
		},
		Do: func(ctx context.Context, object client.Object) error {
			err := do(ctx, object.(T))
			if err == nil {
				c.out.print("%s of %s %s/%s was confirmed on the page\n", name, kind, object.GetNamespace(), object.GetName())
			}
			return err
		},
	}
	for _, k := range kinds() {
		if k.title == kind {
			a.Kind = k.names[0]
		}
	}
	return a
}
