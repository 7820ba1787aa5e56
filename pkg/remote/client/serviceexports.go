// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// ExportsGroup is the API group of ServiceExports, exportsKind their kind.
const (
	ExportsGroup = "multicluster.x-k8s.io"
	exportsKind  = "ServiceExport"
)

// exportsVersions are the versions that have been released, the newest first.
var exportsVersions = []string{"v1beta1", "v1alpha1"}

// ServiceExports lists and watches ServiceExports of the Multi-Cluster Services API. Their metadata is all that they mean: each
// exports the Service with its name and namespace.
type ServiceExports interface {
	List(ctx context.Context, options metav1.ListOptions) (*metav1.PartialObjectMetadataList, error)
	Watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error)
}

// addExports adds ServiceExports to a scheme, as their metadata.
func addExports(scheme *runtime.Scheme) {
	for _, version := range exportsVersions {
		group := schema.GroupVersion{Group: ExportsGroup, Version: version}
		scheme.AddKnownTypeWithName(group.WithKind(exportsKind), &metav1.PartialObjectMetadata{})
		scheme.AddKnownTypeWithName(group.WithKind(exportsKind+"List"), &metav1.PartialObjectMetadataList{})
		metav1.AddToGroupVersion(scheme, group)
	}
}

// asJSON returns a config for objects of custom resource definitions, which have no form in protobuf.
func asJSON(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.ContentType, config.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	return config
}

// ServiceExports returns the client of the ServiceExports of a namespace.
func (c *Client) ServiceExports(namespace string) ServiceExports {
	all := make(exports, 0, len(c.exports))
	for _, client := range c.exports {
		all = append(all, typed[metav1.PartialObjectMetadata, metav1.PartialObjectMetadataList](client, "serviceexports", namespace))
	}
	return all
}

// exports are the clients of all versions. The first that is served has all objects.
type exports []Typed[*metav1.PartialObjectMetadata, *metav1.PartialObjectMetadataList]

// List implements ServiceExports.
func (e exports) List(ctx context.Context, options metav1.ListOptions) (list *metav1.PartialObjectMetadataList, err error) {
	for _, version := range e {
		if list, err = version.List(ctx, options); !apierrors.IsNotFound(err) {
			break
		}
	}
	return list, err
}

// Watch implements ServiceExports.
func (e exports) Watch(ctx context.Context, options metav1.ListOptions) (events watch.Interface, err error) {
	for _, version := range e {
		if events, err = version.Watch(ctx, options); !apierrors.IsNotFound(err) {
			break
		}
	}
	return events, err
}
