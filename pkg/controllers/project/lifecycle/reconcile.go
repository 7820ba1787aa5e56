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
)

const (
	// pausedAnnotation with the value "true" makes the controllers leave an object alone.
	pausedAnnotation = "groundskeeper.io/paused"

	// retryPeriod is the pause after something changed under a pass. The change itself mostly comes sooner.
	retryPeriod = time.Second
	// waitPeriod is how often something that a watch should tell is looked at again, in case it did not.
	waitPeriod = 30 * time.Second
)

// pass is one look at one Project.
type pass struct {
	*reconciler
	project *gardenerv1beta1.Project
	report  report
	outcome outcome
	// problem is what a failed, refused or blocked pass tells people.
	problem string
	wrote   int
	// followed is set when the roles were brought into line with the members, rolesErr when that failed.
	followed bool
	rolesErr error
}

// Reconcile brings one Project to the state its spec asks for, and says in its status how far that went.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	project := &gardenerv1beta1.Project{}
	if err := r.client.Get(ctx, request.NamespacedName, project); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	p := &pass{reconciler: r, project: project}
	deleting := !project.DeletionTimestamp.IsZero()
	if deleting && !controllerutil.ContainsFinalizer(project, gardenerv1beta1.FinalizerName) {
		// Its namespace was released. Another finalizer may keep it for long, and its roles as long.
		return reconcile.Result{}, p.followMembers(ctx)
	}
	var result reconcile.Result
	err := p.disown(ctx)
	switch {
	case err != nil:
		result, err = p.failed(gardenerv1beta1.ProjectNamespaceReady, reasonNamespaceFailed, err)
	case isPaused(project):
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
	// What failed, and what a pause holds back, was not done.
	p.report.acted = err == nil && !isPaused(project)
	if err != nil && isTransient(err) {
		r.outcomes.WithLabelValues(string(outcomeRetried)).Inc()
		log.FromContext(ctx).V(1).Info("something changed meanwhile, trying again", "reason", err.Error())
		return reconcile.Result{RequeueAfter: retryPeriod}, nil
	}
	r.outcomes.WithLabelValues(string(p.outcome)).Inc()
	if p.outcome == outcomeReleased {
		return result, err
	}
	return result, errors.Join(err, p.writeStatus(ctx))
}

// provide gives a Project that lives what it is to have.
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
	case refuseNamespace:
		// Nothing to try again: the namespace, or the Project, has to change, and either wakes us.
		p.report.phase, p.outcome, p.problem = gardenerv1beta1.ProjectFailed, outcomeRefused, decision.message
		p.withoutNamespace(decision)
		return reconcile.Result{}, nil
	}
	rolesErr := p.ensureRoles(ctx)
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

// complete adds what the API server gives to a Project at creation to one that came another way: without the
// finalizer its namespace would go unasked, and without the name others do not find it.
func (p *pass) complete(ctx context.Context) error {
	next := p.project.DeepCopy()
	controllerutil.AddFinalizer(next, gardenerv1beta1.FinalizerName)
	next.Spec.Namespace = new(namespaceName(next))
	_, err := p.patch(ctx, p.project, next)
	p.project = next
	return err
}

// ensureNamespace decides about the namespace and does what was decided. It returns the namespace, nil when it is not
// this Project's.
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
		// The cache is late. Whatever is there, it gets no better treatment than one that was seen before.
		if current, err = getNamespace(ctx, p.live, name); err != nil {
			return nil, decision, err
		}
		if decision = decideNamespace(p.project, current); decision.action == createNamespace {
			return nil, decision, errChanged
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

// ensureRoles brings the roles and bindings of the members into order.
func (p *pass) ensureRoles(ctx context.Context) error {
	p.followed = true
	desired := desiredRBAC(p.project)
	wrote, err := p.ensureAll(ctx, desired)
	removed, removeErr := p.removeExtensionRoles(ctx, p.project, desired)
	p.wrote += wrote + removed
	return errors.Join(err, removeErr)
}

// ensureQuota brings the quota into order, when one is configured.
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

// getNamespace reads a namespace, nil when there is none.
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

func isPaused(object client.Object) bool {
	return object.GetAnnotations()[pausedAnnotation] == "true"
}
