// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/release"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/status"
)

const (
	// maxNamed is how many routes a message or an event names.
	maxNamed = 3
	// maxListed is how long the list of routes of a message is, in bytes: a condition has status.MaxMessage.
	maxListed = 400
)

// removeReferences takes the references to the backend's Services out of all routes, as long as the Services are there to report
// which those are. References that have to stay are no reason to wait.
func (r *reconciler) removeReferences(ctx context.Context, backend *gimbalv1.DiscoveryBackend) (string, error) {
	result, err := r.references.Remove(ctx, backend)
	logger := log.FromContext(ctx)
	if count := len(result.Removed); count > 0 {
		logger.Info("Removed the references to a backend that is being deleted", "routes", result.Removed)
		r.report(backend, eventReferencesRemoved, actionDelete,
			fmt.Sprintf("removed the references from %s: %s", status.Plural(count, "route"), fitting(result.Removed)))
	}
	if count := len(result.Unrecorded); count > 0 {
		logger.Info("Removed references without a record of them: the annotations of their routes would be too long", "routes", result.Unrecorded)
		r.warn(backend, eventReferencesUnrecorded, actionDelete,
			fmt.Sprintf("the references of %s cannot be restored, because a record of them would be too long: %s",
				status.Plural(count, "route"), fitting(result.Unrecorded)))
	}
	if err := r.reportRemoved(ctx, backend, result); err != nil {
		return "", err
	}
	if count := len(result.Kept); count > 0 {
		logger.Info("References to a backend that is being deleted have to stay", "references", result.Kept)
		r.warn(backend, eventReferencesKept, actionDelete,
			fmt.Sprintf("%s to what is being deleted: %s", status.Plural(count, "reference"), some(result.Kept)))
	}
	if err != nil {
		return "", err
	}
	if count := len(result.Rejected); count > 0 {
		return fmt.Sprintf("the references of %s cannot be removed: %s", status.Plural(count, "route"), some(result.Rejected)), nil
	}
	if result.Left > 0 {
		return fmt.Sprintf("the references of %s are removed", status.Plural(result.Left, "more route")), nil
	}
	return "", nil
}

// reportRemoved lists the routes from which references were removed in the status of the backend. It writes when there are
// more of them than before.
func (r *reconciler) reportRemoved(ctx context.Context, backend *gimbalv1.DiscoveryBackend, result release.Result) error {
	routes := slices.Compact(slices.Sorted(slices.Values(slices.Concat(result.Recorded, result.Removed))))
	if len(routes) == 0 {
		return nil
	}
	removed := status.Condition(backend, gimbalv1.ConditionReferencesRemoved, metav1.ConditionTrue, reasonDeletionPending,
		fmt.Sprintf("removed from %s: %s", status.Plural(len(routes), "route"), fitting(routes)))
	waiting := "the references of routes are removed"
	available := meta.FindStatusCondition(backend.Status.Conditions, gimbalv1.ConditionAvailable)
	if available != nil && available.Reason == reasonDeletionPending {
		waiting = available.Message // the next step writes another one, if there is one
	}
	return r.writeStatus(ctx, backend, findings{terminating: waiting, removed: &removed})
}

// fitting names as many as fit into a message, and counts the others.
func fitting(names []string) string {
	var text strings.Builder
	for i, name := range names {
		if text.Len()+len(name) > maxListed {
			return fmt.Sprintf("%s and %d more", text.String(), len(names)-i)
		}
		if i > 0 {
			text.WriteString(", ")
		}
		text.WriteString(name)
	}
	return text.String()
}

// some names the first few.
func some(names []string) string {
	named := strings.Join(names[:min(len(names), maxNamed)], "; ")
	if more := len(names) - maxNamed; more > 0 {
		named += fmt.Sprintf("; and %d more", more)
	}
	return named
}
