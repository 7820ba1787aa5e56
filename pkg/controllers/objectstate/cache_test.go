// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package objectstate

import (
	"context"
	"errors"
	"testing"

	"k8s.io/client-go/tools/cache"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/apis/config/validation"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
)

// onlyProjects has the informer of Projects.
type onlyProjects struct{ cache.SharedIndexInformer }

func (o onlyProjects) GetInformer(_ context.Context, object client.Object, _ ...ctrlcache.InformerGetOption) (ctrlcache.Informer, error) {
	if _, ok := object.(*gardenerv1beta1.Project); !ok {
		return nil, errors.New("no controller watches it")
	}
	return o.SharedIndexInformer, nil
}

func TestCached(t *testing.T) {
	informer := cache.NewSharedIndexInformer(&cache.ListWatch{}, &gardenerv1beta1.Project{}, 0, nil)
	if err := informer.GetStore().Add(project("a", "True", "")); err != nil {
		t.Fatal(err)
	}
	kinds, err := Cached(onlyProjects{informer}, validation.ObjectKinds())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range kinds {
		objects, err := kind.List(t.Context())
		if want := kind.Name == "Project"; (err == nil) != want || (len(objects) == 1) != want {
			t.Errorf("kind %s: %d objects, error %v", kind.Name, len(objects), err)
		}
	}
	if _, err := Cached(onlyProjects{informer}, []string{"Shoot"}); err == nil {
		t.Error("a kind that does not exist is accepted")
	}
}
