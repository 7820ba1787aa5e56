// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"

	configv1alpha1 "groundskeeper.io/groundskeeper/pkg/apis/config/v1alpha1"
)

// Inventory knows which nodes the volumes of opted-in classes name, which of them are missing, and since when. It is kept
// up to date by events, so that a lost node costs as much as it has volumes. Its methods may be called by several
// goroutines.
type Inventory struct {
	classes sets.Set[string]
	sources volumeSources
	clock   clock.PassiveClock

	mu sync.Mutex
	// synced reports that all that exists was reported: before, what is not known reports nothing.
	synced bool
	// volumes are the volumes of opted-in classes, and untouched those of them that are never cleaned up.
	volumes   map[string]*volume
	untouched map[string]*volume
	// settings are those of storage classes, and others the volumes of classes that are not opted in, if annotations can change that.
	settings map[string]classSettings
	others   map[string]*corev1.PersistentVolume
	nodes    *nodeSet
	// names has what is known about each name that volumes use, or that a Node has. had has the names that remember a Node,
	// of now and of before, and whether it exists or not.
	names map[string]*identity
	had   index
	// missing are the names with volumes that no Node has that exists, uncertain those that an existing one could have.
	missing   map[string]absence
	uncertain sets.Set[string]
	// outages are those of Nodes that exist, by their names, and rules when such a Node counts as lost. Then it is not among the nodes.
	outages map[string]*outage
	rules   outageRules
}

// volume is an opted-in local volume. The object is the cache's own, and not changed.
type volume struct {
	object *corev1.PersistentVolume
	// pins name its nodes, and nodes are the names alone; none when it is not bound to nodes.
	pins  []pin
	nodes []string
	// reason is that of the event about why it is never cleaned up.
	reason, why string
	// phaseSince is since when it is known to have its phase.
	phaseSince time.Time
}

// absence is one unbroken time that a node is missing.
type absence struct {
	since time.Time
	// witnessed reports that its begin was seen. Otherwise the node was missing already when Groundskeeper came, and since is then.
	witnessed bool
}

// Stale is a volume of which every node is missing.
type Stale struct {
	Volume *corev1.PersistentVolume
	Nodes  []string
	// Since is when the last of them went missing.
	Since time.Time
	// Unknown reports that one of them was never seen: the volume may have been made before its node.
	Unknown bool
	// Trouble explains, after its name, why one of them that exists counts as lost; empty if none exists.
	Trouble string
	// PhaseSince is since when the volume is known to have its phase.
	PhaseSince time.Time
	// class is what its storage class specifies.
	class classSettings
}

// NewInventory returns an empty inventory. It uses the storage classes, the sources of volumes, and the node labels of the
// configuration.
func NewInventory(config configv1alpha1.LocalVolumeConfiguration, clock clock.PassiveClock) *Inventory {
	sources := volumeSourcesOf(&config)
	i := &Inventory{
		classes: sets.New(config.StorageClassNames...), settings: map[string]classSettings{}, sources: sources, clock: clock,
		volumes: map[string]*volume{}, untouched: map[string]*volume{}, nodes: newNodeSet(sources.all),
		names: map[string]*identity{}, had: index{}, missing: map[string]absence{}, uncertain: sets.Set[string]{},
		outages: map[string]*outage{}, rules: outageRulesOf(&config),
	}
	if *config.StorageClassAnnotations {
		i.others = map[string]*corev1.PersistentVolume{}
	}
	return i
}

// SetNode records the current state of a Node, and reports whether that changes which nodes are missing, or uncertain, or what outlives
// the process.
func (i *Inventory) SetNode(node metav1.Object) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.setNode(node)
}

func (i *Inventory) setNode(node metav1.Object) bool {
	lostStill, changed := i.observe(node)
	if lostStill { // its absence goes on
		return false
	}
	changed = i.addNode(node) || changed
	if now := i.outages[node.GetName()]; now != nil && now.lost { // its names are known, which matters if it was never seen before
		changed = i.dropNode(node.GetName(), false) || changed
	}
	return changed
}

func (i *Inventory) addNode(node metav1.Object) bool {
	before := i.nodes.nodes[node.GetName()]
	names, lacksChanged := i.nodes.set(node)
	now := i.nodes.nodes[node.GetName()]
	learned := false
	for _, name := range now.names {
		i.had.add(node.GetName(), name)
		id := i.identity(name)
		id.seenAt = later(id.seenAt, now.created)
		_, known := id.nodes[node.GetName()]
		learned = learned || i.synced && !known && len(id.volumes) > 0
		id.addMatch(node.GetName(), i.nodes.exists)
	}
	changed := i.nodesChanged(node.GetName(), names)
	if lacksChanged {
		changed = i.reviewDoubts(node.GetName(), before, now) || changed
	}
	return changed || learned
}

// RemoveNode records that a Node has been deleted, and returns the same as SetNode.
func (i *Inventory) RemoveNode(name string) bool { return i.removeNode(name, false) }

// RemoveMissedNode is RemoveNode for a deletion that was noticed after a gap in the events: a Node that was observed by now need not
// have existed when the names of the deleted one were last used.
func (i *Inventory) RemoveMissedNode(name string) bool { return i.removeNode(name, true) }

func (i *Inventory) removeNode(name string, missed bool) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.outages, name)
	return i.dropNode(name, missed)
}

func (i *Inventory) dropNode(name string, missed bool) bool {
	before := i.nodes.nodes[name]
	names, lacksChanged := i.nodes.remove(name)
	changed := i.nodesChanged(name, names)
	if lacksChanged {
		changed = i.reviewDoubts(name, before, nodeNames{}) || changed
	}
	for _, had := range i.had[name].UnsortedList() {
		i.prune(had)
	}
	if !missed {
		return changed
	}
	for _, name := range before.names {
		if id := i.names[name]; id != nil && !id.there {
			id.seen = 0
		}
	}
	return i.reviewAll(before.names) || changed
}

