// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
	"groundskeeper.io/groundskeeper/pkg/controllers/discoverybackend/maintenance"
)

// settleTimeout limits how long the first request waits for routes and Services to be listed.
const settleTimeout = 3 * time.Second

// traffic follows routes and what they refer to, from the first request on: most users of the console do not open the page.
type traffic struct {
	options Options
	// run runs a function in the background until the console ends.
	run func(func(context.Context))

	mu     sync.Mutex
	viewer *maintenance.Viewer
	// assumed is why the namespaces whose backends reach all namespaces are assumed to be the default.
	assumed error
}

// follow returns what follows the routes.
func (t *traffic) follow(ctx context.Context) (*maintenance.Viewer, error, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.viewer != nil {
		return t.viewer, t.assumed, nil
	}
	find, source, err := t.options.Source()
	if err != nil {
		return nil, nil, err
	}
	config, err := t.options.Config(ctx)
	if err != nil {
		config, t.assumed = &v1alpha1.ControllerManagerConfiguration{}, err
		v1alpha1.SetObjectDefaults_ControllerManagerConfiguration(config)
	}
	if t.options.Namespace != "" {
		source.Dynamic = oneNamespace{source.Dynamic, t.options.Namespace}
	}
	viewer := maintenance.NewViewer(find, source, t.options.Clock, config.Controllers.Discovery.AdminNamespaces)
	t.run(func(ctx context.Context) { _ = viewer.Start(logr.NewContext(ctx, logr.Discard())) }) // it ends with ctx
	settled, cancel := context.WithTimeout(ctx, settleTimeout)
	defer cancel()
	viewer.Settled(settled)
	t.viewer = viewer
	return viewer, t.assumed, nil
}

// oneNamespace lists and watches objects of one namespace where those of all namespaces are requested.
type oneNamespace struct {
	dynamic.Interface
	namespace string
}

// Resource implements dynamic.Interface.
func (o oneNamespace) Resource(resource schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	all := o.Interface.Resource(resource)
	return resourceOfNamespace{all, all.Namespace(o.namespace)}
}

// IsWatchListSemanticsUnSupported reports whether the client says of itself to informers that it cannot stream lists, as fakes do.
func (o oneNamespace) IsWatchListSemanticsUnSupported() bool {
	client, ok := o.Interface.(interface{ IsWatchListSemanticsUnSupported() bool })
	return ok && client.IsWatchListSemanticsUnSupported()
}

type resourceOfNamespace struct {
	dynamic.NamespaceableResourceInterface
	one dynamic.ResourceInterface
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (r resourceOfNamespace) Namespace(string) dynamic.ResourceInterface { return r.one }

// List implements dynamic.ResourceInterface.
func (r resourceOfNamespace) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return r.one.List(ctx, options)
}

// Watch implements dynamic.ResourceInterface.
func (r resourceOfNamespace) Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	return r.one.Watch(ctx, options)
}
