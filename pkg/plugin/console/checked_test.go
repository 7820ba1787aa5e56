// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// The page has what status finds about no object of Groundskeeper. Which namespaces lost their Project is only asked for while all
// Projects are known, and nothing is asked for in a console for one namespace.
func TestOthers(t *testing.T) {
	_, reading := newWorld(t)
	var asked []map[string]types.UID
	found := &report.Report{Checked: []report.Checked{{Name: "Namespaces", Count: 2}, {Name: "Policies", Count: 1}}, Findings: []report.Finding{
		{Kind: "Namespaces", Name: "a", Level: report.Warning}, {Kind: "Namespaces", Name: "b", Level: report.InProgress}, {Kind: "Policies", Name: "p", Level: report.Warning}}}
	o := optionsOf(reading)
	o.Others = func(_ context.Context, projects map[string]types.UID) *report.Report {
		asked = append(asked, projects)
		return found
	}
	s := newStore(o)
	s.checkHealth(t.Context())
	first := s.list("Projects")
	first.add([]client.Object{readyProject()})
	s.checkHealth(t.Context()) // there may be others
	first.done()
	s.checkHealth(t.Context())
	s.failed("Projects", errors.New("timeout"))
	s.checkHealth(t.Context())
	if diff := cmp.Diff([]map[string]types.UID{nil, nil, {"shop": "uid-p"}, nil}, asked); diff != "" {
		t.Errorf("Projects (-want +got):\n%s", diff)
	}
	d := s.take(s.subscribe())
	want := []Checked{{Checked: found.Checked[0], Warnings: 1, InProgress: 1, Other: true}, {Checked: found.Checked[1], Warnings: 1, Other: true}}
	if diff := cmp.Diff(want, d.Checked[len(d.Checked)-2:]); diff != "" {
		t.Errorf("checked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(found.Findings, d.Others); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}

	o.Namespace = "garden-shop"
	asked = nil
	if newStore(o).checkHealth(t.Context()); asked != nil {
		t.Error("a console for one namespace asks for what is about the whole cluster")
	}
}

// How the controllers run is part of findings: they change with each check.
func TestFindingsFollowTheState(t *testing.T) {
	_, reading := newWorld(t)
	o := optionsOf(reading)
	state := "is waiting"
	o.Kinds[1].Findings = func(client.Object, time.Time) []report.Finding { return []report.Finding{{Message: state}} }
	s := newStore(o)
	s.set("Klusters", klusterIn(kubernikusv1.KlusterPending, "db"))
	sub := s.subscribe()
	s.take(sub)
	state = "no controller reconciles it"
	s.checkHealth(t.Context())
	if rows := s.take(sub).Rows; len(rows) != 1 || rows[0].Findings[0].Message != state {
		t.Errorf("rows = %+v, want that %s", rows, state)
	}
}

// An object of which something could not be found out is shown, with what that is.
func TestObjectWithProblems(t *testing.T) {
	_, reading := newWorld(t, readyProject())
	o := optionsOf(reading)
	o.Kinds[0].Why = func(context.Context, client.Object) (*report.Report, error) {
		return &report.Report{Checked: []report.Checked{{Name: "Projects"}, {Name: "Secrets", Problem: "you are not allowed to list Secrets"}},
			Findings: []report.Finding{{Message: "is unused"}}}, errors.New("timeout")
	}
	var got Object
	open(t, o).read("/api/object?kind=project&name=shop", &got)
	if diff := cmp.Diff([]string{"you are not allowed to list Secrets", "timeout"}, got.Problems); diff != "" || len(got.Findings) != 1 {
		t.Errorf("findings = %+v, problems (-want +got):\n%s", got.Findings, diff)
	}
}
