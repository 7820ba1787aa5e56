// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// memory has the sessions that run. A restart ends them, and they begin again from what the Klusters and their Secrets have then.
type memory struct {
	open  opener
	life  context.Context
	queue workqueue.TypedRateLimitingInterface[reconcile.Request]

	mu       sync.Mutex
	sessions map[types.NamespacedName]*session
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
func (m *memory) adjust(key types.NamespacedName, want *blueprint) (*session, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.sessions[key]
	if current != nil {
		if want != nil && current.print == want.print && !current.over() {
			return current, nil
		}
		current.cancel()
		if !current.over() {
			return nil, nil
		}
		delete(m.sessions, key)
	}
	if want == nil {
		return nil, nil
	}
	want.again = current != nil && current.uid == want.uid
	ctx, cancel := context.WithCancel(m.life)
	report, wait, err := m.open(ctx, *want, func() { m.news(key) })
	if err != nil {
		cancel()
		return nil, err
	}
	s := &session{reporter: report, uid: want.uid, print: want.print, cancel: cancel, ended: make(chan struct{})}
	m.sessions[key] = s
	go func() {
		wait()
		cancel()
		close(s.ended)
		m.news(key)
	}()
	return s, nil
}

// wait returns when ctx is done and all sessions, which it ends as well, are over.
func (m *memory) wait(ctx context.Context) error {
	<-ctx.Done()
	m.mu.Lock()
	var group sync.WaitGroup
	for _, s := range m.sessions {
		s.cancel()
		group.Go(func() { <-s.ended })
	}
	m.mu.Unlock()
	group.Wait()
	return nil
}

// Start implements source.Source, which comes before the first reconcile: sessions live in the context, and report to the queue.
func (m *memory) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	m.life, m.queue = ctx, queue
	return nil
}

func (m *memory) news(key types.NamespacedName) { m.queue.Add(reconcile.Request{NamespacedName: key}) }
