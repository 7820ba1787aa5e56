// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plane

import (
	"context"
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"groundskeeper.io/groundskeeper/pkg/apiserver/rivalcrd"
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// prepareCluster applies what Groundskeeper's processes need before they start, and rejects a cluster that has one of
// Groundskeeper's group versions from a CustomResourceDefinition.
func (p *Plane) prepareCluster(ctx context.Context) error {
	client, err := dynamic.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	registrations, err := p.registrations()
	if err != nil {
		return err
	}
	finder, err := rivalcrd.NewFinder(p.Config(), servedBy(registrations))
	if err != nil {
		return err
	}
	rivals, err := finder.Find(ctx)
	if err != nil {
		return err
	}
	if err := rivalcrd.Conflict(rivals); err != nil {
		return err
	}
	paths := []string{"namespaces", "rbac"}
	if p.options.DiscovererImage != "" {
		paths = append(paths, "discovery")
	}
	for _, path := range paths {
		objects, err := manifests(filepath.Join(p.options.Artifacts, path))
		if err != nil {
			return err
		}
		if err := apply(ctx, client, objects); err != nil {
			return err
		}
	}
	return nil
}

// registrations reads the Service of Groundskeeper's API server and its APIServices.
func (p *Plane) registrations() ([]*unstructured.Unstructured, error) {
	return manifests(filepath.Join(p.options.Artifacts, "apiservice"))
}

// register leads the APIServices to Groundskeeper's first API server, or to all of them (Options.Spread), and waits until all of
// them are available.
func (p *Plane) register(ctx context.Context) error {
	began := time.Now()
	client, err := dynamic.NewForConfig(p.Config())
	if err != nil {
		return err
	}
	objects, err := p.registrations()
	if err != nil {
		return err
	}
	for _, object := range objects {
		ca := p.credentials.cluster.pem
		if p.options.SelfManagedCertificates {
			ca = nil
		}
		if err := p.localize(object, ca); err != nil {
			return err
		}
	}
	if err := apply(ctx, client, objects); err != nil {
		return err
	}
	if p.options.Spread {
		p.follow(ctx, client)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	var names []string
	for _, object := range objects {
		if object.GetKind() == "APIService" {
			if err := p.waitAvailable(ctx, client, object); err != nil {
				return err
			}
			names = append(names, object.GetName())
		}
	}
	p.options.Progress(fmt.Sprintf("%-32s available: %s (%.1f s)", "APIServices", strings.Join(names, ", "), time.Since(began).Seconds()))
	return nil
}

// localize changes a manifest of the registration from a cluster with Pods to processes on this machine.
func (p *Plane) localize(object *unstructured.Unstructured, ca []byte) error {
	switch {
	case p.options.Spread && object.GetKind() == "Service":
		return spreadService(object)
	case p.options.Spread:
		return onLoopback(object, int(servicePort), ca)
	}
	return onLoopback(object, p.ports[apiserverName], ca)
}

// onLoopback changes a manifest of the registration from a cluster with Pods to a process on this machine: the Service becomes an
// external name, which the aggregator takes instead of endpoints, and the APIService gets the port and the CA of the process, nil
// when the process writes it.
func onLoopback(object *unstructured.Unstructured, port int, ca []byte) error {
	switch object.GetKind() {
	case "Service":
		return unstructured.SetNestedMap(object.Object, map[string]any{"type": "ExternalName", "externalName": "localhost"}, "spec")
	case "APIService":
		if err := unstructured.SetNestedField(object.Object, int64(port), "spec", "service", "port"); err != nil {
			return err
		}
		if ca == nil { // the server notifies it itself
			return nil
		}
		return unstructured.SetNestedField(object.Object, base64.StdEncoding.EncodeToString(ca), "spec", "caBundle")
	}
	return fmt.Errorf("%s %s: only a Service and APIServices make a registration", object.GetKind(), name(object))
}

// waitAvailable waits until the aggregator reports that it reaches the server of the APIService, and does: the condition alone may
// still be that of the server's last life.
func (p *Plane) waitAvailable(ctx context.Context, client dynamic.Interface, service *unstructured.Unstructured) error {
	group, _, _ := unstructured.NestedString(service.Object, "spec", "group")
	version, _, _ := unstructured.NestedString(service.Object, "spec", "version")
	for {
		var missing string
		if object, err := client.Resource(apiServices).Get(ctx, service.GetName(), metav1.GetOptions{}); err != nil {
			missing = err.Error()
		} else if available, message := condition(object, "Available"); !available {
			missing = message
		} else if err := probe(ctx, p.prober, p.server()+"/apis/"+group+"/"+version); err != nil {
			missing = err.Error()
		} else {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("APIService %s is not available (%w): %s", service.GetName(), context.Cause(ctx), missing)
		case <-time.After(pollInterval):
		}
	}
}

// condition returns whether the condition is True, and its message.
func condition(object *unstructured.Unstructured, conditionType string) (isTrue bool, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		c, ok := entry.(map[string]any)
		if !ok || c["type"] != conditionType {
			continue
		}
		message, _ = c["message"].(string)
		return c["status"] == "True", message
	}
	return false, "it has no condition " + conditionType + " yet"
}

// servedBy returns the group versions of APIServices.
func servedBy(registrations []*unstructured.Unstructured) []schema.GroupVersion {
	var served []schema.GroupVersion
	for _, object := range registrations {
		if object.GetKind() == "APIService" {
			group, _, _ := unstructured.NestedString(object.Object, "spec", "group")
			version, _, _ := unstructured.NestedString(object.Object, "spec", "version")
			served = append(served, schema.GroupVersion{Group: group, Version: version})
		}
	}
	return served
}
