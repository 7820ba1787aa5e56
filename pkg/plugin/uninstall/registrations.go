// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// registration routes requests of the whole cluster to Groundskeeper's servers.
type registration struct {
	resource schema.GroupVersionResource
	name     string
	uid      string
	// group is what an APIService serves. unavailable is why it does not.
	group, unavailable string
	// down reports that it is known to be unavailable: the aggregator has checked it.
	down    bool
	created metav1.Time
}

func (r registration) String() string { return r.resource.Resource + " " + r.name }

var (
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	webhookKinds   = []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	}
)

// registrations returns those of Groundskeeper, webhooks first: they have its label, and point to one of its Services. One that has
// the label and points elsewhere belongs to another server, such as the APIService of a real Gardener.
func (u *Uninstaller) registrations(ctx context.Context) ([]registration, error) {
	var found []registration
	for _, kind := range append(webhookKinds, apiServiceKind) {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		if err := u.Client.List(ctx, list, client.MatchingLabels{partOf: product}); err != nil {
			return nil, fmt.Errorf("list %ss: %w", kind.Kind, err)
		}
		for i := range list.Items {
			if r, own := registrationOf(&list.Items[i]); own {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

// registrationOf reads a registration, and reports whether it belongs to Groundskeeper.
func registrationOf(object *unstructured.Unstructured) (registration, bool) {
	kind := object.GroupVersionKind()
	r := registration{name: object.GetName(), uid: string(object.GetUID()), created: object.GetCreationTimestamp(),
		resource: kind.GroupVersion().WithResource(strings.ToLower(kind.Kind) + "s")}
	if kind.Kind == apiServiceKind.Kind {
		namespace, _, _ := unstructured.NestedString(object.Object, "spec", "service", "namespace")
		r.group, _, _ = unstructured.NestedString(object.Object, "spec", "group")
		_, r.unavailable, r.down = Unavailability(object)
		return r, namespace == SystemNamespace && groups().Has(r.group)
	}
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, entry := range webhooks {
		webhook, _ := entry.(map[string]any)
		name, _, _ := unstructured.NestedString(webhook, "name")
		namespace, service, _ := unstructured.NestedString(webhook, "clientConfig", "service", "namespace")
		if service && namespace != SystemNamespace || !service && !strings.HasSuffix(name, ".groundskeeper.io") {
			return r, false
		}
	}
	return r, true
}

// Unavailability returns the reason and the message of an APIService that is unavailable, "" if it is not, and whether the aggregator has
// found that.
func Unavailability(object *unstructured.Unstructured) (reason, message string, known bool) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != "Available" {
			continue
		}
		if c["status"] == string(metav1.ConditionTrue) {
			return "", "", false
		}
		message, _ := c["message"].(string)
		return fmt.Sprint(c["reason"]), cmp.Or(message, "its condition Available has no message"), c["status"] == string(metav1.ConditionFalse)
	}
	return "", "it has no condition Available yet", false
}

// deleteRegistrations deletes them. The webhooks are deleted first, because their server needs the API.
func (u *Uninstaller) deleteRegistrations(ctx context.Context) (string, error) {
	registrations, err := u.registrations(ctx)
	if err != nil || len(registrations) == 0 {
		return "", err
	}
	for _, r := range registrations {
		if err := u.remove(ctx, r.resource, "", r.name, r.uid, metav1.DeletePropagationBackground); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d APIServices and webhook configurations have been deleted", len(registrations)), u.until(ctx, "registrations",
		func(ctx context.Context) (left, error) {
			registrations, err := u.registrations(ctx)
			var l left
			for _, r := range registrations {
				l.names = append(l.names, r.String())
			}
			return l, err
		})
}

// storeName is the ConfigMap in SystemNamespace in which the API server records its store before it serves for the first time
// (package storeidentity).
const storeName = "groundskeeper-store"

// servedBefore returns the evidence that the API was served at some time, or that this cannot be excluded; "" when it never
// was, as after a first installation whose pods never started. Such an installation has no objects, and can be removed
// although its API is unavailable. The record of the store alone does not prove that: it is deleted with its namespace.
func (u *Uninstaller) servedBefore(ctx context.Context, registrations []registration) (string, error) {
	namespace, err := u.Metadata.Resource(namespaceResource).Get(ctx, SystemNamespace, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("namespace %s does not exist, in which it records its store", SystemNamespace), nil
	case err != nil:
		return "", fmt.Errorf("get namespace %s: %w", SystemNamespace, err)
	case !namespace.DeletionTimestamp.IsZero():
		return fmt.Sprintf("namespace %s is being deleted, in which it records its store", SystemNamespace), nil
	}
	for _, r := range registrations {
		if r.group == "" {
			continue
		}
		if r.unavailable == "" {
			return fmt.Sprintf("APIService %s is available", r.name), nil
		}
		if r.created.Before(&namespace.CreationTimestamp) {
			return fmt.Sprintf("APIService %s is older than namespace %s, so that an earlier record of its store may be lost", r.name,
				SystemNamespace), nil
		}
	}
	_, err = u.Metadata.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(SystemNamespace).Get(ctx, storeName,
		metav1.GetOptions{})
	if err == nil {
		return fmt.Sprintf("ConfigMap %s/%s records its store", SystemNamespace, storeName), nil
	}
	if !apierrors.IsNotFound(err) {
		return "", fmt.Errorf("get ConfigMap %s/%s: %w", SystemNamespace, storeName, err)
	}
	return u.traces(ctx)
}

// traces returns an object that only Groundskeeper's controllers create or mark, "" when there is none.
func (u *Uninstaller) traces(ctx context.Context) (string, error) {
	namespaces, err := u.metadataOf(ctx, namespaceResource, metav1.NamespaceAll, "")
	if err != nil {
		return "", err
	}
	for i := range namespaces {
		if namespaces[i].Annotations[gardenerv1beta1.AnnotationProjectUID] != "" {
			return fmt.Sprintf("namespace %s belongs to a Project", namespaces[i].Name), nil
		}
	}
	owned, err := u.ownedBy(ctx, groups())
	if err != nil {
		return "", err
	}
	roles, err := u.rolesOfProjects(ctx)
	if err != nil {
		return "", err
	}
	if names := slices.Concat(owned, roles); len(names) > 0 {
		return names[0] + " belongs to one of its objects", nil
	}
	secrets, err := u.metadataOf(ctx, corev1.SchemeGroupVersion.WithResource("secrets"), metav1.NamespaceAll, "")
	if err != nil {
		return "", err
	}
	for i := range secrets {
		if s := &secrets[i]; s.Labels[clusterid.LabelUID] != "" || slices.Contains(s.Finalizers, kubernikusv1.SecretInUseFinalizer) {
			return fmt.Sprintf("Secret %s is used by a Kluster", nameOf(s)), nil
		}
	}
	return "", nil
}

// mustNeverHaveServed fails when the API server started after the plan was made: there may be objects by now.
func (u *Uninstaller) mustNeverHaveServed(ctx context.Context) (string, error) {
	registrations, err := u.registrations(ctx)
	if err != nil {
		return "", err
	}
	reason, err := u.servedBefore(ctx, registrations)
	if err != nil {
		return "", err
	}
	if reason != "" {
		return "", fmt.Errorf("the API server started after the plan was made: %s. Run the same command again", reason)
	}
	return "", nil
}

// confirmRemoval annotates the namespace of the installation, as the policy groundskeeper-removal requires it before the API server is
// removed. The kube-apiserver may still find APIServices that have just been deleted.
func (u *Uninstaller) confirmRemoval(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{}
	if err := u.Client.Get(ctx, client.ObjectKey{Name: SystemNamespace}, namespace); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return "", u.annotate(ctx, namespace, gardenerv1beta1.AnnotationConfirmDeletion)
}

// withdrawConfirmation removes the annotation from a namespace that is kept: it would apply to the next installation.
func (u *Uninstaller) withdrawConfirmation(ctx context.Context) (string, error) {
	namespace := &corev1.Namespace{}
	if err := u.Client.Get(ctx, client.ObjectKey{Name: SystemNamespace}, namespace); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	if _, ok := namespace.Annotations[gardenerv1beta1.AnnotationConfirmDeletion]; !ok {
		return "", nil
	}
	before := namespace.DeepCopy()
	delete(namespace.Annotations, gardenerv1beta1.AnnotationConfirmDeletion)
	return "", u.Client.Patch(ctx, namespace, optimistic(before))
}

// stepsWithoutObjects removes an installation that never served. What runs is removed first, so that the API server cannot
// start and accept objects after the last check.
func (u *Uninstaller) stepsWithoutObjects() []step {
	check := step{"check that the API was never served", false, u.mustNeverHaveServed}
	return []step{
		check,
		{"confirm the removal of the API server", false, u.confirmRemoval},
		{"remove what runs", false, u.deleteParts},
		check,
		{"remove what is registered", false, u.deleteRegistrations},
		{"remove the namespaces of the installation", u.KeepData, u.deleteNamespaces},
		{"withdraw the confirmation", !u.KeepData, u.withdrawConfirmation},
	}
}