// nodesChanged reviews the names that a Node has or had: it may have appeared or disappeared.
func (i *Inventory) nodesChanged(node string, names []string) bool {
	return i.reviewAll(slices.Concat(names, i.had[node].UnsortedList()))
}

func (i *Inventory) identity(name string) *identity {
	if i.names[name] == nil {
		i.names[name] = &identity{nodes: map[string]bool{}, keys: map[string]int{}, volumes: map[string]*volume{}}
	}
	return i.names[name]
}

// prune discards the Nodes that do not exist of a name that no volume uses.
func (i *Inventory) prune(name string) {
	id := i.names[name]
	if id == nil || len(id.volumes) > 0 {
		return
	}
	for node := range id.nodes {
		if i.nodes.exists(node) {
			continue
		}
		delete(id.nodes, node)
		i.had.remove(node, name)
	}
	if len(id.nodes) == 0 {
		delete(i.names, name)
	}
}

// SetVolume records the current state of a volume, and reports whether that is worth a reconciliation: it is stale, or was, or does
// not name its nodes, or it changes what outlives the process.
func (i *Inventory) SetVolume(object *corev1.PersistentVolume) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.setVolume(object)
}

func (i *Inventory) setVolume(object *corev1.PersistentVolume) bool {
	before := i.volumes[object.Name]
	wasStale := before != nil && i.isStale(before.nodes)
	if !i.optedIn(object.Spec.StorageClassName) {
		i.discard(object.Name)
		if i.others != nil {
			i.others[object.Name] = object
		}
		return wasStale
	}
	known := &volume{object: object, phaseSince: i.clock.Now()}
	known.pins, known.reason, known.why = i.sources.pins(object)
	if before != nil && before.object.UID == object.UID && before.object.Status.Phase == object.Status.Phase {
		known.phaseSince = before.phaseSince
	}
	for _, p := range known.pins {
		if !slices.Contains(known.nodes, p.name) {
			known.nodes = append(known.nodes, p.name)
		}
	}
	learned := false
	for _, p := range known.pins { // before the old ones go, so that what is known about a name stays known
		id := i.identity(p.name)
		learned = learned || i.synced && len(id.volumes) == 0 && len(id.nodes) > 0
		id.volumes[object.Name] = known
		if p.key != "" {
			id.keys[p.key]++
		}
	}
	i.unpin(before, known)
	i.volumes[object.Name] = known
	delete(i.untouched, object.Name)
	delete(i.others, object.Name)
	if len(known.nodes) == 0 {
		i.untouched[object.Name] = known
		return wasStale || before == nil
	}
	for _, node := range known.nodes {
		i.review(node, false)
	}
	return wasStale || learned || i.isStale(known.nodes) || before == nil && i.isUncertain(known.nodes)
}

// RemoveVolume learns that a volume has been deleted, and reports whether it was stale.
func (i *Inventory) RemoveVolume(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.volumes[name]
	wasStale := before != nil && i.isStale(before.nodes)
	i.discard(name)
	return wasStale
}

func (i *Inventory) discard(name string) {
	before := i.volumes[name]
	delete(i.volumes, name)
	delete(i.untouched, name)
	delete(i.others, name)
	i.unpin(before, nil)
}

// unpin takes a former state of a volume off its names; now is what the volume is instead.
func (i *Inventory) unpin(before, now *volume) {
	if before == nil {
		return
	}
	for _, p := range before.pins {
		id := i.names[p.name]
		if id.volumes[before.object.Name] == before {
			delete(id.volumes, before.object.Name)
		}
		if p.key != "" {
			if id.keys[p.key]--; id.keys[p.key] == 0 {
				delete(id.keys, p.key)
			}
		}
	}
	for _, name := range before.nodes {
		if now == nil || !slices.Contains(now.nodes, name) {
			i.review(name, false)
			i.prune(name)
		}
	}
}

// review brings missing up to date for one name, and reports whether it is or was missing or uncertain and that changed. A node
// that is back, for however short a time, has lost nothing: what it was missing for is discarded immediately.
func (i *Inventory) review(name string, witnessed bool) bool {
	id := i.names[name]
	if id == nil {
		return false
	}
	before := id.state
	there := len(i.nodes.matching[name]) > 0
	if id.there && !there || id.seen == 0 && !id.sighted && i.synced && len(id.volumes) > 0 {
		id.seen = i.nodes.step()
	}
	id.there, id.sighted = there, id.sighted || there
	id.state = ""
	if i.synced && len(id.volumes) > 0 {
		id.state, _ = i.presenceOf(i.nodes, name)
	}
	if i.uncertain.Delete(name); id.state == uncertain {
		i.uncertain.Insert(name)
	}
	_, was := i.missing[name]
	switch is := id.state == absent; {
	case is && !was:
		i.missing[name] = absence{since: i.clock.Now(), witnessed: witnessed}
	case was && !is:
		delete(i.missing, name)
	}
	troubled := func(state presence) bool { return state == absent || state == uncertain }
	return before != id.state && (troubled(before) || troubled(id.state))
}

func (i *Inventory) reviewAll(names []string) bool {
	changed := false
	for _, name := range names {
		changed = i.review(name, true) || changed
	}
	return changed
}

// MarkSynced reports that everything that exists has been reported. Nothing is missing before.
func (i *Inventory) MarkSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	for name := range i.names {
		i.review(name, false)
	}
}

// Synced reports whether everything that exists has been reported.
func (i *Inventory) Synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}
