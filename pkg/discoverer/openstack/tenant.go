// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
)

// tenant is what is known of one project.
type tenant struct {
	tenancy
	// failing reports that it could not be listed when that was last tried.
	failing bool
	// sources are the last known ones, by their names.
	sources map[string]*desired.Source
	// unsettled are the names of load balancers that were never seen but in change.
	unsettled sets.Set[string]
	// problems are those of load balancers, by their names.
	problems map[string][]report.Problem
}

// failed returns what is known of a project that could not be listed: what was known before, which may be nothing.
func (before *tenant) failed(now tenancy) *tenant {
	next := &tenant{tenancy: now, failing: true}
	if before == nil {
		return next
	}
	next.unsettled, next.problems = before.unsettled, before.problems
	next.sources = make(map[string]*desired.Source, len(before.sources))
	for name, source := range before.sources {
		next.sources[name] = in(now.namespace, source)
	}
	return next
}

// renewed returns what is known of a project that was listed. Sources that are what they were before are the same ones.
func (before *tenant) renewed(o *outcome) *tenant {
	next := &tenant{
		tenancy: o.tenancy, sources: make(map[string]*desired.Source, len(o.balancers)),
		unsettled: sets.New[string](), problems: map[string][]report.Problem{},
	}
	if before == nil {
		before = &tenant{}
	}
	for i := range o.balancers {
		balancer := &o.balancers[i]
		name := strings.ToLower(balancer.ID)
		known := before.sources[name]
		if !o.settled(balancer) {
			if known == nil {
				next.unsettled.Insert(name)
			} else {
				next.sources[name] = in(o.namespace, known)
				next.problems[name] = before.problems[name]
			}
			continue
		}
		source, problems := o.translate(o.namespace, balancer)
		if reflect.DeepEqual(source, known) {
			source = known
		}
		next.sources[name] = source
		for _, problem := range problems {
			next.problems[name] = append(next.problems[name], report.Problem{
				Type: gimbalv1.ErrorInvalidService, Message: "load balancer " + balancer.ID + " of " + titleOf(o.Project) + " " + problem,
			})
		}
	}
	return next
}

func in(namespace string, source *desired.Source) *desired.Source {
	if source.Namespace == namespace {
		return source
	}
	moved := *source
	moved.Namespace = namespace
	return &moved
}
