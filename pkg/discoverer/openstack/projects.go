// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/discoverer/report"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

// tenancy is a project and the namespace that it has here.
type tenancy struct {
	openstack.Project
	namespace string
	// disputed reports that another project has the namespace: nothing is written for this one.
	disputed bool
}

// choice are the projects to discover.
type choice struct {
	tenancies []tenancy
	// partial reports that a project that is requested does not exist: what it has is not known.
	partial bool
	// problems are by what has them.
	problems map[string][]report.Problem
}

// choose picks the projects of a watchlist, of names and ids, or all when it is empty, whose namespaces are admitted.
//
// A namespace belongs to one project, because it is what permissions are given for. Of several whose names become the same it is
// the one that has exactly this name, or else the one with the smallest id: a project that comes later and is only spelled the same
// way takes nothing away. The others are reported, and what they have here remains unchanged.
func choose(projects []openstack.Project, watchlist []string, admits func(namespace string) bool) choice {
	c := choice{problems: map[string][]report.Problem{}}
	for _, wanted := range watchlist {
		if !slices.ContainsFunc(projects, func(p openstack.Project) bool { return p.ID == wanted || p.Name == wanted }) {
			c.partial = true
			c.report("watchlist "+wanted, gimbalv1.ErrorAuthentication,
				"project %s of --openstack-project-watchlist does not exist, or the user has no role in it: give it one, or correct the list", wanted)
		}
	}
	for _, project := range projects {
		if len(watchlist) > 0 && !slices.Contains(watchlist, project.ID) && !slices.Contains(watchlist, project.Name) {
			continue
		}
		namespace := namespaceOf(project.Name)
		switch {
		case namespace == "":
			c.report(subjectOf(project), gimbalv1.ErrorInvalidService, "%s has a name that no namespace can have: rename it", titleOf(project))
		case strings.HasPrefix(namespace, "kube-"):
			c.report(subjectOf(project), gimbalv1.ErrorInvalidService, "%s would have namespace %s, which is Kubernetes' own: rename it",
				titleOf(project), namespace)
		case admits(namespace):
			c.tenancies = append(c.tenancies, tenancy{Project: project, namespace: namespace})
		}
	}
	slices.SortFunc(c.tenancies, func(a, b tenancy) int {
		return cmp.Or(cmp.Compare(a.namespace, b.namespace), cmp.Compare(inexact(a), inexact(b)), cmp.Compare(a.ID, b.ID))
	})
	for i := range c.tenancies {
		if i == 0 || c.tenancies[i-1].namespace != c.tenancies[i].namespace {
			continue
		}
		first := i
		for first > 0 && c.tenancies[first-1].namespace == c.tenancies[i].namespace {
			first--
		}
		c.tenancies[i].disputed = true
		c.report(subjectOf(c.tenancies[i].Project), gimbalv1.ErrorNameCollision,
			"%s would have namespace %s, which %s has: rename one of them, or name only one in --openstack-project-watchlist",
			titleOf(c.tenancies[i].Project), c.tenancies[i].namespace, titleOf(c.tenancies[first].Project))
	}
	return c
}

func (c *choice) report(subject, kind, format string, args ...any) {
	c.problems[subject] = append(c.problems[subject], report.Problem{Type: kind, Message: fmt.Sprintf(format, args...)})
}

// inexact is 0 for a project that has the name of its namespace, 1 for others.
func inexact(t tenancy) int {
	if t.Name == t.namespace {
		return 0
	}
	return 1
}

// subjectOf is under what the problems of a project are.
func subjectOf(project openstack.Project) string { return "project " + project.ID }

// titleOf is how messages call a project.
func titleOf(project openstack.Project) string {
	return fmt.Sprintf("project %s (%s)", project.Name, project.ID)
}

// namespaceOf makes the name of a namespace of that of a project, "" when nothing is left of it.
func namespaceOf(project string) string {
	return clean(strings.ToLower(project), validation.DNS1123LabelMaxLength, func(r rune) bool {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-'
	}, "-")
}

// labelValue makes the value of a label of the name of a load balancer, "" when nothing is left of it.
func labelValue(name string) string {
	return clean(name, validation.LabelValueMaxLength, func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r)
	}, "-_.")
}

// clean puts a dash for every character that is not valid, and takes those of inner away at both ends.
func clean(text string, length int, valid func(rune) bool, inner string) string {
	text = strings.Map(func(r rune) rune {
		if valid(r) {
			return r
		}
		return '-'
	}, text)
	text = strings.Trim(text, inner)
	return strings.TrimRight(text[:min(len(text), length)], inner)
}
