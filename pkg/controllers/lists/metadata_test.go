// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lists

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestMetadata checks that a list has all pages, or is an error.
func TestMetadata(t *testing.T) {
	page := func(name, token string) *metav1.List {
		object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "garden-a", Name: name}}
		return &metav1.List{ListMeta: metav1.ListMeta{Continue: token}, Items: []runtime.RawExtension{{Object: object}}}
	}
	expired := apierrors.NewResourceExpired("the continue token is too old")
	for name, test := range map[string]struct {
		second error // of the second page
		want   []string
	}{
		"all pages":             {nil, []string{"a", "b"}},
		"a page that expired":   {expired, nil},
		"a page that is denied": {apierrors.NewForbidden(corev1.Resource("configmaps"), "", errors.New("no")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			objects := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
			pages := 0
			objects.PrependReactor("list", "configmaps", func(action clienttesting.Action) (bool, runtime.Object, error) {
				if got := action.GetNamespace(); got != "garden-a" {
					t.Errorf("namespace = %q, want %q", got, "garden-a")
				}
				switch pages++; {
				case pages == 1:
					return true, page("a", "more"), nil
				case pages == 2 && test.second != nil:
					return true, nil, test.second
				default:
					return true, page("b", ""), nil
				}
			})
			found, err := Metadata(t.Context(), objects, corev1.SchemeGroupVersion.WithResource("configmaps"), "garden-a", "")
			var got []string
			for i := range found {
				got = append(got, found[i].Name)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if !errors.Is(err, test.second) || err != nil && !strings.HasPrefix(err.Error(), "list configmaps: ") {
				t.Errorf("error = %v, want %v", err, test.second)
			}
		})
	}
}
