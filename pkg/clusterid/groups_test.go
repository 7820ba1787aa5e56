// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package clusterid_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

func TestGroups(t *testing.T) {
	service := func(id string) gimbalv1.ClusterIdentity {
		return gimbalv1.ClusterIdentity{Object: clusterid.ServiceKubernetes, ID: id}
	}
	of := clusterid.OfUID
	got := clusterid.Groups(map[string][]gimbalv1.ClusterIdentity{
		"us": of("1"), "us-copy": of("1"), "eu": of("2"), "unknown": nil, "also-unknown": {service("")},
		// The three are one cluster, although the first and the last have nothing in common.
		"c": of("3"), "a": {service("4"), of("3")[0]}, "b": {service("4")},
	})
	want := map[string]string{
		"us": "us", "us-copy": "us", "eu": "eu", "unknown": "unknown", "also-unknown": "also-unknown", "a": "a", "b": "a", "c": "a",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
}

// TestGroupsAgreeWithCompare checks that two objects are in one group exactly if a chain of comparisons proves it.
func TestGroupsAgreeWithCompare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := []string{clusterid.NamespaceSystem, clusterid.ServiceKubernetes, "project"}
		identities := map[string][]gimbalv1.ClusterIdentity{}
		var names []string
		for i := range rapid.IntRange(1, 6).Draw(t, "objects") {
			name := fmt.Sprint("b", i)
			names = append(names, name)
			identities[name] = nil
			for _, object := range objects {
				if id := rapid.SampledFrom([]string{"", "", "1", "2", "3"}).Draw(t, name+object); id != "" {
					identities[name] = append(identities[name], gimbalv1.ClusterIdentity{Object: object, ID: id})
				}
			}
		}
		groups := clusterid.Groups(identities)
		for _, name := range names {
			reached := map[string]bool{name: true}
			for range names {
				for _, other := range names {
					for _, via := range names {
						if reached[via] && clusterid.Compare(identities[via], identities[other]) == clusterid.Same {
							reached[other] = true
						}
					}
				}
			}
			for _, other := range names {
				if got := groups[name] == groups[other]; got != reached[other] {
					t.Fatalf("%s and %s in one group = %t, want %t: %v", name, other, got, reached[other], identities)
				}
			}
		}
	})
}
