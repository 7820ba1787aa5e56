// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package annotate

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// retryPeriod is the pause after the Node changed under a reconciliation.
const retryPeriod = time.Second

// Reconcile sets the missing annotations of a Node in one write, because the others have no effect without the host.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	node := &corev1.Node{}
	switch err := r.client.Get(ctx, request.NamespacedName, node); {
	case apierrors.IsNotFound(err):
		r.drop(request)
		return reconcile.Result{}, nil
	case err != nil:
		return reconcile.Result{}, fmt.Errorf("get node %s: %w", request.Name, err)
	}
	host, deleting := "", !node.DeletionTimestamp.IsZero()
	lacks := r.network.lacks(node)
	if lacks && !deleting {
		ids, err := r.directory.find(ctx, node.Name)
		if wrong := r.network.unusable(node.Name, ids, err); wrong != nil {
			return r.wait(ctx, request, node, *wrong)
		}
		host = ids[0]
	}
	set, differs := r.network.changes(node, host), (*convert.Problem)(nil)
	follows := r.network.follow != nil && !deleting
	if follows && !lacks {
		ids, err := r.directory.find(ctx, node.Name)
		if err != nil {
			//nolint:nilerr // nothing is known of the hosts, so nothing is concluded
			return reconcile.Result{RequeueAfter: r.patience.When(request)}, nil
		}
		set, differs = r.network.follow(node, ids, r.directory.has)
	}
	if err := r.annotate(ctx, node, set); err != nil {
		switch {
		case apierrors.IsConflict(err), apierrors.IsNotFound(err):
			log.FromContext(ctx).V(1).Info("Retrying after a concurrent change of the node", "err", err.Error())
			return reconcile.Result{RequeueAfter: retryPeriod}, nil
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			return r.wait(ctx, request, node, convert.Problem{Reason: reasonRefused, Message: err.Error()})
		}
		return reconcile.Result{}, fmt.Errorf("annotate node %s: %w", node.Name, err)
	}
	if differs == nil {
		differs = r.network.differing(node)
	}
	if differs == nil || deleting {
		r.differences.end(node.Name)
	} else if r.differences.set(node.Name, *differs) {
		r.warn(ctx, node, *differs, "An annotation of a node cannot be right")
	}
	r.patience.Forget(request)
	r.troubles.end(request.Name)
	if follows {
		return reconcile.Result{RequeueAfter: followPeriod}, nil
	}
	return reconcile.Result{}, nil
}

// unusable reports why a check of the hosts did not find the one of a Node.
func unusable(node string, ids []string, err error) *convert.Problem {
	switch {
	case err != nil:
		return &convert.Problem{Reason: reasonBackend, Message: "the hosts of MidoNet cannot be listed: " + err.Error()}
	case len(ids) == 0:
		return &convert.Problem{Reason: reasonNoHost, Message: fmt.Sprintf(
			"MidoNet has no host named %s: start its agent there under this name, or set annotation %s", node, midonetv1.AnnotationHostID)}
	case len(ids) > 1:
		return &convert.Problem{Reason: reasonManyHosts, Message: fmt.Sprintf(
			"MidoNet has %d hosts named %s (%s): remove all except one, or set annotation %s", len(ids), node, few(ids), midonetv1.AnnotationHostID)}
	case ids[0] == "":
		return &convert.Problem{Reason: reasonInvalidHost, Message: fmt.Sprintf(
			"the host named %s in MidoNet has no id that is a UUID: set annotation %s", node, midonetv1.AnnotationHostID)}
	default:
		return nil
	}
}

// few lists the first of several ids, in an order that does not change.
func few(ids []string) string {
	const most = 3
	sorted := slices.Sorted(slices.Values(ids))
	for i, id := range sorted {
		sorted[i] = cmp.Or(id, "no UUID")
	}
	if len(sorted) > most {
		sorted = append(sorted[:most], "…")
	}
	return strings.Join(sorted, ", ")
}

// annotate changes annotations of a Node. The write fails when another client was quicker: what that one set stays.
func (r *reconciler) annotate(ctx context.Context, node *corev1.Node, set map[string]*string) error {
	if len(set) == 0 {
		return nil
	}
	before := node.DeepCopy()
	for name, value := range set {
		if value == nil {
			delete(node.Annotations, name)
		} else {
			metav1.SetMetaDataAnnotation(&node.ObjectMeta, name, *value)
		}
	}
	changes := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.client.Patch(ctx, node, changes, client.FieldOwner(fieldOwner)); err != nil {
		return err
	}
	r.annotated.Inc()
	var reported []string
	for _, name := range slices.Sorted(maps.Keys(set)) {
		switch {
		case slices.Contains(records(), name): // of no interest to users
		case set[name] == nil:
			reported = append(reported, name+" removed")
		default:
			reported = append(reported, fmt.Sprintf("%s=%q", name, *set[name]))
		}
	}
	if len(reported) == 0 {
		return nil
	}
	text := strings.Join(reported, ", ")
	log.FromContext(ctx).Info("Annotated a node", "annotations", text)
	r.recorder.Eventf(before, nil, corev1.EventTypeNormal, eventAnnotated, actionAnnotate, "the node was annotated: %s", text)
	return nil
}

// wait reports what a Node waits for, once for each change, and rechecks later.
func (r *reconciler) wait(ctx context.Context, request reconcile.Request, node *corev1.Node, wrong convert.Problem) (reconcile.Result, error) {
	if r.troubles.set(node.Name, wrong) {
		r.warn(ctx, node, wrong, "A node is not annotated")
	}
	return reconcile.Result{RequeueAfter: r.patience.When(request)}, nil
}

// warn reports a problem of a Node in the log and in an event.
func (r *reconciler) warn(ctx context.Context, node *corev1.Node, problem convert.Problem, text string) {
	log.FromContext(ctx).Info(text, "reason", problem.Reason, "problem", problem.Message)
	r.recorder.Eventf(node, nil, corev1.EventTypeWarning, problem.Reason, actionAnnotate, "%s", problem.Note())
}

// drop discards what is remembered of a Node that has been deleted.
func (r *reconciler) drop(request reconcile.Request) {
	r.troubles.end(request.Name)
	r.differences.end(request.Name)
	r.patience.Forget(request)
}
