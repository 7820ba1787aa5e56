// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package converter

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"groundskeeper.io/groundskeeper/pkg/controllers/translation/convert"
)

// memory is what outlives a reconcile. A restart loses all of it: the grace periods of Nodes begin again, so that nothing is deleted early,
// and problems that are not new are reported once more.
type memory struct {
	skipped, blocked, sharing *prometheus.GaugeVec

	mu sync.Mutex
	// problems are those of owners, so that each is reported once.
	problems map[unit][]problem
	// losses are of Nodes that have Translations, newcomers are those that never had a host-id.
	losses, newcomers map[unit]loss
	// nodes are what each Node has that no other one should have.
	nodes map[string]convert.Holdings
	// initial are owners that existed when this process started and had no pass since. Of those whose Translations are in place, an earlier
	// process reported what has no translation when it wrote the rest: to do so again, for each of thousands of Services, is what a restart
	// must not cost.
	initial map[unit]struct{}
	// policies are read: each is needed for every Pod of its namespace.
	policies map[types.NamespacedName]readPolicy
}

// loss is of one Node: one that was recreated has its own.
type loss struct {
	uid types.UID
	at  time.Time
}

// readPolicy is a version of a NetworkPolicy.
type readPolicy struct {
	uid     types.UID
	version string
	policy  *convert.Policy
}

func newMemory(m *meters) *memory {
	return &memory{skipped: m.skipped, blocked: m.blocked, sharing: m.sharing, problems: map[unit][]problem{}, losses: map[unit]loss{},
		newcomers: map[unit]loss{}, nodes: map[string]convert.Holdings{}, initial: map[unit]struct{}{},
		policies: map[types.NamespacedName]readPolicy{}}
}

// setProblems records the problems of an owner, and returns the new ones.
func (m *memory) setProblems(u unit, now []problem) []problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.problems[u]
	for _, p := range before {
		m.gauge(p).Dec()
	}
	var news []problem
	for _, p := range now {
		m.gauge(p).Inc()
		if !slices.Contains(before, p) {
			news = append(news, p)
		}
	}
	if len(now) == 0 {
		delete(m.problems, u)
	} else {
		m.problems[u] = now
	}
	return news
}

func (m *memory) gauge(p problem) prometheus.Gauge {
	switch {
	case p.blocks:
		return m.blocked.WithLabelValues(p.Reason)
	case p.shares:
		return m.sharing.WithLabelValues(p.Reason)
	default:
		return m.skipped.WithLabelValues(p.Reason)
	}
}

// lost returns since when a Node with Translations lacks the host-id, which may be now.
func (m *memory) lost(u unit, uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return since(m.losses, u, uid, now)
}

// arrived returns since when a Node lacks the host-id that it never had, which may be now.
func (m *memory) arrived(u unit, uid types.UID, now time.Time) time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return since(m.newcomers, u, uid, now)
}

func since(all map[unit]loss, u unit, uid types.UID, now time.Time) time.Time {
	known, ok := all[u]
	if !ok || known.uid != uid {
		known = loss{uid, now}
		all[u] = known
	}
	return known.at
}

// keeps ends the loss of a Node that has nothing to lose.
func (m *memory) keeps(u unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.losses, u)
}

// settles ends what is remembered of a Node without a host-id.
func (m *memory) settles(u unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.losses, u)
	delete(m.newcomers, u)
}

// setHoldings takes over what a Node has now, and returns the Nodes whose problems may have changed by that, sorted.
func (m *memory) setHoldings(name string, now convert.Holdings) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.nodes[name]
	if before.Equal(now) {
		return nil
	}
	if now.Equal(convert.Holdings{}) {
		delete(m.nodes, name)
	} else {
		m.nodes[name] = now
	}
	var affected []string
	for other, holdings := range m.nodes {
		if other != name && (holdings.Overlaps(before) || holdings.Overlaps(now)) {
			affected = append(affected, other)
		}
	}
	slices.Sort(affected)
	return affected
}

// shared returns the problems of a Node that shares something with others.
func (m *memory) shared(name string) []convert.Problem {
	m.mu.Lock()
	defer m.mu.Unlock()
	own, others := m.nodes[name], map[string]convert.Holdings{}
	for other, holdings := range m.nodes {
		if other != name && holdings.Overlaps(own) {
			others[other] = holdings
		}
	}
	return own.Shared(others)
}

// expect notes owners of the first lists.
func (m *memory) expect(units []unit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, u := range units {
		m.initial[u] = struct{}{}
	}
}

// takeInitial reports whether an owner is of the first lists and had no pass yet. From now on it had one.
func (m *memory) takeInitial(u unit) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, found := m.initial[u]
	if delete(m.initial, u); found && len(m.initial) == 0 {
		m.initial = map[unit]struct{}{} // a map does not shrink
	}
	return found
}

// policyOf returns what is read of a NetworkPolicy of the cache.
func (m *memory) policyOf(policy *networkingv1.NetworkPolicy) *convert.Policy {
	m.mu.Lock()
	defer m.mu.Unlock()
	name := client.ObjectKeyFromObject(policy)
	known, found := m.policies[name]
	if found && known.uid == policy.UID && known.version == policy.ResourceVersion {
		return known.policy
	}
	read := readPolicy{policy.UID, policy.ResourceVersion, convert.ReadPolicy(policy)}
	m.policies[name] = read
	return read.policy
}

// discard drops what is remembered of an owner that has been deleted.
func (m *memory) discard(u unit) {
	m.setProblems(u, nil)
	m.settles(u)
	m.takeInitial(u)
	if u.kind == convert.KindNetworkPolicy {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.policies, u.key())
	}
}
