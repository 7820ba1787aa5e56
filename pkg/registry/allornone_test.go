// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package registry_test

import (
	"context"
	"errors"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/apiserver/pkg/storage"
)

// listed is a storage that can only be listed, and counts the objects that somebody is about to delete.
type listed struct {
	storage.Interface
	items   []runtime.Object
	deleted int
}

// GetList implements storage.Interface.
func (l *listed) GetList(_ context.Context, _ string, _ storage.ListOptions, list runtime.Object) error {
	return apimeta.SetList(list, l.items)
}

// Get implements storage.Interface. A deletion begins with it.
func (l *listed) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	l.deleted++
	return errors.New("only listed")
}

// TestAllOrNone checks that of Projects and Klusters none is deleted with the collection if one of them is protected.
func TestAllOrNone(t *testing.T) {
	forEach(t, func(t *testing.T, kind served) {
		open, protected := kind.good(), kind.good()
		protected.SetName("protected")
		objects := &listed{items: []runtime.Object{open, protected}}
		kind.store.Storage.Storage = objects
		rejection := errors.New("it is protected")
		validate := func(_ context.Context, object runtime.Object) error {
			if accessor, err := apimeta.Accessor(object); err != nil || accessor.GetName() == "protected" {
				return rejection
			}
			return nil
		}
		_, err := kind.endpoints[kind.resource].(rest.CollectionDeleter).DeleteCollection(kind.request(t, open, ""), validate,
			&metav1.DeleteOptions{}, &internalversion.ListOptions{})
		whole := kind.resource == "projects" || kind.resource == "klusters"
		if got := objects.deleted == 0; got != whole || whole && !errors.Is(err, rejection) {
			t.Errorf("none deleted = %t, error = %v, want %t and the rejection of a whole collection", got, err, whole)
		}
	})
}
