// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	typedmidonetv1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/midonet/v1"
)

// chains are resources whose ids end in these letters.
func chains(letters string) []midonetv1.BackendResource {
	var all []midonetv1.BackendResource
	for _, letter := range letters {
		all = append(all, midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"` + chainID(letter) + `"}`})
	}
	return all
}

func chainID(letter rune) string { return "13fb0355-e2d9-5a9f-83a6-1efd43edebb" + string(letter) }

// TestTranslationRecordsRemovedResources checks that the response to an update lists the resources that it removes in the status,
// for every kind of request.
func TestTranslationRecordsRemovedResources(t *testing.T) {
	patch := func(kind types.PatchType, head string) func(*testing.T, typedmidonetv1.TranslationInterface, *midonetv1.Translation, []string) *midonetv1.Translation {
		return func(t *testing.T, translations typedmidonetv1.TranslationInterface, wanted *midonetv1.Translation, dryRun []string) *midonetv1.Translation {
			resources, err := json.Marshal(wanted.Resources)
			if err != nil {
				t.Fatal(err)
			}
			options := metav1.PatchOptions{DryRun: dryRun}
			if kind == types.ApplyPatchType {
				options.FieldManager, options.Force = "converter", new(true)
			}
			got, err := translations.Patch(t.Context(), wanted.Name, kind, []byte(`{`+head+`"resources":`+string(resources)+`}`), options)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
	}
	for way, write := range map[string]func(*testing.T, typedmidonetv1.TranslationInterface, *midonetv1.Translation, []string) *midonetv1.Translation{
		"replace": func(t *testing.T, translations typedmidonetv1.TranslationInterface, wanted *midonetv1.Translation, dryRun []string) *midonetv1.Translation {
			got, err := translations.Update(t.Context(), wanted, metav1.UpdateOptions{DryRun: dryRun})
			if err != nil {
				t.Fatal(err)
			}
			return got
		},
		// As kubectl replace of the manifest does, which knows neither version nor status.
		"replace of the manifest": func(t *testing.T, translations typedmidonetv1.TranslationInterface, wanted *midonetv1.Translation, dryRun []string) *midonetv1.Translation {
			got, err := translations.Update(t.Context(), &midonetv1.Translation{ObjectMeta: created(wanted.Name), Resources: wanted.Resources}, metav1.UpdateOptions{DryRun: dryRun})
			if err != nil {
				t.Fatal(err)
			}
			return got
		},
		"merge patch": patch(types.MergePatchType, ""),
		"apply":       patch(types.ApplyPatchType, `"apiVersion":"midonet.org/v1","kind":"Translation",`),
	} {
		t.Run(way, func(t *testing.T) {
			translations := client(t, 0, asJSON).MidonetV1().Translations("default")
			pushed := midonetv1.BackendResourceStatus{Kind: "Chain", ID: chainID('a'), State: midonetv1.BackendResourceSynced, BodyHash: "h"}
			made, err := translations.Create(t.Context(), &midonetv1.Translation{ObjectMeta: created(name(t, "shrink.4.")), Resources: chains("abc")}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			made.Status.Resources = []midonetv1.BackendResourceStatus{pushed}
			if made, err = translations.UpdateStatus(t.Context(), made, metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			expect := func(what string, got *midonetv1.Translation, letters string) {
				t.Helper()
				want := []midonetv1.BackendResourceStatus{pushed}
				for _, letter := range letters {
					want = append(want, midonetv1.BackendResourceStatus{Kind: "Chain", ID: chainID(letter), State: midonetv1.BackendResourceDeleting})
				}
				if diff := cmp.Diff(want, got.Status.Resources); diff != "" {
					t.Errorf("%s: the status (-want +got):\n%s", what, diff)
				}
			}
			read := func() *midonetv1.Translation {
				t.Helper()
				got, err := translations.Get(t.Context(), made.Name, metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				return got
			}
			wanted := made.DeepCopy()
			wanted.Resources = chains("c")
			expect("a dry run", write(t, translations, wanted, []string{metav1.DryRunAll}), "b")
			if after := read(); after.ResourceVersion != made.ResourceVersion {
				t.Error("the dry run wrote")
			}
			shrunk := write(t, translations, wanted, nil)
			expect("the response", shrunk, "b")
			expect("what is stored", read(), "b")
			again := shrunk.DeepCopy()
			if same := write(t, translations, again, nil); same.ResourceVersion != shrunk.ResourceVersion {
				t.Error("the same once more was written")
			}
			back := shrunk.DeepCopy()
			back.Resources = chains("bc")
			regrown := write(t, translations, back, nil)
			expect("wanted again", regrown, "b")
			regrown.Resources = nil
			expect("nothing is wanted", write(t, translations, regrown, nil), "bc")

			if err := translations.Delete(t.Context(), made.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			if _, err := translations.Patch(t.Context(), made.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
