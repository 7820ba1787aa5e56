// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// Checked is a kind of object on the page.
type Checked struct {
	report.Checked
	// Warnings and InProgress count the objects with findings of each level.
	Warnings   int `json:"warnings"`
	InProgress int `json:"inProgress"`
	// Other reports that it is not a kind of Groundskeeper.
	Other bool `json:"other,omitempty"`
	// Loading reports that the kind was not listed yet.
	Loading bool `json:"loading,omitempty"`
	// Since is when the server responded last, if what is shown is older.
	Since *time.Time `json:"since,omitempty"`
}

func (c *Checked) add(worst report.Level) {
	switch worst {
	case report.Warning:
		c.Warnings++
	case report.InProgress:
		c.InProgress++
	}
}

// checkHealth checks the installation and what else is about no object of Groundskeeper. It also updates all findings, as a state of the
// controllers may be part of them.
func (s *store) checkHealth(ctx context.Context) {
	health := s.options.Health(ctx)
	others := &report.Report{}
	if s.options.Namespace == "" {
		others = s.options.Others(ctx, s.projects())
	}
	s.age()
	if config, err := s.options.Config(ctx); err == nil {
		s.stageTimeout.Store(config.Controllers.Kluster.Deorbit.StageTimeout)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() == nil { // else it failed because the console was interrupted
		s.health, s.others = health, others
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
				one.add(report.Worst(e.row.Findings))
			}
		}
		all = append(all, one)
	}
	if s.others != nil {
		for _, c := range s.others.Checked {
			one := Checked{Checked: c, Other: true}
			for _, f := range s.others.Findings {
				if f.Kind == c.Name {
					one.add(f.Level)
				}
			}
			all = append(all, one)
		}
	}
	return all
}

// projects returns the UIDs of all Projects, nil if they are unknown.
func (s *store) projects() map[string]types.UID {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.kinds {
		if _, ok := c.Object().(*gardenerv1beta1.Project); !ok || !c.loaded || c.err != nil {
			continue
		}
		all := make(map[string]types.UID, len(c.objects))
		for name, e := range c.objects {
			all[name.Name] = e.uid
		}
		return all
	}
	return nil
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
