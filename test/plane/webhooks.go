// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
)

var webhookConfigurations = schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"}

// registerWebhooks leads the webhooks to Groundskeeper's first controller manager and waits until it has published its CA to the
// API servers.
func (p *Plane) registerWebhooks(ctx context.Context) error {
	began := time.Now()
	client, err := dynamic.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	objects, err := p.webhookManifests()
	if err != nil {
		return err
	}
	if err := apply(ctx, client, objects); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	for _, object := range objects {
		for {
			current, err := client.Resource(webhookConfigurations).Get(ctx, object.GetName(), metav1.GetOptions{})
			if err == nil && haveBundles(current) {
				break
			}
			select {
			case <-ctx.Done():
				return errors.Join(fmt.Errorf("%s has no caBundle (%w)", object.GetName(), context.Cause(ctx)), err)
			case <-time.After(pollInterval):
			}
		}
	}
	p.options.Progress(fmt.Sprintf("%-32s registered (%.1f s)", "Webhooks", time.Since(began).Seconds()))
	return nil
}

// webhookManifests reads the configurations of all webhooks, those that an installation applies on demand included, and
// changes them from a Service to a process on this machine.
func (p *Plane) webhookManifests() ([]*unstructured.Unstructured, error) {
	var configurations []*unstructured.Unstructured
	for _, directory := range []string{"webhooks", "webhooks/resource-size"} {
		objects, err := manifests(filepath.Join(p.options.Artifacts, directory))
		if err != nil {
			return nil, err
		}
		for _, object := range objects {
			if object.GetKind() != "ValidatingWebhookConfiguration" {
				continue // the Service has no Pods here
			}
			if err := webhooksOnLoopback(object, p.ports[webhookPort(0)]); err != nil {
				return nil, err
			}
			configurations = append(configurations, object)
		}
	}
	return configurations, nil
}

// webhooksOnLoopback replaces the Service of every webhook by the address of the process. Groundskeeper's API server calls
// webhooks, too, and knows Services by DNS only.
func webhooksOnLoopback(object *unstructured.Unstructured, port int) error {
	webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
	if err != nil {
		return err
	}
	for _, entry := range webhooks {
		webhook, _ := entry.(map[string]any)
		path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
		if err != nil || !found {
			return fmt.Errorf("%s: a webhook has no path: %w", object.GetName(), err)
		}
		if err := unstructured.SetNestedMap(webhook, map[string]any{"url": "https://" + address(port) + path}, "clientConfig"); err != nil {
			return err
		}
	}
	return unstructured.SetNestedSlice(object.Object, webhooks, "webhooks")
}

func haveBundles(object *unstructured.Unstructured) bool {
	webhooks, _, _ := unstructured.NestedSlice(object.Object, "webhooks")
	for _, entry := range webhooks {
		webhook, _ := entry.(map[string]any)
		if bundle, _, _ := unstructured.NestedString(webhook, "clientConfig", "caBundle"); bundle == "" {
			return false
		}
	}
	return true
}
