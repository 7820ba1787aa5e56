// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"groundskeeper.io/groundskeeper/pkg/remote"
)

// watchNodes calls deleted for each node that disappears from a cluster, until ctx is done: one whose deletion the API server
// reports, one that a whole listing does not have any more, and one in whose place there is another of the same name. An API server
// that does not respond is queried again after a pause that doubles. Of a node only its name and its uid are kept.
func watchNodes(ctx context.Context, config *rest.Config, client *http.Client, nodeDeleted func()) error {
	cluster, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), client)
	if err != nil {
		return fmt.Errorf("create a client for nodes: %w", err)
	}
	nodes := cluster.Resource(corev1.SchemeGroupVersion.WithResource("nodes"))
	source := remote.From[metadata.ResourceInterface](cluster, metav1.ListOptions{}, func(string) metadata.ResourceInterface { return nodes })
	informers, err := remote.NewInformers(nil, source, &metav1.PartialObjectMetadata{}, trimNode, nil)
	if err != nil {
		return err
	}
	_, err = informers.Handle(remote.Handlers[*metav1.PartialObjectMetadata]{
		Set: func(*metav1.PartialObjectMetadata) {},
		Changed: func(before, now *metav1.PartialObjectMetadata) {
			if before.UID != now.UID {
				nodeDeleted()
			}
		},
		Deleted: func(*metav1.PartialObjectMetadata, bool) { nodeDeleted() },
	})
	if err != nil {
		return err
	}
	// What fails is seen by the HTTP client. A line for each retry of each cluster would report nothing more.
	informers.Run(klog.NewContext(ctx, logr.Discard()))
	return nil
}

func trimNode(node *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID}}
}
