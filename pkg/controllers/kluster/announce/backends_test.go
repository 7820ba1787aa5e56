// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package announce

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
	"groundskeeper.io/groundskeeper/pkg/clusterid"
)

// slowReader has one unidentified DiscoveryBackend, and needs a second for its Secret.
type slowReader struct {
	client.Reader
	secrets atomic.Int32
}

func (s *slowReader) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	var of client.ListOptions
	of.ApplyOptions(options)
	if of.FieldSelector != nil && of.FieldSelector.String() != gimbalv1.ClusterIDField+"=" {
		return nil
	}
	b := gimbalv1.DiscoveryBackend{}
	b.UID, b.Cluster.Type, b.Cluster.Secret = "unidentified", gimbalv1.BackendKubernetes, "copy"
	list.(*gimbalv1.DiscoveryBackendList).Items = []gimbalv1.DiscoveryBackend{b}
	return nil
}

func (s *slowReader) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	s.secrets.Add(1)
	time.Sleep(time.Second) // the clock is that of synctest
	object.(*corev1.Secret).Data = map[string][]byte{keyConfig: []byte(
		`{current-context: c, clusters: [{name: c, cluster: {server: "https://api.example"}}], contexts: [{name: c, context: {cluster: c}}]}`)}
	return nil
}

// TestChecksShareBackends checks that many checks at a time read the Secrets of unidentified DiscoveryBackends once, or twice for those that
// begin while they are being read, whichever their clusters are.
func TestChecksShareBackends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var backends Backends
		live := &slowReader{}
		var checks sync.WaitGroup
		for i := range 100 {
			checks.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				at := clusterid.Known{ID: string(rune('a' + i)), Server: "api.example:443"}
				found, servers, err := backends.Of(t.Context(), live, at)
				if want := types.UID("unidentified"); err != nil || len(found) != 1 || servers[want] != "api.example:443" {
					t.Errorf("check %d found %v with servers %v, error = %v", i, found, servers, err)
				}
			})
		}
		checks.Wait()
		if got := live.secrets.Load(); got != 2 {
			t.Errorf("the Secret was read %d times, want 2", got)
		}
	})
}
