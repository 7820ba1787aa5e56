// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package parameters gives admission policies the objects of their spec.paramKind. Anybody who may create a policy chooses the kind,
// so that nothing but the requests that the policy matches may depend on whether this server can read it: neither its readiness nor
// a policy of the same kind that is created later.
package parameters

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/informers"
)

// Factory is the shared informers of the server for everything but parameters, whose informers are started and stopped with the
// policies. In the shared factory, an informer without permissions would keep the server from being ready, also after the policy
// was deleted, and one that was stopped with its policy would return its last state to the next one.
//
// A Factory belongs to one plugin, which calls ForResource and Start from one goroutine.
type Factory struct {
	informers.SharedInformerFactory
	objects dynamic.Interface
	created []*informer
}

// NewFactory returns the informers of one plugin.
func NewFactory(shared informers.SharedInformerFactory, objects dynamic.Interface) *Factory {
	return &Factory{SharedInformerFactory: shared, objects: objects}
}

// ForResource returns a new informer for parameters. It never returns an error: the plugin would start a separate informer, which
// rejects after a second of waiting and does not name the missing permission.
func (f *Factory) ForResource(resource schema.GroupVersionResource) (informers.GenericInformer, error) {
	created := newInformer(f.objects, resource)
	f.created = append(f.created, created)
	return created, nil
}

// Start runs the informers that ForResource returned since the last call, until stop is closed. The server starts the shared ones.
func (f *Factory) Start(stop <-chan struct{}) {
	for _, created := range f.created {
		go created.informer.Run(stop)
	}
	f.created = nil
}
