// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// Reasons of events and of problems, beside those of package convert.
const (
	// reasonNameTaken: another client's Translation has the name of a wanted one.
	reasonNameTaken = "TranslationNameTaken"
	// reasonRefused: the API server does not take a Translation, for instance because a resource belongs to another.
	reasonRefused = "TranslationRefused"
	// eventRemoved: a Node had no host-id for the grace period, and its Translations are deleted.
	eventRemoved = "TranslationsRemoved"
)

const actionTranslate = "Translate"

// problem is why an owner, or a part of it, is not translated.
type problem struct {
	convert.Problem
	// blocks reports that it keeps Translations from being written, and not only a part of the owner from having one.
	blocks bool
	// shares reports that it is about something that another owner has, too. Nothing is left out for it.
	shares bool
	// silent reports that there is no event.
	silent bool
}

func blocked(reason, message string) problem {
	return problem{Problem: convert.Problem{Reason: reason, Message: message}, blocks: true}
}

// record stores the problems of an owner, and reports new ones in an event and in the log.
func (r *reconciler) record(ctx context.Context, u unit, s *subject, problems []problem) {
	for _, shared := range s.shared {
		problems = append(problems, problem{Problem: shared, shares: true})
	}
	reported := r.memory.takeInitial(u) && s.inPlace
	for _, news := range summarize(r.memory.setProblems(u, problems)) {
		if reported && !news.blocks && !news.shares {
			continue
		}
		log.FromContext(ctx).Info("An object is not translated, or not all of it", "reason", news.Reason, "problem", news.Message)
		r.warn(s.object, news.Problem)
	}
}

// summarize makes one problem of several with one reason.
func summarize(problems []problem) []problem {
	var summed []problem
	count := map[string]int{}
	for _, p := range problems {
		if p.silent {
			continue
		}
		if count[p.Reason]++; count[p.Reason] == 1 {
			summed = append(summed, p)
		}
	}
	for i := range summed {
		if more := count[summed[i].Reason] - 1; more > 0 {
			summed[i].Message = fmt.Sprintf("%s (and %d more)", summed[i].Message, more)
		}
	}
	return summed
}

func skippedOf(s *subject) []problem {
	var problems []problem
	for _, skipped := range s.result.Skipped {
		problems = append(problems, problem{Problem: skipped})
	}
	return problems
}

// warn reports to an owner what keeps it from being translated.
func (r *reconciler) warn(object client.Object, news convert.Problem) {
	r.recorder.Eventf(object, nil, corev1.EventTypeWarning, news.Reason, actionTranslate, "%s", news.Note())
}
