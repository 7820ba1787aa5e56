// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package membership

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/registry"
)

// Storage serves Projects to users who are allowed to read and change them. Methods that it does not override, such as Create, are
// restricted by the authorizer only.
type Storage struct {
	*registry.REST[*gardenerv1beta1.Project]
	server *Server
}

var _ rest.StandardStorage = &Storage{}

// requested reads from the context who requests what of RBAC. Without both there is no decision. A list has a name when it selects the
// object of that name.
func requested(ctx context.Context) (authorizer.AttributesRecord, error) {
	who, ok := genericapirequest.UserFrom(ctx)
	if !ok {
		return authorizer.AttributesRecord{}, apierrors.NewInternalError(errors.New("a request for projects has no user"))
	}
	info, ok := genericapirequest.RequestInfoFrom(ctx)
	if !ok {
		return authorizer.AttributesRecord{}, apierrors.NewInternalError(errors.New("a request for projects has no verb"))
	}
	return authorizer.AttributesRecord{
		User: who, Verb: info.Verb, APIGroup: gardenerv1beta1.GroupName, APIVersion: gardenerv1beta1.SchemeGroupVersion.Version,
		Resource: resource, Name: info.Name, ResourceRequest: true, Path: info.Path,
	}, nil
}

// require rejects a request for a Project that the user may not make of it.
func (s *Storage) require(ctx context.Context, name string, object runtime.Object) error {
	request, err := requested(ctx)
	if err != nil {
		return err
	}
	if project, ok := object.(*gardenerv1beta1.Project); ok && Decide(request, project) == authorizer.DecisionAllow {
		return nil
	}
	allowed, err := s.server.allowsAny(ctx, request)
	switch {
	case err != nil:
		return unknown(err)
	case !allowed:
		return apierrors.NewForbidden(gardenerv1beta1.Resource(resource), name,
			fmt.Errorf("user %q cannot %s it: the user is not a member of it with a role that allows that", request.User.GetName(), request.Verb))
	}
	return nil
}

// unknown returns the error of a request about which RBAC did not decide.
func unknown(err error) error {
	return apierrors.NewInternalError(fmt.Errorf("which projects the user may see is unknown: %w", err))
}

// Get returns a Project to those who may read what is returned, which is from the watch cache if the client does not require the latest
// state, and what is stored.
func (s *Storage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	object, err := s.REST.Get(ctx, name, options)
	if err != nil {
		return nil, err
	}
	if err := s.require(ctx, name, object); err != nil {
		return nil, err
	}
	if options == nil || options.ResourceVersion == "" {
		return object, nil
	}
	stored, err := s.REST.Get(ctx, name, &metav1.GetOptions{})
	if err == nil {
		err = s.require(ctx, name, stored)
	}
	if err != nil {
		return nil, err
	}
	return object, nil
}

// Update changes a Project for those who may change what is stored.
func (s *Storage) Update(ctx context.Context, name string, info rest.UpdatedObjectInfo, createValidation rest.ValidateObjectFunc,
	updateValidation rest.ValidateObjectUpdateFunc, forceAllowCreate bool, options *metav1.UpdateOptions) (runtime.Object, bool, error) {
	validate := updateValidation
	if updateValidation != nil {
		validate = func(ctx context.Context, object, stored runtime.Object) error {
			return updateValidation(withStored(ctx, stored), object, stored)
		}
	}
	return s.REST.Update(ctx, name, restrictedUpdate{info, s, name}, createValidation, validate, forceAllowCreate, options)
}

// restrictedUpdate rejects an update before it is made of the stored object.
type restrictedUpdate struct {
	rest.UpdatedObjectInfo
	storage *Storage
	name    string
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u restrictedUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	// One without a uid is not stored: a server-side apply creates it, for which the server requires the verb create.
	if project, ok := old.(*gardenerv1beta1.Project); !ok || project.UID != "" {
		if err := u.storage.require(ctx, u.name, old); err != nil {
			return nil, err
		}
	}
	return u.UpdatedObjectInfo.UpdatedObject(ctx, old)
}

// Delete deletes a Project for those who may delete what is stored.
func (s *Storage) Delete(ctx context.Context, name string, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	return s.REST.Delete(ctx, name, func(ctx context.Context, object runtime.Object) error {
		if err := s.require(ctx, name, object); err != nil {
			return err
		}
		if validate == nil {
			return nil
		}
		return validate(ctx, object)
	}, options)
}

// DeleteCollection deletes Projects for those who may delete all of them. No role of a Project allows it.
func (s *Storage) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions, listOptions *internalversion.ListOptions) (runtime.Object, error) {
	if err := s.require(ctx, "", nil); err != nil {
		return nil, err
	}
	return s.REST.DeleteCollection(ctx, validate, options, listOptions)
}
