// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package claims_test

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/apis/example"
)

func TestLevels(t *testing.T) {
	s := newCluster(t).server(t, byName())
	for _, test := range []struct {
		held, wanted string
		free         bool
	}{
		{"us", "us", false},
		{"us", "us-east", false},
		{"us", "us-east-1", false},
		{"us-east-1", "us", false},
		{"us-east-1", "us-east", false},
		{"us-east", "us-west", true},
		{"us-east", "us-east1", true},
		{"us", "usa", true},
		{"usa", "us", true},
		{"us-1", "us-10", true},
	} {
		t.Run(test.held+" "+test.wanted, func(t *testing.T) {
			must(t, s.create(t.Context(), pod("one", test.held, "")))
			for _, dry := range [][]string{dryRun, nil} {
				err := s.create(t.Context(), pod("two", test.wanted, ""), dry...)
				if test.free && err != nil || !test.free && !apierrors.IsForbidden(err) {
					t.Errorf("dry run %v: %v", dry, err)
				}
				if err != nil && !strings.Contains(err.Error(), `"`+test.held+`" is taken`) {
					t.Errorf("dry run %v: %v does not name the held name", dry, err)
				}
			}
			must(t, s.delete(t.Context(), "one", test.held))
			if test.free {
				must(t, s.delete(t.Context(), "two", test.wanted))
			}
		})
	}
}

func TestTooManyLevels(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	most := strings.Repeat("a/", 125) + "a"
	must(t, s.create(t.Context(), pod("one", "most", most)))
	must(t, s.delete(t.Context(), "one", "most"))
	for _, dry := range [][]string{dryRun, nil} {
		if err := s.create(t.Context(), pod("one", "more", "a/"+most), dry...); !apierrors.IsBadRequest(err) {
			t.Errorf("dry run %v: got %v", dry, err)
		}
	}
	must(t, s.create(t.Context(), pod("one", "moved", "b")))
	must(t, s.change(t.Context(), "one", "moved", func(p *example.Pod) { p.Spec.NodeName = most }))
	checkHistory(t, c, byNode())
}

func TestRenameBelowItselfIsRejected(t *testing.T) {
	c := newCluster(t)
	s := c.server(t, byNode())
	must(t, s.create(t.Context(), pod("one", "p", "us/east")))
	for _, node := range []string{"us", "us/east/1"} {
		if err := s.change(t.Context(), "one", "p", func(p *example.Pod) { p.Spec.NodeName = node }); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v", node, err)
		}
	}
	c.check(t, "us/east/=one/p")
}
