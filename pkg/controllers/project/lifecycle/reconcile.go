// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/kit"
)

const (

	// retryPeriod is the delay after a concurrent change. Usually the event of the change is earlier.
	retryPeriod = time.Second
	// waitPeriod is the interval of rechecks for which an event is expected, in case the event is missing.
	waitPeriod = 30 * time.Second
)

// pass is one reconciliation of one Project.
type pass struct {
	*reconciler
	project *gardenerv1beta1.Project
	report  report
	outcome outcome
	// problem is the message of a failed, rejected or blocked reconciliation.
	problem string
	wrote   int
	// followed is set if the roles were updated with the members, rolesErr if that failed.
	followed bool
	rolesErr error
	// ensured is set if bindings may have been created.
	ensured bool
	// servers is how the API servers decide.
	servers agreement
}

// Reconcile reconciles one Project with its spec, and records the result in its status.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	project := &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, request.NamespacedName, project); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{reconciler: r, project: project, servers: r.servers.last()}
	deleting := !project.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(project, gardenerv1beta1.FinalizerName) {
		// Its namespace was released. Another finalizer may retain the Project and its roles for a long time.
		return reconcile.Result{}, p.followMembers(ctx)
	}
	var result reconcile.Result
	err := p.disown(ctx)
	switch {
	case err != nil:
		result, err = p.failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	case kit.IsPaused(project):
		p.rolesErr = p.followMembers(ctx)
		p.pause()
	case deleting:
		p.rolesErr = p.followMembers(ctx)
		result, err = p.release(ctx)
	default:
		if result, err = p.provide(ctx); !p.followed {
			p.rolesErr = p.followMembers(ctx)
		}
	}
	if p.rolesErr != nil {
		p.reportRoles(p.rolesErr)
		err = errors.Join(err, p.rolesErr)
	}
	// Failed or paused changes of the spec have not been made.
	p.report.acted = err == nil && !kit.IsPaused(project)
	if err != nil && kit.IsConcurrentChange(err) {
		r.outcomes.WithLabelValues(string(outcomeRetried)).Inc()
		log.FromContext(ctx).V(1).Info("Retrying after a concurrent change", "err", err.Error())
		return reconcile.Result{RequeueAfter: retryPeriod}, nil
	}
	r.outcomes.WithLabelValues(string(p.outcome)).Inc()
	if p.outcome == outcomeReleased {
		return result, err
	}
	return result, errors.Join(err, p.writeStatus(ctx))
}

// provide creates and updates the objects of a Project that is not being deleted.
func (p *pass) provide(ctx context.Context) (reconcile.Result, error) {
	if err := p.complete(ctx); err != nil {
		return p.failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	}
	namespace, decision, err := p.ensureNamespace(ctx)
	if err != nil {
		return p.failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	}
	if err := p.reportDeletable(namespace); err != nil {
		return p.failed(gardenerv1beta1.ProjectDeletable, reasonContentsUnknown, err)
	}
	switch decision.action {
	case waitForNamespace:
		p.report.phase, p.outcome = gardenerv1beta1.ProjectPending, outcomeWaiting
		p.withoutNamespace(decision)
		return reconcile.Result{RequeueAfter: waitPeriod}, nil
	case rejectNamespace:
		// A retry does not help: the namespace or the Project has to change, and both cause an event.
		p.report.phase, p.outcome, p.problem = gardenerv1beta1.ProjectFailed, outcomeRefused, decision.message
		p.withoutNamespace(decision)
		return reconcile.Result{}, nil
	}
	within := namespace
	if decision.action == createNamespace {
		within = nil // a new namespace has no unused binding
	}
	rolesErr := p.ensureRoles(ctx, within)
	quotaErr := p.ensureQuota(ctx)
	p.reportNamespace(namespace, quotaErr)
	p.reportRoles(rolesErr)
	if err := errors.Join(rolesErr, quotaErr); err != nil {
		p.report.phase, p.outcome, p.problem = gardenerv1beta1.ProjectFailed, outcomeFailed, err.Error()
		return reconcile.Result{}, err
	}
	p.report.phase, p.outcome = gardenerv1beta1.ProjectReady, outcomeReady
	return reconcile.Result{}, nil
}

// complete adds the fields that the API server sets at creation to a Project that was created in another way: without the
// finalizer its namespace would be deleted without a check, and without the name of its namespace other components cannot find
// it.
func (p *pass) complete(ctx context.Context) error {
	next := p.project.DeepCopy()
	controllerutil.AddFinalizer(next, gardenerv1beta1.FinalizerName)
	next.Spec.Namespace = new(namespaceName(next))
	_, err := p.patch(ctx, p.project, next)
	p.project = next
	return err
}

// ensureNamespace decides about the namespace and executes the decision. It returns the namespace, or nil if it does not belong
// to this Project.
func (p *pass) ensureNamespace(ctx context.Context) (*corev1.Namespace, namespaceDecision, error) {
	name := client.ObjectKey{Name: namespaceName(p.project)}
	current, err := getNamespace(ctx, p.client, name)
	if err != nil {
		return nil, namespaceDecision{}, err
	}
	decision := decideNamespace(p.project, current)
	if decision.action == createNamespace {
		created := newNamespace(p.project)
		err := p.create(ctx, created)
		if err == nil {
			p.wrote++
			return created, decision, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, decision, err
		}
		// The cache is stale. An existing namespace is handled like one that was in the cache.
		if current, err = getNamespace(ctx, p.live, name); err != nil {
			return nil, decision, err
		}
		if decision = decideNamespace(p.project, current); decision.action == createNamespace {
			return nil, decision, kit.ErrChanged
		}
	}
	if decision.action != claimNamespace {
		if isClaimedBy(p.project, current) {
			return current, decision, nil
		}
		return nil, decision, nil
	}
	next := claimedNamespace(p.project, current)
	wrote, err := p.patch(ctx, current, next)
	if wrote {
		p.wrote++
	}
	return next, decision, err
}

// ensureRoles reconciles the roles and bindings of the members.
func (p *pass) ensureRoles(ctx context.Context, namespace *corev1.Namespace) error {
	p.followed, p.ensured = true, true
	desired := p.desired(p.project)
	wrote, err := p.ensureAll(ctx, desired)
	p.wrote += wrote
	return errors.Join(err, p.removeUnused(ctx, namespace, desired))
}

// ensureQuota reconciles the quota, if one is configured.
func (p *pass) ensureQuota(ctx context.Context) error {
	quota := desiredQuota(p.project, p.quotas)
	if quota == nil {
		return nil
	}
	wrote, err := p.ensure(ctx, quota)
	if wrote {
		p.wrote++
	}
	return err
}

// getNamespace reads a namespace, and returns nil if it does not exist.
func getNamespace(ctx context.Context, from client.Reader, name client.ObjectKey) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	if err := from.Get(ctx, name, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get namespace %q: %w", name.Name, err)
	}
	return namespace, nil
}
