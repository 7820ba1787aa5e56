// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// Project is the life of a Project, its members and what it uses.
type Project struct {
	Namespace   string `json:"namespace"`
	Owner       string `json:"owner,omitempty"`
	Purpose     string `json:"purpose,omitempty"`
	Description string `json:"description,omitempty"`
	// Life are the points of its life in their order, the last ones may be in the future.
	Life []Point `json:"life"`
	// Remedy is what keeps a stale Project from being deleted.
	Remedy  string   `json:"remedy,omitempty"`
	Members []Member `json:"members"`
	// Quotas are the limits of its namespace, with QuotasProblem if they are unknown.
	Quotas        []Quota `json:"quotas"`
	QuotasProblem string  `json:"quotasProblem,omitempty"`
	// Contents counts the objects of Groundskeeper in its namespace.
	Contents []Contents `json:"contents"`
}

// Point is a point of the life of a Project.
type Point struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// Member is a member with all roles.
type Member struct {
	Kind  string   `json:"kind"`
	Name  string   `json:"name"`
	Roles []string `json:"roles"`
}

// Quota is a limit of a namespace.
type Quota struct {
	Resource string `json:"resource"`
	Used     string `json:"used"`
	Hard     string `json:"hard"`
	// Percent is how much is used.
	Percent int `json:"percent"`
}

// Contents is how many objects of a kind are in a namespace.
type Contents struct {
	Kind    string `json:"kind"`
	Count   int    `json:"count"`
	Problem string `json:"problem,omitempty"`
}

// projectOf returns the view of a Project, without its quotas and contents.
func projectOf(p *gardenerv1beta1.Project) *Project {
	view := &Project{Members: []Member{}, Quotas: []Quota{}, Contents: []Contents{}}
	if p.Spec.Namespace != nil {
		view.Namespace = *p.Spec.Namespace
	}
	if p.Spec.Purpose != nil {
		view.Purpose = *p.Spec.Purpose
	}
	if p.Spec.Description != nil {
		view.Description = *p.Spec.Description
	}
	if p.Spec.Owner != nil {
		view.Owner = p.Spec.Owner.Name
	}
	for _, m := range p.Spec.Members {
		name := m.Name
		if m.Namespace != "" {
			name = m.Namespace + "/" + m.Name
		}
		view.Members = append(view.Members, Member{Kind: m.Kind, Name: name, Roles: append([]string{m.Role}, m.Roles...)})
	}
	slices.SortStableFunc(view.Members, func(a, b Member) int { return cmp.Compare(a.Roles[0], b.Roles[0]) })
	view.Life, view.Remedy = lifeOf(p)
	return view
}

// lifeOf returns the points of the life of a Project in their order, and what saves it from deletion.
func lifeOf(p *gardenerv1beta1.Project) (life []Point, remedy string) {
	life = []Point{{"created", p.CreationTimestamp.Time}}
	if t := p.Status.LastActivityTimestamp; t != nil {
		life = append(life, Point{"last activity", t.Time})
	}
	if t := p.Status.StaleSinceTimestamp; t != nil {
		life = append(life, Point{"unused since", t.Time})
		remedy = "Create a Kluster, a DiscoveryBackend or another object that uses the Project in its namespace, or set the annotation " +
			gardenerv1beta1.AnnotationSkipStaleCheck + "=true on the namespace."
	}
	if t := p.Status.StaleAutoDeleteTimestamp; t != nil {
		name := "is deleted"
		for _, c := range p.Status.Conditions {
			if c.Type == gardenerv1beta1.ProjectStale && strings.Contains(c.Message, "staleDryRun") {
				name = "would be deleted (staleDryRun)"
			}
		}
		life = append(life, Point{name, t.Time})
	}
	if t := p.DeletionTimestamp; t != nil {
		life, remedy = append(life, Point{"deletion requested", t.Time}), ""
	}
	slices.SortStableFunc(life, func(a, b Point) int { return a.At.Compare(b.At) })
	return life, remedy
}

// quotasOf returns the limits of the quotas of a namespace, the fullest ones first.
func quotasOf(all []corev1.ResourceQuota) []Quota {
	quotas := []Quota{}
	for _, q := range all {
		for resource, hard := range q.Status.Hard {
			used := q.Status.Used[resource]
			one := Quota{Resource: string(resource), Used: used.String(), Hard: hard.String()}
			switch limit := hard.AsApproximateFloat64(); {
			case limit > 0:
				one.Percent = int(100 * used.AsApproximateFloat64() / limit)
			case !used.IsZero():
				one.Percent = 100
			}
			quotas = append(quotas, one)
		}
	}
	slices.SortFunc(quotas, func(a, b Quota) int {
		return cmp.Or(cmp.Compare(b.Percent, a.Percent), cmp.Compare(a.Resource, b.Resource))
	})
	return quotas
}
