// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// Checked is a kind of object on the page.
type Checked struct {
	report.Checked
	// Warnings and InProgress count the objects with findings of each level.
	Warnings   int `json:"warnings"`
	InProgress int `json:"inProgress"`
	// Loading reports that the kind was not listed yet.
	Loading bool `json:"loading,omitempty"`
	// Since is when the server responded last, if what is shown is older.
	Since *time.Time `json:"since,omitempty"`
}

func (c *Checked) add(row *Row) {
	switch report.Worst(row.Findings) {
	case report.Warning:
		c.Warnings++
	case report.InProgress:
		c.InProgress++
	}
}

// checkHealth checks the installation, and the policies of the cluster.
func (s *store) checkHealth(ctx context.Context) {
	health := s.options.Health(ctx)
	policies := &report.Report{}
	if s.options.Namespace == "" {
		policies = s.options.Policies(ctx)
	}
	if config, err := s.options.Config(ctx); err == nil {
		s.stageTimeout.Store(config.Controllers.Kluster.Deorbit.StageTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil { // else it failed because the console was interrupted
		s.health, s.policies = health, policies
		s.changed("")
	}
}

// checked returns what was checked, as "status" reports it.
func (s *store) checked() (all []Checked) {
	for _, k := range s.options.Kinds {
		if s.options.Namespace != "" && k.Global {
			continue
		}
		c := s.kinds[k.Title]
		if c.absent {
			continue
		}
		one := Checked{Checked: report.Checked{Name: k.Title, Count: len(c.objects), Problem: s.problem(c)}, Loading: !c.loaded && c.err == nil}
		if c.loaded && c.err != nil {
			one.Since = new(c.since)
		}
		for _, e := range c.objects {
			if e.row != nil {
				one.add(e.row)
			}
		}
		all = append(all, one)
	}
	if s.policies != nil {
		for _, c := range s.policies.Checked {
			all = append(all, Checked{Checked: c, Warnings: len(s.policies.Findings)})
		}
	}
	return all
}

// problem is why the state of a kind is unknown.
func (s *store) problem(c *content) string {
	switch {
	case c.err == nil:
		return ""
	case apierrors.IsForbidden(c.err):
		return c.Denied
	default:
		return strings.Join(strings.Fields(s.options.Explain(c.err).Error()), " ")
	}
}
