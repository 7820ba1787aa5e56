// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package localvolume

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
)

// Inventory knows which nodes the opted-in local volumes name, which of them are missing, and since when. It is kept
// up to date by events, so that a lost node costs as much as it has volumes. Its methods may be called by several
// goroutines.
type Inventory struct {
	classes, topologyKeys []string
	clock                 clock.PassiveClock

	mu sync.Mutex
	// synced says that all that exists was told: before, what is not known says nothing.
	synced bool
	// volumes are the opted-in local volumes, pinned the same by the names of their nodes, and unbound those that name
	// none.
	volumes map[string]*volume
	pinned  map[string]map[string]*volume
	unbound map[string]*volume
	// nodes has the names that each Node answers to, answering how many Nodes answer to a name.
	nodes     map[string][]string
	answering map[string]int
	// missing are the names with volumes that no Node answers to.
	missing map[string]absence
}

// volume is an opted-in local volume. The object is the cache's own, and not changed.
type volume struct {
	object *corev1.PersistentVolume
	// nodes are the names of its nodes; none when it is not bound to nodes.
	nodes []string
}

// absence is one unbroken time that a node is missing.
type absence struct {
	since time.Time
	// witnessed says that the node was seen before. Otherwise it was missing already when we came, and since is then.
	witnessed bool
}

// Stale is a volume of which every node is missing.
type Stale struct {
	Volume *corev1.PersistentVolume
	Nodes  []string
	// Since is when the last of them went missing.
	Since time.Time
}

// NewInventory returns an inventory that knows nothing yet. topologyKeys are the node labels by which a volume can
// name its nodes.
func NewInventory(classes, topologyKeys []string, clock clock.PassiveClock) *Inventory {
	return &Inventory{
		classes: classes, topologyKeys: topologyKeys, clock: clock,
		volumes: map[string]*volume{}, pinned: map[string]map[string]*volume{}, unbound: map[string]*volume{},
		nodes: map[string][]string{}, answering: map[string]int{}, missing: map[string]absence{},
	}
}

// SetNode learns of a Node as it is now, and says whether one was missing until now or is from now on.
func (i *Inventory) SetNode(node metav1.Object) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.answer(node.GetName(), namesOf(node, i.topologyKeys))
}

// RemoveNode learns that a Node is gone, and says whether that makes one missing.
func (i *Inventory) RemoveNode(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.answer(name, nil)
}

func (i *Inventory) answer(node string, names []string) bool {
	before := i.nodes[node]
	if slices.Equal(before, names) {
		return false
	}
	for _, name := range names {
		i.answering[name]++
	}
	for _, name := range before {
		if i.answering[name]--; i.answering[name] == 0 {
			delete(i.answering, name)
		}
	}
	if i.nodes[node] = names; names == nil {
		delete(i.nodes, node)
	}
	changed := false
	for _, name := range slices.Concat(before, names) {
		changed = i.review(name, true) || changed
	}
	return changed
}

// SetVolume learns of a volume as it is now, and says whether that is worth a pass: it is stale, or was, or does not
// name its nodes.
func (i *Inventory) SetVolume(object *corev1.PersistentVolume) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.volumes[object.Name]
	wasStale := before != nil && i.isStale(before)
	if object.Spec.Local == nil || !slices.Contains(i.classes, object.Spec.StorageClassName) {
		i.forget(object.Name)
		return wasStale
	}
	nodes, _ := NodesOf(object, i.topologyKeys)
	if before == nil || !slices.Equal(before.nodes, nodes) {
		i.forget(object.Name)
	}
	known := &volume{object: object, nodes: nodes}
	i.volumes[object.Name] = known
	if len(nodes) == 0 {
		i.unbound[object.Name] = known
		return wasStale || before == nil
	}
	for _, node := range nodes {
		if i.pinned[node] == nil {
			i.pinned[node] = map[string]*volume{}
		}
		i.pinned[node][object.Name] = known
		i.review(node, false)
	}
	return wasStale || i.isStale(known)
}

// RemoveVolume learns that a volume is gone, and says whether it was stale.
func (i *Inventory) RemoveVolume(name string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	before := i.volumes[name]
	wasStale := before != nil && i.isStale(before)
	i.forget(name)
	return wasStale
}

func (i *Inventory) forget(name string) {
	before := i.volumes[name]
	if before == nil {
		return
	}
	delete(i.volumes, name)
	delete(i.unbound, name)
	for _, node := range before.nodes {
		if delete(i.pinned[node], name); len(i.pinned[node]) == 0 {
			delete(i.pinned, node)
		}
		i.review(node, false)
	}
}

// review brings missing up to date for one name and says whether that changed it. A node that is back, for however
// short a time, has lost nothing: what it was missing for is forgotten at once.
func (i *Inventory) review(name string, witnessed bool) bool {
	_, was := i.missing[name]
	is := i.synced && i.answering[name] == 0 && len(i.pinned[name]) > 0
	switch {
	case is && !was:
		i.missing[name] = absence{since: i.clock.Now(), witnessed: witnessed}
	case was && !is:
		delete(i.missing, name)
	}
	return was != is
}

// MarkSynced says that everything that exists has been told. Nothing is missing before.
func (i *Inventory) MarkSynced() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.synced = true
	for name := range i.pinned {
		i.review(name, false)
	}
}

// Synced says whether everything that exists has been told.
func (i *Inventory) Synced() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.synced
}

// Restore takes over when nodes went missing from somebody who saw it. It counts for those that were missing already
// when we came; of all others we know better.
func (i *Inventory) Restore(since map[string]time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for name, known := range i.missing {
		if at, ok := since[name]; ok && !known.witnessed && at.Before(known.since) {
			i.missing[name] = absence{since: at, witnessed: true}
		}
	}
}

// Interrupt begins the absence of nodes anew: somebody saw one of them although its event has not come yet.
func (i *Inventory) Interrupt(nodes []string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, name := range nodes {
		if _, ok := i.missing[name]; ok {
			i.missing[name] = absence{since: i.clock.Now(), witnessed: true}
		}
	}
}
