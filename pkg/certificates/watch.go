// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
)

// watch reports every change of the Secret and of the targets. Only their metadata is watched, one object each, so that neither
// keys nor anybody else's objects are kept in memory. The watches end some time after ctx is done: one that waits for a server that
// does not respond sleeps on, and no client has to wait for it.
func (k *Keeper) watch(ctx context.Context) <-chan struct{} {
	changed := make(chan struct{}, 1)
	notify := func() {
		select {
		case changed <- struct{}{}:
		default: // there is one already
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
	}
	follow := func(resource schema.GroupVersionResource, namespace, name string) {
		one := func(options *metav1.ListOptions) {
			options.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, name).String()
		}
		informer := metadatainformer.NewFilteredMetadataInformer(k.metadata, resource, namespace, 0, cache.Indexers{}, one).Informer()
		// It fails only for an informer that has stopped.
		_, _ = informer.AddEventHandler(handler)
		go informer.RunWithContext(ctx)
	}
	follow(corev1.SchemeGroupVersion.WithResource("secrets"), k.options.Namespace, k.options.Name)
	for _, target := range k.options.Targets {
		follow(target.resource, metav1.NamespaceNone, target.name)
	}
	return changed
}
