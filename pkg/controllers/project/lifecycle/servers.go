// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	gardenerv1beta1 "groundskeeper.io/groundskeeper/pkg/apis/gardener/v1beta1"
	"groundskeeper.io/groundskeeper/pkg/controllers/instrument"
	"groundskeeper.io/groundskeeper/pkg/serverstate"
)

// serversPeriod is how often the controller reads what the API servers publish.
const serversPeriod = 5 * time.Second

// authorization is what is known of the API servers.
type authorization interface {
	// last returns what was found most recently.
	last() agreement
	// check reads again what the servers publish.
	check(ctx context.Context) agreement
}

// servers finds out how the API servers authorize requests for Projects. A restart forgets it: nothing is proven then, so that no role is
// deleted until the servers have renewed what they publish.
type servers struct {
	mu           sync.Mutex
	live         client.Reader
	byMembership bool
	clock        clock.PassiveClock
	observer     *serverstate.Observer
	// provenAt is when it was proven last, or when this process began to observe.
	provenAt time.Time
	// current is read while a request is sent.
	current atomic.Pointer[agreement]
}

// newServers returns those that publish where live reads, as a controller expects them.
func newServers(live client.Reader, byMembership bool, clock clock.PassiveClock) *servers {
	s := &servers{live: live, byMembership: byMembership, clock: clock, observer: serverstate.NewObserver(clock), provenAt: clock.Now()}
	s.current.Store(&agreement{})
	return s
}

// last implements authorization.
func (s *servers) last() agreement { return *s.current.Load() }

// check implements authorization.
func (s *servers) check(ctx context.Context) agreement {
	s.mu.Lock()
	defer s.mu.Unlock()
	configMap := &corev1.ConfigMap{}
	err := s.live.Get(ctx, client.ObjectKey{Namespace: serverstate.Namespace, Name: serverstate.Name}, configMap)
	var states map[string]serverstate.State
	if err == nil {
		states, err = serverstate.Of(configMap.Data)
	}
	waited := s.clock.Since(s.provenAt) >= serverstate.Expiry
	var current agreement
	switch {
	case apierrors.IsNotFound(err), err == nil:
		current = decideAgreement(s.byMembership, s.observer.Observe(states), waited)
	case s.byMembership && waited:
		current = differs(true, "it is unknown how the API servers decide: "+err.Error())
	default:
		// One failed request is no difference, and no proof.
		current = agreement{difference: s.last().difference}
	}
	if current.membership {
		s.provenAt = s.clock.Now()
	}
	s.current.Store(&current)
	return current
}

// serverSource reconciles all Projects when the servers begin or cease to authorize as expected.
type serverSource struct {
	*servers
	cache client.Reader
}

// Start implements source.Source.
func (s serverSource) Start(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	go func() {
		ticker := time.NewTicker(serversPeriod)
		defer ticker.Stop()
		var reported agreement
		for {
			if now := s.check(ctx); now != reported && s.enqueue(ctx, queue) {
				reported = now
				instrument.Found(ctx, ControllerName, now.findings()...)
				log.FromContext(ctx).Info("Determined how the API servers authorize requests for Projects",
					"provenMembership", now.membership, "difference", now.difference)
			}
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
			}
		}
	}()
	return nil
}

// enqueue reconciles all Projects. It reports whether it found them.
func (s serverSource) enqueue(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) bool {
	projects := &gardenerv1beta1.ProjectList{}
	if err := s.cache.List(ctx, projects, client.UnsafeDisableDeepCopy); err != nil {
		if ctx.Err() == nil {
			log.FromContext(ctx).Error(err, "Failed to list the projects after a change of how API servers authorize")
		}
		return false
	}
	for i := range projects.Items {
		queue.Add(requestFor(projects.Items[i].Name))
	}
	return true
}

// String returns the name of the source for logs.
func (s serverSource) String() string { return "authorization of the API servers" }
