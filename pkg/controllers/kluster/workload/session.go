// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	kubernikusv1 "groundskeeper.io/groundskeeper/pkg/apis/kubernikus/v1"
	"groundskeeper.io/groundskeeper/pkg/controllers/kluster"
)

// blueprint is all that a session is made of.
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

// opener begins what a session runs, and returns its reporter. news is called when there is something new. The returned
// function waits until ctx has ended all of it.
type opener func(ctx context.Context, b blueprint, news func()) (reporter, func(), error)

// session is all that runs for one Kluster.
type session struct {
	reporter
	uid    types.UID
	print  [sha256.Size]byte
	cancel context.CancelFunc
	ended  chan struct{}
}

// over reports whether all of it has ended.
func (s *session) over() bool {
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// adjust starts or stops the session of a Kluster as required. While an obsolete session is stopping it returns nil, and the
// Kluster is queued when it has stopped. An error means that the kubeconfig cannot be used.
func (r *reconciler) adjust(key types.NamespacedName, want *blueprint) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.sessions[key]
	if current != nil {
		if want != nil && current.print == want.print && !current.over() {
			return current, nil
		}
		current.cancel()
		if !current.over() {
			return nil, nil
		}
		delete(r.sessions, key)
	}
	if want == nil {
		return nil, nil
	}
	want.again = current != nil && current.uid == want.uid
	ctx, cancel := context.WithCancel(r.inbox.life())
	report, wait, err := r.open(ctx, *want, func() { r.inbox.news(key) })
	if err != nil {
		cancel()
		return nil, err
	}
	s := &session{reporter: report, uid: want.uid, print: want.print, cancel: cancel, ended: make(chan struct{})}
	r.sessions[key] = s
	go func() {
		wait()
		cancel()
		close(s.ended)
		r.inbox.news(key)
	}()
	return s, nil
}

// wait returns when ctx is done and all sessions, which it ends as well, are over.
func (r *reconciler) wait(ctx context.Context) error {
	<-ctx.Done()
	r.mu.Lock()
	var group sync.WaitGroup
	for _, s := range r.sessions {
		s.cancel()
		group.Go(func() { <-s.ended })
	}
	r.mu.Unlock()
	group.Wait()
	return nil
}

// inbox is a source of the controller: what sessions report. It has the context in which they live.
type inbox struct {
	mu    sync.Mutex
	ctx   context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// Start implements source.Source. The context ends all sessions.
func (i *inbox) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.ctx, i.queue = ctx, queue
	return nil
}

// news queues a Kluster.
func (i *inbox) news(key types.NamespacedName) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.queue.Add(reconcile.Request{NamespacedName: key})
}

// life returns the context in which sessions live.
func (i *inbox) life() context.Context {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.ctx
}
