// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package activity

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/resourcewatch"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

// activities returns the namespaces in which an event is activity, with its time. The spec of an object that uses its own namespace
// counts. Every change of credentials, a Quota or a binding does, because not all of them have a generation.
func (r *reconciler) activities(ctx context.Context, reader resourcewatch.Reader, e resourcewatch.Event) map[string]time.Time {
	now, found := r.clock.Now(), map[string]time.Time{}
	note := func(event resourcewatch.Event, namespaces ...string) {
		at, active := happened(event, now)
		for _, namespace := range namespaces {
			if active && at.After(found[namespace]) {
				found[namespace] = at
			}
		}
	}
	if r.usage.IsDirect(e.Resource) && isSpecChanged(e) {
		note(e, e.Object().Namespace)
	}
	related, err := r.usage.Related(ctx, reader, e)
	note(e, related...)
	if err == nil && e.Initial {
		var around map[*resourcewatch.Object][]string
		around, err = r.usage.Around(ctx, reader, e.Resource, e.New)
		for object, namespaces := range around {
			note(resourcewatch.Event{New: object, Initial: true}, namespaces...)
		}
	}
	if err != nil {
		log.FromContext(ctx).Error(err, "Failed to determine the projects in which an event is activity", "resource", e.Resource.String())
	}
	return found
}

// projectOf returns the Project of a namespace, or nil if there is none, or if it is being deleted or paused.
func (r *reconciler) projectOf(ctx context.Context, name string) (*gardenerv1beta1.Project, error) {
	namespace, project := &corev1.Namespace{}, &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	key := client.ObjectKey{Name: namespace.Labels[gardenerv1beta1.LabelProjectName]}
	if key.Name == "" {
		return nil, nil
	}
	if err := r.client.Get(ctx, key, project); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	// The label alone could name the Project of another user.
	if namespace.Annotations[gardenerv1beta1.AnnotationProjectUID] != string(project.UID) || !project.DeletionTimestamp.IsZero() ||
		kit.IsPaused(project) {
		return nil, nil
	}
	return project, nil
}
