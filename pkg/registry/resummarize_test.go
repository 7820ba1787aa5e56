// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// An object is written for its summary only if it has another one: a start after which nothing changed writes nothing.
func TestOutdated(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		status := kind.endpoints[kind.resource+"/status"].(*registry.StatusREST)
		former := kind.good()
		reconcile(former, 1)
		if !status.IsOutdated(former) {
			t.Error("an object of a version without summaries is not outdated")
		}
		if current := kind.stored(t); status.IsOutdated(current) {
			t.Error("a new object is outdated")
		}
	})
}

func TestResummarize(t *testing.T) {
	named := func(name string) gardenerv1beta1.Project {
		return gardenerv1beta1.Project{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	list := &gardenerv1beta1.ProjectList{Items: []gardenerv1beta1.Project{named("current"), named("invalid"), named("deleted"), named("old")}}
	var tried []string
	written, err := registry.ResummarizeList(list,
		func(o runtime.Object) bool { return o.(*gardenerv1beta1.Project).Name != "current" },
		func(o metav1.Object) error {
			tried = append(tried, o.GetName())
			switch o.GetName() {
			case "invalid":
				return errors.New("not valid")
			case "deleted":
				return apierrors.NewNotFound(gardenerv1beta1.Resource("projects"), o.GetName())
			}
			return nil
		})
	if written != 1 || !slices.Equal(tried, []string{"invalid", "deleted", "old"}) {
		t.Errorf("wrote %d, tried %v, want 1 of invalid, deleted and old", written, tried)
	}
	if err == nil || !strings.Contains(err.Error(), "invalid: not valid") || strings.Contains(err.Error(), "deleted") {
		t.Errorf("error = %v, want that of the invalid object", err)
	}
}
