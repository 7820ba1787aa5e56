// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
	typedmidonetv1 "groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned/typed/midonet/v1"
)

// TestBackendResourceBelongsToOneTranslation checks that a backend resource belongs to one Translation, whichever API server
// receives the requests.
func TestBackendResourceBelongsToOneTranslation(t *testing.T) {
	t.Parallel()
	translations := func(config *rest.Config) typedmidonetv1.TranslationInterface {
		c, err := versioned.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		return c.MidonetV1().Translations(metav1.NamespaceDefault)
	}
	first, second := translations(shared.Config()), translations(shared.DirectConfig(1))
	chain := func() midonetv1.BackendResource {
		return midonetv1.BackendResource{Kind: "Chain", Body: `{"id":"` + uuid.NewString() + `"}`}
	}
	owned := map[string]string{midonetv1.LabelOwnerUID: uuid.NewString()}
	key := name(t, "one-")
	build := func(version string, labels map[string]string, resources ...midonetv1.BackendResource) *midonetv1.Translation {
		return &midonetv1.Translation{ObjectMeta: metav1.ObjectMeta{Name: "chain." + version + "." + key, Labels: labels}, Resources: resources}
	}
	t.Cleanup(func() {
		ctx := context.Background()
		for _, version := range []string{"3", "4", "other"} {
			name := "chain." + version + "." + key
			if err := first.Delete(ctx, name, metav1.DeleteOptions{}); apierrors.IsNotFound(err) {
				continue
			} else if err != nil {
				t.Error(err)
			}
			if _, err := first.Patch(ctx, name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{}); err != nil && !apierrors.IsNotFound(err) {
				t.Error(err)
			}
		}
	})
	shares, rest := chain(), chain()
	holder, err := first.Create(t.Context(), build("3", owned, shares), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rejected := func(err error, index int) error {
		want := fmt.Sprintf("resources[%d]: Chain %s belongs to Translation default/%s", index, strings.Split(shares.Body, `"`)[3], holder.Name)
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), want) {
			return errors.Join(fmt.Errorf("it is not rejected with %q", want), err)
		}
		return nil
	}

	for server, api := range []typedmidonetv1.TranslationInterface{first, second} {
		eventually(t, func(ctx context.Context) error { // its index follows the write
			_, err := api.Create(ctx, build("other", nil, rest, shares), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			if err := rejected(err, 1); err != nil {
				return fmt.Errorf("server %d: %w", server, err)
			}
			return nil
		})
	}
	other, err := second.Create(t.Context(), build("other", nil, rest), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other.Resources = append(other.Resources, shares)
	_, err = second.Update(t.Context(), other, metav1.UpdateOptions{})
	if err := rejected(err, 1); err != nil {
		t.Errorf("an update that adds it: %v", err)
	}
	patch := []byte(`{"apiVersion":"midonet.org/v1","kind":"Translation","resources":[{"kind":"Chain","parent":"","body":"` + strings.ReplaceAll(shares.Body, `"`, `\"`) + `"}]}`)
	_, err = first.Patch(t.Context(), other.Name, types.ApplyPatchType, patch, metav1.PatchOptions{FieldManager: "test", Force: new(true)})
	if err := rejected(err, 0); err != nil {
		t.Errorf("an apply that adds it: %v", err)
	}
	if _, err := first.Patch(t.Context(), holder.Name, types.MergePatchType, []byte(`{"status":{"observedGeneration":1}}`), metav1.PatchOptions{}, "status"); err != nil {
		t.Errorf("the status of the holder: %v", err)
	}

	// The owner's Translation of another version takes it over; then both stay editable.
	taker, err := first.Create(t.Context(), build("4", owned, shares), metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a change of the version: %v", err)
	}
	if _, err := second.Patch(t.Context(), taker.Name, types.MergePatchType, []byte(`{"metadata":{"labels":null}}`), metav1.PatchOptions{}); err != nil {
		t.Errorf("an update that leaves a conflict alone: %v", err)
	}

	// A Translation that is being deleted reserves nothing.
	for _, name := range []string{holder.Name, taker.Name} {
		if err := first.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := second.Update(t.Context(), other, metav1.UpdateOptions{}); err != nil {
		t.Errorf("what only those that are being deleted hold: %v", err)
	}
}
