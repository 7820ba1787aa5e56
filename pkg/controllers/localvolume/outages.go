// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// outageRules are when a Node that exists counts as lost.
type outageRules struct {
	// tainted: when it has the taint node.kubernetes.io/out-of-service. unready: after it was not ready for that long; 0: never.
	tainted bool
	unready time.Duration
}

func outageRulesOf(config *configv1alpha1.LocalVolumeConfiguration) outageRules {
	return outageRules{tainted: *config.OutOfServiceNodes, unready: config.UnreachableNodeDelay.Duration}
}

func (r outageRules) apply() bool { return r.tainted || r.unready > 0 }

// outage is one unbroken time that a Node which exists is observed not to work.
type outage struct {
	node *corev1.Node
	// since is when it was observed first, by the clock of this process.
	since time.Time
	// lost reports that the Node counts as lost.
	lost bool
}

// after returns the outage of a Node after it was observed; nil if it has none. A Node that is another one, or whose condition changed
// meanwhile, began another outage: it may have worked in between. The time of that change is only compared with itself.
func (r outageRules) after(before *outage, node metav1.Object, now time.Time) *outage {
	full, ok := node.(*corev1.Node) // metadata alone says nothing about a Node
	if !ok || !r.isTainted(full) && !r.isUnready(full) {
		return nil
	}
	next := outage{node: full, since: now}
	if before != nil && before.node.UID == full.UID &&
		readyOf(before.node).LastTransitionTime.Time.Equal(readyOf(full).LastTransitionTime.Time) {
		next.since = before.since
	}
	next.lost = r.isTainted(full) || r.isUnready(full) && now.Sub(next.since) >= r.unready
	return &next
}

func (r outageRules) isTainted(node *corev1.Node) bool {
	return r.tainted && slices.ContainsFunc(node.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Key == corev1.TaintNodeOutOfService
	})
}

// isUnready reports whether a Node is not ready, or unknown to be. One that never reported that is about to join.
func (r outageRules) isUnready(node *corev1.Node) bool {
	status := readyOf(node).Status
	return r.unready > 0 && status != "" && status != corev1.ConditionTrue
}

func readyOf(node *corev1.Node) (ready corev1.NodeCondition) {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition
		}
	}
	return ready
}

// trouble explains, after its name, why a Node that exists counts as lost.
func (r outageRules) trouble(node *corev1.Node) string {
	if r.isTainted(node) {
		return "has the taint " + corev1.TaintNodeOutOfService
	}
	return fmt.Sprintf("has not been ready for %s", r.unready)
}

// observe takes over the state of a Node. It reports whether that counts as lost and did before, in the same outage, and whether the
// outage, or the absence of one, is new.
func (i *Inventory) observe(node metav1.Object) (lostStill, changed bool) {
	before := i.outages[node.GetName()]
	now := i.rules.after(before, node, i.clock.Now())
	if now == nil {
		delete(i.outages, node.GetName())
		return false, before != nil
	}
	i.outages[node.GetName()] = now
	same := before != nil && before.since.Equal(now.since) && before.node.UID == now.node.UID
	return same && before.lost && now.lost, !same || before.lost != now.lost
}

// isOut reports whether a Node, as it was read live, counts as lost in the outage that this process observed.
func (i *Inventory) isOut(node metav1.Object) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := i.rules.after(i.outages[node.GetName()], node, i.clock.Now())
	return now != nil && now.lost
}

// troubled reports whether Nodes that exist do not work.
func (i *Inventory) troubled() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return len(i.outages) > 0
}

// ReviewOutages reviews the Nodes that do not work, because time has passed, and returns after how long the next one counts as lost; 0:
// none does.
func (i *Inventory) ReviewOutages() (next time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(i.outages)) {
		now := i.outages[name]
		if now.lost {
			continue
		}
		if i.setNode(now.node); i.outages[name].lost {
			continue
		}
		if rest := now.since.Add(i.rules.unready).Sub(i.clock.Now()); next == 0 || rest < next {
			next = rest
		}
	}
	return next
}

// restartOutages begins all outages again: for a while nothing could be observed. Nodes that were lost because of one are not any more.
func (i *Inventory) restartOutages() {
	for name, before := range maps.Clone(i.outages) {
		delete(i.outages, name)
		i.setNode(before.node)
	}
}

// troubleOf explains why the first of these nodes that exists counts as lost; empty if none exists.
func (i *Inventory) troubleOf(names []string) string {
	for _, name := range names {
		for _, node := range slices.Sorted(maps.Keys(i.names[name].nodes)) {
			if now := i.outages[node]; now != nil && now.lost {
				return i.rules.trouble(now.node)
			}
		}
	}
	return ""
}

// unreachable returns how many of these Nodes exist and count as lost only because they are not ready.
func (i *Inventory) unreachable(nodes []string) (n int) {
	for _, node := range nodes {
		if now := i.outages[node]; now != nil && now.lost && !i.rules.isTainted(now.node) {
			n++
		}
	}
	return n
}
