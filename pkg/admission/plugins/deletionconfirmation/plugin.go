// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package deletionconfirmation is the admission plugin that prevents the deletion of a Project, a Kluster or a
// DiscoveryBackend that routes refer to by accident: an annotation must confirm the deletion, and where the Project
// requires dual approval another user must have set it.
package deletionconfirmation

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/warning"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "DeletionConfirmation"

// Plugin keeps the record of who confirmed a deletion, and rejects deletions that are not confirmed.
type Plugin struct {
	*admission.Handler
	client versioned.Interface
	// admins and which decide which DiscoveryBackends need a confirmation.
	admins []string
	which  Backends
}

var (
	_ admission.MutationInterface       = &Plugin{}
	_ admission.ValidationInterface     = &Plugin{}
	_ admission.InitializationValidator = &Plugin{}
)

// New returns the plugin. It needs SetClient before its first request.
func New() *Plugin {
	return &Plugin{Handler: admission.NewHandler(admission.Create, admission.Update, admission.Delete)}
}

// SetClient gives the plugin a client of the server that it is part of, to find the Project of a namespace.
func (p *Plugin) SetClient(client versioned.Interface) { p.client = client }

// ValidateInitialization complains when SetClient was not called.
func (p *Plugin) ValidateInitialization() error {
	if p.client == nil {
		return errors.New("no client was set")
	}
	return nil
}

// Admit records who confirmed the deletion of the object, and overwrites a record in the request. The status subresource
// changes no annotation, so there is nothing to record.
func (p *Plugin) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !guards(a) || a.GetOperation() == admission.Delete {
		return nil
	}
	object, old, err := plugins.Metadata(a)
	if err != nil {
		return err
	}
	record(object, old, a.GetUserInfo())
	return nil
}

// Validate rejects a deletion that is not confirmed. The storage calls it for each object of a DELETE or a DELETECOLLECTION within the
// transaction, with the object of its cache first, and if that is rejected, with the one in etcd. A deletion immediately after the
// confirmation is therefore not rejected because of an outdated cache. Objects that are already being deleted are admitted, because
// another DELETE has no effect.
func (p *Plugin) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if !guards(a) || a.GetOperation() != admission.Delete {
		return nil
	}
	object, err := plugins.MetadataOf(a.GetOldObject())
	if err != nil {
		return err
	}
	if object.GetDeletionTimestamp() != nil {
		return nil
	}
	if backend, ok := object.(*gimbalv1.DiscoveryBackend); ok {
		if text := backendWarning(backend); text != "" {
			warning.AddWarning(ctx, "", text)
		}
		if !p.needsConfirmation(backend) {
			return nil
		}
	}
	resource := a.GetResource().GroupResource()
	if !confirmed(object) {
		return apierrors.NewForbidden(resource, object.GetName(),
			fmt.Errorf("must have a %q annotation to delete", gardenerv1beta1.AnnotationConfirmDeletion))
	}
	if object.GetNamespace() == "" {
		return nil
	}
	project, err := p.projectOf(ctx, object.GetNamespace())
	if err != nil {
		return apierrors.NewInternalError(fmt.Errorf("check whether the deletion of %s %s/%s requires a second user: %w",
			resource, object.GetNamespace(), object.GetName(), err))
	}
	if project == nil {
		return nil
	}
	if err := approved(project, resource.Resource, object, a.GetUserInfo()); err != nil {
		return apierrors.NewForbidden(resource, object.GetName(), err)
	}
	return nil
}

// projectOf returns the Project that a namespace belongs to, nil when there is none. The list is consistent, not one of
// a cache that may not know yet that the Project requests dual approval. The server has an index for it.
func (p *Plugin) projectOf(ctx context.Context, namespace string) (*gardenerv1beta1.Project, error) {
	list, err := p.client.GardenerV1beta1().Projects().List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector(gardenerv1beta1.ProjectNamespaceField, namespace).String(),
	})
	if err != nil {
		return nil, fmt.Errorf("list the projects of namespace %q: %w", namespace, err)
	}
	for i := range list.Items {
		if list.Items[i].NamespaceName() == namespace {
			return &list.Items[i], nil
		}
	}
	return nil, nil
}

// guards reports whether a request is for a Project, a Kluster or a DiscoveryBackend itself.
func guards(a admission.Attributes) bool {
	if a.GetSubresource() != "" {
		return false
	}
	switch a.GetResource().GroupResource() {
	case gardenerv1beta1.Resource("projects"), kubernikusv1.Resource("klusters"), gimbalv1.Resource("discoverybackends"):
		return true
	default:
		return false
	}
}

const confirmation = "true"

func confirmed(object metav1.Object) bool {
	return object.GetAnnotations()[gardenerv1beta1.AnnotationConfirmDeletion] == confirmation
}

// record writes who confirmed the deletion of an object: the user whose request confirms it, and retains that user in later
// requests of any user. Old is the object that the request replaces, nil when it creates one. The record can only be written by
// confirming: its value in the request is discarded. It is idempotent.
func record(object, old metav1.Object, who user.Info) {
	by, known := "", false
	switch {
	case !confirmed(object): // no record
	case old == nil || !confirmed(old):
		by, known = who.GetName(), true
	default:
		by, known = old.GetAnnotations()[gardenerv1beta1.AnnotationDeletionConfirmedBy]
	}
	annotations := object.GetAnnotations()
	if !known {
		delete(annotations, gardenerv1beta1.AnnotationDeletionConfirmedBy)
		return
	}
	annotations[gardenerv1beta1.AnnotationDeletionConfirmedBy] = by // not nil: it has the confirmation
}
