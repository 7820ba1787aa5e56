// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// backendSubject is the key of the ledger for problems with the backend as a whole.
const backendSubject = "backend"

// handle returns the function that records problems with the backend; nil means that it responds as expected.
func (d *discoverer) handle(ctx context.Context) func(*report.Problem) {
	return func(problem *report.Problem) {
		if problem == nil {
			d.ledger.Set(backendSubject)
			return
		}
		d.meters.Error(problem.Type)
		for _, news := range d.ledger.Set(backendSubject, *problem) {
			logr.FromContextOrDiscard(ctx).Info("The backend does not respond as expected, retaining its copies unchanged",
				"type", news.Type, "problem", news.Message)
		}
	}
}

// state returns the status of the DiscoveryBackend without errors.
func (d *discoverer) state() report.State {
	last := d.replica.LastSync()
	copied, endpoints, services := d.meters.Totals()
	state := report.State{Counted: !last.IsZero(), Services: copied, Endpoints: endpoints, LastSync: last}
	state.Discovered = discovered(d.ledger.Entries(), copied, services, last)
	return state
}

// discovered returns the condition Discovered.
func discovered(entries []report.Entry, copied, services int, last time.Time) metav1.Condition {
	for _, entry := range entries {
		if isAboutBackend(entry.Type) {
			return metav1.Condition{Status: metav1.ConditionFalse, Reason: entry.Type, Message: entry.Message}
		}
	}
	pending := func(reason, format string, args ...any) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf(format, args...)}
	}
	switch {
	case last.IsZero():
		return pending(report.ReasonPending, "the backend is being listed and copied for the first time since the discoverer started")
	case len(entries) > 0 && copied >= services:
		return pending(report.ReasonIncomplete, "all %d services are copied, but not completely: see status.errors", services)
	case len(entries) > 0:
		return pending(report.ReasonIncomplete, "%d of %d services are copied: see status.errors for the others", copied, services)
	default:
		return metav1.Condition{Status: metav1.ConditionTrue, Reason: report.ReasonSynced, Message: "all services are copied"}
	}
}

// isAboutBackend reports whether an error is about the backend as a whole.
func isAboutBackend(kind string) bool {
	return slices.Contains([]string{
		gimbalv1.ErrorAuthentication, gimbalv1.ErrorConnection, gimbalv1.ErrorRateLimited, gimbalv1.ErrorAnotherCluster,
	}, kind)
}
