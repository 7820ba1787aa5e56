// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

func TestDecide(t *testing.T) {
	type ids = []gimbalv1.ClusterIdentity
	namespace := func(id string) gimbalv1.ClusterIdentity { return gimbalv1.ClusterIdentity{Object: "namespace", ID: id} }
	service := func(id string) gimbalv1.ClusterIdentity { return gimbalv1.ClusterIdentity{Object: "service", ID: id} }
	for name, tc := range map[string]struct {
		recorded, observed ids
		confirmation       string
		want               verdict
		next               ids
	}{
		"the first":                        {nil, ids{namespace("a"), service("b")}, "", first, ids{namespace("a"), service("b")}},
		"the first without permissions":    {nil, nil, "", unidentified, nil},
		"the same":                         {ids{namespace("a"), service("b")}, ids{namespace("a"), service("b")}, "", same, ids{namespace("a"), service("b")}},
		"a recreated Service":              {ids{namespace("a"), service("b")}, ids{namespace("a"), service("c")}, "", same, ids{namespace("a"), service("c")}},
		"a recreated Service alone":        {ids{service("b")}, ids{service("c")}, "", another, ids{service("b")}},
		"more permissions":                 {ids{service("b")}, ids{namespace("a"), service("b")}, "", same, ids{service("b"), namespace("a")}},
		"fewer permissions":                {ids{namespace("a"), service("b")}, ids{service("b")}, "", same, ids{namespace("a"), service("b")}},
		"no permissions any more":          {ids{namespace("a")}, nil, "", unreadable, ids{namespace("a")}},
		"no permissions, confirmed":        {ids{namespace("a")}, nil, "a", unreadable, ids{namespace("a")}},
		"nothing to compare":               {ids{namespace("a")}, ids{service("c")}, "", unreadable, ids{namespace("a")}},
		"nothing to compare, confirmed":    {ids{namespace("a")}, ids{service("c")}, "c", confirmed, ids{service("c")}},
		"another":                          {ids{namespace("a"), service("b")}, ids{namespace("x"), service("y")}, "", another, ids{namespace("a"), service("b")}},
		"another, confirmed":               {ids{namespace("a"), service("b")}, ids{namespace("x"), service("y")}, "x", confirmed, ids{namespace("x"), service("y")}},
		"another, confirmed by its second": {ids{namespace("a"), service("b")}, ids{namespace("x"), service("y")}, "y", confirmed, ids{namespace("x"), service("y")}},
		"another, a third is confirmed":    {ids{namespace("a")}, ids{namespace("x")}, "z", another, ids{namespace("a")}},
		"another, the former is confirmed": {ids{namespace("a")}, ids{namespace("x")}, "a", another, ids{namespace("a")}},
		"an id without a uid":              {ids{namespace("a")}, ids{namespace("")}, "", another, ids{namespace("a")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, next := decide(tc.recorded, tc.observed, tc.confirmation)
			if got != tc.want {
				t.Errorf("verdict = %v, want %v", got, tc.want)
			}
			if diff := cmp.Diff(tc.next, next); diff != "" {
				t.Errorf("to record (-want +got):\n%s", diff)
			}
		})
	}
}
