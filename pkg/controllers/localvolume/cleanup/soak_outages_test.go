// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package cleanup

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"groundskeeper.io/groundskeeper/test/support/localvolumetest"
)

// soakUnreachable is how long a node is not ready until it counts as lost, soakSilence how long a machine shows no sign of life before its
// claims go.
const (
	soakUnreachable = 2 * time.Minute
	soakSilence     = 40 * time.Second
)

// outage is what keeps the Node of a machine from working, and since when; zero: nothing does.
type outage struct{ tainted, unready time.Time }

// began returns since when the Node counts as lost at the earliest; false: it does not at that time.
func (o outage) began(now time.Time) (since time.Time, is bool) {
	if !o.tainted.IsZero() {
		since, is = o.tainted, true
	}
	if lost := o.unready.Add(soakUnreachable); !o.unready.IsZero() && !now.Before(lost) && (!is || lost.Before(since)) {
		since, is = lost, true
	}
	return since, is
}

// away returns since when a machine has no Node that counts, and whether that is so.
func (m *machine) away(now time.Time) (time.Time, bool) {
	if m.node == "" {
		return m.lost, true
	}
	return m.outage.began(now)
}

// originalAway is away for the Node of the original name.
func (m *machine) originalAway(now time.Time) (time.Time, bool) {
	if m.node != m.original {
		return m.lostOriginal, true
	}
	return m.outage.began(now)
}

// changeOutage begins or ends one of a machine with a Node.
func (s *soak) changeOutage(m *machine) {
	s.T.Helper()
	now, o := s.now(), m.outage
	switch s.rand.IntN(3) {
	case 0:
		if o.tainted.IsZero() {
			o.tainted = now
		} else {
			o.tainted = time.Time{}
		}
	case 1:
		o.unready = now // again, if it is not ready: it was in between
	default:
		o = outage{}
	}
	if o == m.outage {
		return
	}
	m.outage = o
	s.number++
	node := s.EditNode(m.node, func(node *corev1.Node) {
		localvolumetest.Taint(!o.tainted.IsZero())(node)
		status := corev1.ConditionTrue
		if !o.unready.IsZero() {
			status = corev1.ConditionUnknown
		}
		if o.unready.IsZero() || o.unready.Equal(now) { // by the clock of another machine, which may be any
			localvolumetest.Ready(status, localvolumetest.Noon.Add(time.Duration(s.number)*time.Second))(node)
		}
	})
	s.note("node %s is tainted since %s, not ready since %s", m.node, o.tainted.Format("04:05"), o.unready.Format("04:05"))
	s.event(func() { s.Site.Inventory.SetNode(node) })
}

// renew renews the Lease of the original Node of a machine, which lives although that is lost.
func (s *soak) renew(m *machine) {
	s.T.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: m.original}}
	if !s.Exists(lease) {
		s.Add(lease.DeepCopy())
	}
	m.renewed = s.now()
	s.note("renew the lease of %s", m.original)
	localvolumetest.Change(s.World, lease, func(l *coordinationv1.Lease) {
		l.Spec.RenewTime = &metav1.MicroTime{Time: localvolumetest.Noon.Add(m.renewed.Sub(localvolumetest.Noon) / 2)}
	})
}
