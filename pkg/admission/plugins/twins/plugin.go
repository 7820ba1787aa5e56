// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package twins has the admission plugins that warn of objects that lead to the same cluster: nothing in a cluster is removed until all of
// its Klusters are being deleted, and in maintenance a DiscoveryBackend is no alternative to another one of its cluster.
//
// They reject nothing. What they read may be outdated, and a failed read is no reason to fail the request: the conditions ClusterUnique and
// Drained, and Deorbit report the same later.
package twins

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"groundskeeper.io/groundskeeper/pkg/admission/plugins"
	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/generated/clientset/versioned"
)

// Plugin warns of the twins of the objects of one kind. It needs SetClient before its first request.
type Plugin[O any] struct {
	*admission.Handler
	source
	resource schema.GroupResource
	// spec is what has to change in an update that is warned of.
	spec func(*O) any
	// written returns the warnings about an object that is created, or whose spec changes: then old is not nil.
	written func(ctx context.Context, s source, o, old *O) []string
	// deleted returns the warnings about an object that is deleted.
	deleted func(ctx context.Context, s source, o *O) []string
}

// Validate warns a user who creates an object, changes its spec, or deletes it. A dry run makes no difference.
func (p *Plugin[O]) Validate(ctx context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if a.GetSubresource() != "" || a.GetResource().GroupResource() != p.resource {
		return nil
	}
	var found []string
	if a.GetOperation() == admission.Delete {
		if o, ok := any(a.GetOldObject()).(*O); ok {
			found = p.deleted(ctx, p.source, o)
		}
	} else {
		o, old, err := plugins.Objects[O](a)
		if err != nil || old != nil && equality.Semantic.DeepEqual(p.spec(old), p.spec(o)) {
			return err
		}
		found = p.written(ctx, p.source, o, old)
	}
	for _, text := range found {
		warning.AddWarning(ctx, "", text)
	}
	return nil
}

// source reads objects from the watch cache of the server that the plugins are part of. When that fails, there is nothing to warn of.
type source struct{ client versioned.Interface }

// SetClient gives the plugin a client of the server.
func (s *source) SetClient(client versioned.Interface) { s.client = client }

func (s source) klusters(ctx context.Context, namespace string, which fields.Selector) []kubernikusv1.Kluster {
	all, err := s.client.KubernikusV1().Klusters(namespace).List(ctx, metav1.ListOptions{FieldSelector: which.String(), ResourceVersion: "0"})
	if err != nil {
		return nil
	}
	return all.Items
}

func (s source) backends(ctx context.Context, namespace string, which fields.Selector) []gimbalv1.DiscoveryBackend {
	options := metav1.ListOptions{FieldSelector: which.String(), ResourceVersion: "0"}
	all, err := s.client.GimbalV1().DiscoveryBackends(namespace).List(ctx, options)
	if err != nil {
		return nil
	}
	return all.Items
}

// maxTitles is how many objects a warning names.
const maxTitles = 3

// titles names some of the objects that match, other than the one of the request; "" for none.
func titles[O any, P interface {
	*O
	metav1.Object
}](of metav1.Object, all []O, matches func(P) bool) string {
	var found []string
	for i := range all {
		if other := P(&all[i]); other.GetUID() != of.GetUID() && matches(other) {
			found = append(found, other.GetNamespace()+"/"+other.GetName())
		}
	}
	slices.Sort(found)
	if len(found) <= maxTitles {
		return strings.Join(found, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(found[:maxTitles], ", "), len(found)-maxTitles)
}

// warn returns a warning that names objects; none if there are none.
func warn(found, format string, args ...any) []string {
	if found == "" {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}
