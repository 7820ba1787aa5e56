// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

func TestValidateTexts(t *testing.T) {
	const allowed = `may only contain letters, digits, spaces and .,:-_/\`
	for name, set := range map[string]func(*gardenerv1beta1.ProjectSpec, *string){
		"description": func(s *gardenerv1beta1.ProjectSpec, text *string) { s.Description = text },
		"purpose":     func(s *gardenerv1beta1.ProjectSpec, text *string) { s.Purpose = text },
	} {
		text := func(text string) func(*gardenerv1beta1.Project) {
			return spec(func(s *gardenerv1beta1.ProjectSpec) { set(s, &text) })
		}
		invalid := []string{"spec." + name + ": Invalid value", allowed}
		t.Run(name, func(t *testing.T) {
			both(t, []change{
				{"absent", spec(func(s *gardenerv1beta1.ProjectSpec) { set(s, nil) }), nil},
				{"every sign", text(`Az 09 .,:-_/\`), nil},
				{"other alphabets", text("Zürich 東京 ﻣﺪﻳﻨﺔ ٣"), nil},
				{"letter with a combining accent", text("Zu\u0308rich"), nil},
				{"no-break space", text("a\u00a0b"), nil},
				{"one space", text(" "), nil},
				{"empty", text(""), []string{"spec." + name + ": Required value", "must provide a " + name + " when key is present"}},
				{"markup", text("<b>"), invalid},
				{"apostrophe", text("it's"), invalid},
				{"line break", text("a\nb"), invalid},
				{"tab", text("a\tb"), invalid},
				{"symbol", text("a+b"), invalid},
				{"emoji", text("🌱"), invalid},
				{"not UTF-8", text("a\xffb"), invalid},
			})
		})
		t.Run(name+" ratchets", func(t *testing.T) {
			for _, tc := range []struct{ old, next, want string }{
				{"<old>", "<old>", ""},
				{"", "", ""},
				{"<old>", "<new>", "Invalid value"},
				{"<old>", "", "Required value"},
				{"<old>", "good", ""},
			} {
				old, next := goodProject(), goodProject()
				next.Spec.Members = append(next.Spec.Members, member(user("bob"), "viewer")) // so that the spec changes
				set(&old.Spec, &tc.old)
				set(&next.Spec, &tc.next)
				var want []string
				if tc.want != "" {
					want = []string{"spec." + name + ": " + tc.want}
				}
				expect(t, ValidateProjectUpdate(next, old), want)
			}
		})
	}
}

func TestValidateTolerations(t *testing.T) {
	bare := func(key string) gardenerv1beta1.Toleration { return gardenerv1beta1.Toleration{Key: key} }
	valued := func(key, value string) gardenerv1beta1.Toleration {
		return gardenerv1beta1.Toleration{Key: key, Value: &value}
	}
	type list = []gardenerv1beta1.Toleration
	set := func(whitelist, defaults list) func(*gardenerv1beta1.Project) {
		return spec(func(s *gardenerv1beta1.ProjectSpec) {
			s.Tolerations = &gardenerv1beta1.ProjectTolerations{Whitelist: whitelist, Defaults: defaults}
		})
	}
	both(t, []change{
		{"empty", set(nil, nil), nil},
		{"key with a domain", set(list{bare("seed.gardener.cloud/protected")}, nil), nil},
		{"two values of one key", set(list{valued("a", "1"), valued("a", "2")}, nil), nil},
		{"empty value", set(list{valued("a", "")}, nil), nil},
		{"no key", set(list{bare("")}, nil), []string{"spec.tolerations.whitelist[0].key: Required value", "name the taint"}},
		{"bad key", set(list{bare("a"), bare("a b")}, nil), []string{"spec.tolerations.whitelist[1].key: Invalid value: \"a b\""}},
		{"bad value", set(list{valued("a", "b c")}, nil), []string{"spec.tolerations.whitelist[0].value: Invalid value: \"b c\""}},
		{"value of 64 characters", set(list{valued("a", strings.Repeat("b", 64))}, nil), []string{"spec.tolerations.whitelist[0].value: Invalid value", "63"}},
		{"key twice", set(list{bare("a"), bare("a")}, nil), []string{"spec.tolerations.whitelist[1]: Duplicate value: \"a\""}},
		{"key and value twice", set(list{valued("a", "1"), valued("a", "1")}, nil), []string{"spec.tolerations.whitelist[1]: Duplicate value: \"a=1\""}},
		{"value of a key that is there for every value", set(list{bare("a"), valued("a", "1")}, nil), []string{"spec.tolerations.whitelist[1]: Duplicate value: \"a=1\""}},

		{"default of the whitelist", set(list{valued("a", "1"), bare("b")}, list{bare("b"), valued("a", "1")}), nil},
		{"default with a value, whitelist for every value", set(list{bare("a")}, list{valued("a", "1")}), nil},
		{"default without whitelist", set(nil, list{bare("a")}), []string{"spec.tolerations.defaults[0]: Forbidden", "only tolerations of the whitelist can be defaults: add it there"}},
		{"default with another value", set(list{valued("a", "1")}, list{valued("a", "2")}), []string{"spec.tolerations.defaults[0]: Forbidden"}},
		{"default for every value, whitelist for one", set(list{valued("a", "1")}, list{bare("a")}), []string{"spec.tolerations.defaults[0]: Forbidden"}},
		{"default twice", set(list{bare("a")}, list{bare("a"), bare("a")}), []string{"spec.tolerations.defaults[1]: Duplicate value: \"a\""}},
		{"bad default", set(list{bare("a")}, list{valued("a", "b c")}), []string{"spec.tolerations.defaults[0].value: Invalid value: \"b c\""}},
	})
}

// The garden project gets two tolerations from the server. They must be valid with any other content of its manifest.
func TestValidateDefaultsOfGarden(t *testing.T) {
	for _, whitelist := range [][]gardenerv1beta1.Toleration{
		nil, {{Key: gardenerv1beta1.SeedProtectedTaint}}, {{Key: gardenerv1beta1.SeedProtectedTaint, Value: new("true")}}, {{Key: "other"}},
	} {
		for _, defaults := range [][]gardenerv1beta1.Toleration{nil, whitelist} {
			project := goodProject()
			project.Spec.Namespace = new(gardenerv1beta1.GardenNamespace)
			project.Spec.Tolerations = &gardenerv1beta1.ProjectTolerations{Whitelist: whitelist, Defaults: defaults}
			gardenerv1beta1.NormalizeProject(project)
			expect(t, ValidateProject(project), nil)
		}
	}
}

func TestValidateDualApproval(t *testing.T) {
	approve := func(approvals ...gardenerv1beta1.DualApprovalForDeletion) func(*gardenerv1beta1.Project) {
		return spec(func(s *gardenerv1beta1.ProjectSpec) { s.DualApprovalForDeletion = approvals })
	}
	selector := metav1.LabelSelector{MatchLabels: map[string]string{"production": "true"}}
	both(t, []change{
		{"klusters and shoots", approve(gardenerv1beta1.DualApprovalForDeletion{Resource: "klusters", Selector: selector}, gardenerv1beta1.DualApprovalForDeletion{Resource: "shoots"}), nil},
		{"another resource", approve(gardenerv1beta1.DualApprovalForDeletion{Resource: "klusters"}, gardenerv1beta1.DualApprovalForDeletion{Resource: "secrets"}),
			[]string{"spec.dualApprovalForDeletion[1].resource: Unsupported value: \"secrets\"", `"klusters"`, `"shoots"`}},
		{"kind in place of the resource", approve(gardenerv1beta1.DualApprovalForDeletion{Resource: "Kluster"}), []string{"spec.dualApprovalForDeletion[0].resource: Unsupported value"}},
		{"no resource", approve(gardenerv1beta1.DualApprovalForDeletion{}), []string{"spec.dualApprovalForDeletion[0].resource: Unsupported value"}},
		{"bad label in the selector", approve(gardenerv1beta1.DualApprovalForDeletion{Resource: "klusters", Selector: metav1.LabelSelector{MatchLabels: map[string]string{"a b": "c"}}}),
			[]string{"spec.dualApprovalForDeletion[0].selector.matchLabels: Invalid value: \"a b\""}},
		{"bad operator in the selector", approve(gardenerv1beta1.DualApprovalForDeletion{Resource: "klusters", Selector: metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}},
		}}), []string{"spec.dualApprovalForDeletion[0].selector.matchExpressions[0].operator: Invalid value"}},
	})
}
