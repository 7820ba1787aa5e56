// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plugins has what the admission plugins below it share: the objects of a request, the permissions of its user, and an index of all
// objects of a kind.
package plugins

import (
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
)

// Objects returns the object of a request, and the one that an update changes: nil when it is no update.
func Objects[T any](a admission.Attributes) (object, old *T, err error) {
	if object, err = as[T](a.GetObject()); err != nil || a.GetOperation() != admission.Update {
		return object, nil, err
	}
	old, err = as[T](a.GetOldObject())
	return object, old, err
}

func as[T any](object runtime.Object) (*T, error) {
	typed, ok := any(object).(*T)
	if !ok {
		return nil, apierrors.NewInternalError(fmt.Errorf("a %T is not a %s", object, reflect.TypeFor[T]().Name()))
	}
	return typed, nil
}

// Metadata returns the metadata of the object of a request, and that of the one that an update changes: nil when it is no
// update.
func Metadata(a admission.Attributes) (object, old metav1.Object, err error) {
	if object, err = metadataOf(a.GetObject()); err != nil || a.GetOperation() != admission.Update {
		return object, nil, err
	}
	old, err = metadataOf(a.GetOldObject())
	return object, old, err
}

func metadataOf(object runtime.Object) (metav1.Object, error) {
	if object, ok := object.(metav1.Object); ok {
		return object, nil
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("a %T has no metadata", object))
}
