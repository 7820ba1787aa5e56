// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid_test

import (
	"testing"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

func TestCompare(t *testing.T) {
	namespace := func(id string) gimbalv1.ClusterIdentity {
		return gimbalv1.ClusterIdentity{Object: clusterid.NamespaceSystem, ID: id}
	}
	service := func(id string) gimbalv1.ClusterIdentity {
		return gimbalv1.ClusterIdentity{Object: clusterid.ServiceKubernetes, ID: id}
	}
	project := func(id string) gimbalv1.ClusterIdentity {
		return gimbalv1.ClusterIdentity{Object: "project", ID: id}
	}
	type ids = []gimbalv1.ClusterIdentity
	for name, test := range map[string]struct {
		a, b ids
		want clusterid.Verdict
	}{
		"neither is known":                         {want: clusterid.Unknown},
		"one is not known":                         {a: ids{namespace("1")}, want: clusterid.Unknown},
		"an empty uid is not known":                {a: ids{namespace("")}, b: ids{namespace("")}, want: clusterid.Unknown},
		"the same namespace":                       {a: ids{namespace("1")}, b: ids{namespace("1")}, want: clusterid.Same},
		"another namespace":                        {a: ids{namespace("1")}, b: ids{namespace("2")}, want: clusterid.Different},
		"only the Service is known, and the same":  {a: ids{service("1")}, b: ids{namespace("2"), service("1")}, want: clusterid.Same},
		"the Service was recreated":                {a: ids{namespace("1"), service("1")}, b: ids{service("2"), namespace("1")}, want: clusterid.Same},
		"only the Service is known, and another":   {a: ids{service("1")}, b: ids{service("2")}, want: clusterid.Unknown},
		"nothing in common":                        {a: ids{service("1")}, b: ids{namespace("1")}, want: clusterid.Unknown},
		"the same project of a cloud":              {a: ids{project("p/r")}, b: ids{project("p/r")}, want: clusterid.Same},
		"another region":                           {a: ids{project("p/r")}, b: ids{project("p/s")}, want: clusterid.Different},
		"a cluster and a cloud":                    {a: ids{namespace("1")}, b: ids{project("p/r")}, want: clusterid.Unknown},
		"the same uid of objects that are not one": {a: ids{namespace("1")}, b: ids{service("1")}, want: clusterid.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			if got := clusterid.Compare(test.a, test.b); got != test.want {
				t.Errorf("verdict = %d, want %d", got, test.want)
			}
			if got := clusterid.Compare(test.b, test.a); got != test.want {
				t.Errorf("verdict in reverse = %d, want %d", got, test.want)
			}
		})
	}
}

func TestOfUID(t *testing.T) {
	if got := clusterid.OfUID(""); got != nil {
		t.Errorf("identity of an empty uid = %v, want none", got)
	}
	if got := clusterid.Compare(clusterid.OfUID("1"), clusterid.OfUID("1")); got != clusterid.Same {
		t.Errorf("verdict = %d, want %d", got, clusterid.Same)
	}
}
