// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/sets"

	"groundskeeper.io/groundskeeper/pkg/discoverer/identity"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// reportProblems brings the current problems into the ledger. When no project can be listed, and for one reason, that is a problem of the
// backend.
func (u *Upstream) reportProblems(ctx context.Context, problems map[string][]report.Problem, outcomes []*outcome) {
	causes := map[string]error{}
	failures, kinds, queried := map[string]report.Problem{}, sets.New[report.Problem](), 0
	for _, o := range outcomes {
		subject, problem := subjectOf(o.Project), problemOf(o.err)
		problem.Message = titleOf(o.Project) + ": the backend " + problem.Message
		if errors.Is(o.err, errDisabled) {
			// Keystone lists disabled projects indefinitely. They matter when they are requested, or have something here.
			if len(u.Watchlist) > 0 || len(u.tenants[o.ID].sources) > 0 {
				problems[subject] = append(problems[subject], problem)
			}
			continue
		}
		if queried++; o.err != nil {
			kinds.Insert(problemOf(o.err))
			causes[subject], failures[subject] = o.err, problem
		}
	}
	if common, one := kinds.PopAny(); one && len(kinds) == 0 && len(failures) == queried {
		common.Message = "the backend " + common.Message
		for subject := range failures {
			causes[u.Subject] = causes[subject]
		}
		failures = map[string]report.Problem{u.Subject: common}
	}
	for subject, problem := range failures {
		problems[subject] = append(problems[subject], problem)
	}
	for _, t := range u.tenants {
		for name, found := range t.problems {
			if len(found) > 0 && !t.disputed {
				problems["load balancer "+t.namespace+"/"+name] = found
			}
		}
	}
	for subject := range u.reported {
		if problems[subject] == nil {
			u.set(ctx, subject, nil)
		}
	}
	for subject, found := range problems {
		u.set(ctx, subject, causes[subject], found...)
	}
}

// reportCloud brings the problem of the whole cloud into the ledger.
func (u *Upstream) reportCloud(ctx context.Context, err error) {
	if local := (*identity.LocalError)(nil); errors.As(err, &local) {
		// The cloud responds, and what was reported of it still holds.
		logr.FromContextOrDiscard(ctx).Error(err, "Failed to compare the cloud with the recorded one, trying again")
		return
	}
	problem := problemOf(err)
	if rejection := (*identity.Rejection)(nil); errors.As(err, &rejection) {
		problem = rejection.Problem
	} else {
		problem.Message = "the backend " + problem.Message
	}
	u.set(ctx, u.Subject, err, problem)
}

// set records the problems of a subject. Err is the cause, for the log.
func (u *Upstream) set(ctx context.Context, subject string, err error, problems ...report.Problem) {
	news := u.Ledger.Set(subject, problems...)
	u.reported.Insert(subject)
	if len(problems) == 0 {
		u.reported.Delete(subject)
	}
	if subject == u.Subject {
		for _, problem := range problems {
			u.Meters.Error(problem.Type)
		}
	}
	for _, problem := range news {
		if subject != u.Subject {
			u.Meters.Error(problem.Type)
		}
		logr.FromContextOrDiscard(ctx).Info("Failed to discover a part of the backend, its copies remain unchanged",
			"type", problem.Type, "problem", problem.Message, "err", err)
	}
}
