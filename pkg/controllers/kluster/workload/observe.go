// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
	"groundskeeper.io/groundskeeper/pkg/remote"
)

type blueprint struct {
	plan
	key    types.NamespacedName
	uid    types.UID
	config *rest.Config
	// again reports that a session of the same Kluster ran before.
	again bool
	// print is the same for blueprints of equal sessions.
	print [sha256.Size]byte
}

// blueprint reads the Secret of a Kluster that needs a session. It is nil when there is none to be had, and then the plan reports
// why.
func (r *reconciler) blueprint(ctx context.Context, k *kubernikusv1.Kluster, p *plan) (*blueprint, error) {
	if p.idle() {
		return nil, nil
	}
	secret, err := kluster.Secret(ctx, r.live, k)
	if err != nil && !errors.Is(err, kluster.ErrNoSecret) {
		return nil, err
	}
	if err != nil {
		p.reject(err.Error())
		return nil, nil
	}
	config, err := kluster.Connectable(k, secret.Data, *r.config.Credentials.AllowProxyURL)
	if err != nil {
		p.reject(fmt.Sprintf("secret %s: %v", kluster.SecretKey(k), err))
		return nil, nil
	}
	fingerprint, err := printOf(k, *p, secret.Data)
	if err != nil {
		return nil, err
	}
	return &blueprint{plan: *p, key: client.ObjectKeyFromObject(k), uid: k.UID, config: config, print: fingerprint}, nil
}

// printOf distinguishes what leads to different sessions: Klusters, plans, and ways into the cluster.
func printOf(k *kubernikusv1.Kluster, p plan, data map[string][]byte) ([sha256.Size]byte, error) {
	host := ""
	if len(data[kluster.KeyKubeconfig]) == 0 {
		host = k.Status.Apiserver
	}
	text, err := json.Marshal([]any{
		k.UID, p.nodes, p.volumes, host,
		data[kluster.KeyKubeconfig], data[kluster.KeyCA], data[kluster.KeyCertificate], data[kluster.KeyPrivateKey],
	})
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("encode what a session is made of: %w", err)
	}
	return sha256.Sum256(text), nil
}

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
	informers := remote.NewInformers(nil, source, remote.Kind[*metav1.PartialObjectMetadata]{
		Example: &metav1.PartialObjectMetadata{}, Trim: trimNode,
		Changed: func(before, now *metav1.PartialObjectMetadata) {
			if before.UID != now.UID {
				nodeDeleted()
			}
		},
		Deleted: func(*metav1.PartialObjectMetadata, bool) { nodeDeleted() },
	})
	// The HTTP client reports failures; a log line for each retry of each cluster would add nothing.
	informers.Run(klog.NewContext(ctx, logr.Discard()))
	return nil
}

func trimNode(node *metav1.PartialObjectMetadata) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID}}
}
