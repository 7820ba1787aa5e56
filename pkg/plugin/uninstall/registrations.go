// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// registration routes requests of the whole cluster to Groundskeeper's servers.
type registration struct {
	resource schema.GroupVersionResource
	name     string
	uid      string
	// group is what an APIService serves. unavailable is why it does not.
	group, unavailable string
	created            metav1.Time
}

func (r registration) String() string { return r.resource.Resource + " " + r.name }

var (
	apiServiceKind = schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"}
	webhookKinds   = []schema.GroupVersionKind{
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "ValidatingWebhookConfiguration"},
		{Group: "admissionregistration.k8s.io", Version: "v1", Kind: "MutatingWebhookConfiguration"},
	}
)

// registrations are those of Groundskeeper, webhooks first: they have its label, and point to one of its Services. One that has
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
		r.unavailable = unavailability(object)
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

// unavailability is why an APIService is unavailable, "" when it is not.
func unavailability(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != "Available" {
			continue
		}
		if c["status"] == string(metav1.ConditionTrue) {
			return ""
		}
		return fmt.Sprint(c["message"])
	}
	return "it has no condition Available yet"
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
	return fmt.Sprintf("%d APIServices and webhook configurations have been deleted", len(registrations)), u.until(ctx, "registrations", func(ctx context.Context) (left, error) {
		registrations, err := u.registrations(ctx)
		var l left
		for _, r := range registrations {
			l.names = append(l.names, r.String())
		}
		return l, err
	})
}
