// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package stale

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// observed is what a decision about a Project depends on.
type observed struct {
	project *gardenerv1beta1.Project
	// namespace is nil if it does not exist.
	namespace *corev1.Namespace
	// at is the time for which the use was determined, or found not to matter. A decision is for that time.
	at time.Time
	// use is what uses the project, "" if nothing does. useErr is set if that is unknown.
	use    string
	useErr error
}

// observe reads a Project, and returns nil if there is none. The use of a Project that is spared for another reason is not determined, so
// that a kind that cannot be listed does not retain the marks of a Project that is not stale.
func (r *reconciler) observe(
	ctx context.Context, from client.Reader, uses func(context.Context, string) (string, error), name client.ObjectKey,
) (*observed, error) {
	o := &observed{project: &gardenerv1beta1.Project{}, at: r.clock.Now()}
	if err := from.Get(ctx, name, o.project); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if name := o.project.NamespaceName(); name != "" {
		namespace := &corev1.Namespace{}
		err := from.Get(ctx, client.ObjectKey{Name: name}, namespace)
		if client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("get namespace %q: %w", name, err)
		}
		if !apierrors.IsNotFound(err) {
			o.namespace = namespace
		}
	}
	if isConcerned(o.project, o.namespace) && r.policy.spare(o.project, o.namespace, o.at) == nil {
		if o.use, o.useErr = uses(ctx, o.namespace.Name); o.useErr != nil {
			o.useErr = fmt.Errorf("determine what uses project %q: %w", o.project.Name, o.useErr)
		}
	}
	return o, nil
}
