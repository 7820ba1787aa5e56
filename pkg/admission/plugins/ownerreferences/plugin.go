// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package ownerreferences is the admission plugin that requires the permission to delete an object from a user who changes its
// owners: the garbage collector deletes what has an owner that does not exist, so that a user who may not delete an object
// could have it deleted. It is for Groundskeeper's kinds what the plugin of the same name is for those of kube-apiserver, which
// does not see them. It also covers the labels by which Groundskeeper's controllers find the owner of an object.
package ownerreferences

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/initializer"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "OwnerReferencesPermissionEnforcement"

// Plugin reviews whether a user is allowed to delete an object whose owner changes.
type Plugin struct {
	*admission.Handler
	plugins.Permissions
	mapper meta.RESTMapper
}

var (
	_ admission.ValidationInterface = &Plugin{}
	_ initializer.WantsRESTMapper   = &Plugin{}
)

// New returns the plugin. It needs SetUnconditionalAuthorizer and SetRESTMapper before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update)}
}

// SetRESTMapper gives the plugin the kinds that the cluster serves, to find the resources of owners.
func (p *Plugin) SetRESTMapper(mapper meta.RESTMapper) { p.mapper = mapper }

// ValidateInitialization fails when a setter was not called.
func (p *Plugin) ValidateInitialization() error {
	if p.mapper == nil {
		return errors.New("no RESTMapper was set")
	}
	return p.Permissions.ValidateInitialization()
}

// Validate rejects another owner without the permission to delete the object, and a reference that blocks the deletion of
// its owner without the permission to update the finalizers of that one. A user who creates an object sets its owner.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	labels, own := ownerLabels(a.GetResource().GroupResource())
	if !own {
		return nil
	}
	object, old, err := plugins.Metadata(a)
	if err != nil {
		return err
	}
	if old != nil {
		if changes := changesOwner(object, old, labels); len(changes) > 0 {
			allowed, err := p.Has(ctx, a, object.GetName(), "delete")
			if err != nil {
				return unknown(a, err)
			}
			if !allowed {
				return admission.NewForbidden(a, fmt.Errorf("user %q cannot change %s without the verb \"delete\" on this object: it is deleted with "+
					"its owner",
					a.GetUserInfo().GetName(), strings.Join(changes, " and ")))
			}
		}
	}
	for _, ref := range newBlockers(object, old) {
		if err := p.mayBlock(ctx, a, ref); err != nil {
			return err
		}
	}
	return nil
}

// mayBlock rejects a reference that blocks the deletion of an owner whose finalizers the user may not update. A kind may be
// served as several resources. Permission for one of them is enough.
func (p *Plugin) mayBlock(ctx context.Context, a admission.Attributes, ref metav1.OwnerReference) error {
	version, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("metadata.ownerReferences: cannot set blockOwnerDeletion: %w", err))
	}
	mappings, err := p.mapper.RESTMappings(schema.GroupKind{Group: version.Group, Kind: ref.Kind}, version.Version)
	if err != nil {
		return admission.NewForbidden(a, fmt.Errorf("metadata.ownerReferences: cannot set blockOwnerDeletion, because the resource of %s %s is "+
			"unknown: %w",
			ref.APIVersion, ref.Kind, err))
	}
	for _, mapping := range mappings {
		record := authorizer.AttributesRecord{
			User: a.GetUserInfo(), Verb: "update", APIGroup: mapping.Resource.Group, APIVersion: mapping.Resource.Version,
			Resource: mapping.Resource.Resource, Subresource: "finalizers", Name: ref.Name, ResourceRequest: true,
		}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			record.Namespace = a.GetNamespace() // an owner in a namespace is in that of what it owns
		}
		allowed, err := p.Allowed(ctx, record)
		if err != nil {
			return unknown(a, err)
		}
		if allowed {
			return nil
		}
	}
	return admission.NewForbidden(a, fmt.Errorf("metadata.ownerReferences: user %q cannot set blockOwnerDeletion for %s %q without the verb "+
		"\"update\" on its finalizers",
		a.GetUserInfo().GetName(), ref.Kind, ref.Name))
}

func unknown(a admission.Attributes, err error) error {
	return apierrors.NewInternalError(fmt.Errorf("check whether user %q is allowed to change the owners of %s %q: %w",
		a.GetUserInfo().GetName(), a.GetResource().GroupResource(), a.GetName(), err))
}
