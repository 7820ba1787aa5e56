// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package plugins has what the admission plugins below it share: the objects of a request, the permissions of its user, and an index of all
// objects of a kind.
package plugins

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"
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
	if object, err = MetadataOf(a.GetObject()); err != nil || a.GetOperation() != admission.Update {
		return object, nil, err
	}
	old, err = MetadataOf(a.GetOldObject())
	return object, old, err
}

// MetadataOf returns the metadata of an object of a request.
func MetadataOf(object runtime.Object) (metav1.Object, error) {
	if object, ok := object.(metav1.Object); ok {
		return object, nil
	}
	return nil, apierrors.NewInternalError(fmt.Errorf("a %T has no metadata", object))
}

// Permissions reviews the permissions of a user with the authorizer of the server. A plugin that embeds it gets that authorizer
// before its first request.
type Permissions struct {
	authorizer authorizer.UnconditionalAuthorizer
}

var (
	_ admission.InitializationValidator        = &Permissions{}
	_ initializer.WantsUnconditionalAuthorizer = &Permissions{}
)

// SetUnconditionalAuthorizer gives the plugin the authorizer of the server.
func (r *Permissions) SetUnconditionalAuthorizer(authorizer authorizer.UnconditionalAuthorizer) {
	r.authorizer = authorizer
}

// ValidateInitialization complains when SetUnconditionalAuthorizer was not called.
func (r *Permissions) ValidateInitialization() error {
	if r.authorizer == nil {
		return errors.New("no authorizer was set")
	}
	return nil
}

// Allowed reports whether a user has a permission. A permission is valid even if the review also returned an error.
func (r *Permissions) Allowed(ctx context.Context, permission authorizer.AttributesRecord) (bool, error) {
	decision, _, err := r.authorizer.Authorize(ctx, permission)
	if decision == authorizer.DecisionAllow {
		return true, nil
	}
	return false, err
}

// Has reports whether the user of a request has a verb on an object of the resource that the request is for.
func (r *Permissions) Has(ctx context.Context, a admission.Attributes, name, verb string) (bool, error) {
	resource := a.GetResource()
	return r.Allowed(ctx, authorizer.AttributesRecord{
		User: a.GetUserInfo(), Verb: verb, APIGroup: resource.Group, APIVersion: resource.Version, Resource: resource.Resource,
		Namespace: a.GetNamespace(), Name: name, ResourceRequest: true,
	})
}
