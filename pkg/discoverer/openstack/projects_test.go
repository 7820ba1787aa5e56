// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/openstack"
)

func anywhere(string) bool { return true }

// named are projects, "id name".
func named(texts ...string) []openstack.Project {
	var projects []openstack.Project
	for _, text := range texts {
		id, name, _ := strings.Cut(text, " ")
		projects = append(projects, openstack.Project{ID: id, Name: name, Enabled: true})
	}
	return projects
}

func TestChoose(t *testing.T) {
	all := named("3 Shop", "1 SHOP", "2 shop", "5 bank", "4 team_a", "6 日本", "7 kube-system", "8 bank")
	for name, tc := range map[string]struct {
		watchlist []string
		admits    func(string) bool
		want      []string // id namespace
		partial   bool
		problems  []string // subject type
	}{
		"all": {nil, anywhere, []string{"5 bank", "8 bank disputed", "2 shop", "1 shop disputed", "3 shop disputed", "4 team-a"}, false,
			[]string{"project 1 NameCollision", "project 3 NameCollision", "project 6 InvalidService", "project 7 InvalidService", "project 8 NameCollision"}},
		"by name and id": {[]string{"Shop", "5"}, anywhere, []string{"5 bank", "3 shop"}, false, nil},
		"a name twice":   {[]string{"bank"}, anywhere, []string{"5 bank", "8 bank disputed"}, false, []string{"project 8 NameCollision"}},
		"one is missing": {[]string{"shop", "blog"}, anywhere, []string{"2 shop"}, true, []string{"watchlist blog AuthenticationError"}},
		"admitted":       {nil, func(namespace string) bool { return namespace == "team-a" }, []string{"4 team-a"}, false, []string{"project 6 InvalidService", "project 7 InvalidService"}},
	} {
		c := choose(all, tc.watchlist, tc.admits)
		var got, problems []string
		for _, chosen := range c.tenancies {
			text := chosen.ID + " " + chosen.namespace
			if chosen.disputed {
				text += " disputed"
			}
			got = append(got, text)
		}
		for subject, found := range c.problems {
			for _, problem := range found {
				problems = append(problems, subject+" "+problem.Type)
			}
		}
		slices.Sort(problems)
		if !slices.Equal(got, tc.want) || c.partial != tc.partial || !slices.Equal(problems, tc.problems) {
			t.Errorf("%s: %q, partial %v, problems %q", name, got, c.partial, problems)
		}
	}
	collision := choose(all, nil, anywhere).problems["project 3"][0]
	if collision.Type != gimbalv1.ErrorNameCollision || !strings.Contains(collision.Message, "project Shop (3)") || !strings.Contains(collision.Message, "project shop (2)") {
		t.Errorf("it does not name both: %s", collision.Message)
	}
}

func TestNamespaceOf(t *testing.T) {
	for project, want := range map[string]string{
		"shop": "shop", "Shop Front": "shop-front", "_a.b/c_": "a-b-c", "42": "42", "日本": "", "--": "", "Größe": "gr--e",
		strings.Repeat("a", 70): strings.Repeat("a", 63), strings.Repeat("a", 62) + "_b": strings.Repeat("a", 62),
	} {
		if got := namespaceOf(project); got != want {
			t.Errorf("%s: %s", project, got)
		}
	}
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"", "shop", "Größe", strings.Repeat("-a", 60), "a\xff", "x.y_z-"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if namespace := namespaceOf(name); namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
			t.Errorf("%q is no namespace", namespace)
		}
		if value := labelValue(name); len(validation.IsValidLabelValue(value)) > 0 {
			t.Errorf("%q is no value of a label", value)
		}
	})
}
