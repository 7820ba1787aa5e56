// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package terminationprotection is the admission plugin that rejects the deletion of a Kluster which an annotation protects.
package terminationprotection

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/admission"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
)

// PluginName names the plugin in --disable-admission-plugins.
const PluginName = "TerminationProtection"

// New returns the plugin.
func New() admission.ValidationInterface {
	return plugin{admission.NewHandler(admission.Delete)}
}

type plugin struct{ *admission.Handler }

var _ admission.ValidationInterface = plugin{}

// Validate sees each Kluster that a DELETE or DELETECOLLECTION is about to delete, within the transaction that does it.
// One that is being deleted already passes: another DELETE changes nothing, and Deorbit is paused in any case.
func (plugin) Validate(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	resource := kubernikusv1.Resource("klusters")
	if a.GetResource().GroupResource() != resource || a.GetSubresource() != "" {
		return nil
	}
	kluster, ok := a.GetOldObject().(*kubernikusv1.Kluster)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("a %T is not a Kluster", a.GetOldObject()))
	}
	if kluster.DeletionTimestamp != nil || !kluster.TerminationProtected() {
		return nil
	}
	return apierrors.NewForbidden(resource, kluster.Name, fmt.Errorf(
		"metadata.annotations[%[1]s] protects it: remove the annotation to delete it (kubectl annotate kluster --namespace %[2]s %[3]s %[1]s-)",
		kubernikusv1.TerminationProtectionAnnotation, kluster.Namespace, kluster.Name))
}
