// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package replica

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"groundskeeper.io/groundskeeper/pkg/discoverer/desired"
)

// ahead are the discoverer's own writes that the caches may not have yet, as a part of the memory. Without them, an object that
// changes twice in a short time would be written from its outdated state, and the API server would reject the write.
type ahead struct {
	written map[types.NamespacedName]map[desired.Ref]metav1.Object
	removed map[desired.Ref]types.UID
	// inFlight are writes that the API server has not responded to yet, each with the object of its name that was deleted meanwhile.
	inFlight map[desired.Ref]types.UID
}

// latest returns the copy of a source, if it exists, or the Service of another client that has its name. The caches are read under the
// lock: an event that is handled in between would end a write's being ahead, and what had been read of the caches before would lack it.
func (m *memory) latest(
	key types.NamespacedName, cached func() (desired.Objects, *corev1.Service),
) (have desired.Objects, other *corev1.Service) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, other = cached()
	if have.Service == nil && other == nil {
		have.Service = m.legacy[key]
	}
	for ref, object := range m.written[key] {
		switch object := object.(type) {
		case *corev1.Service:
			have.Service = object
		case *discoveryv1.EndpointSlice:
			isBefore := func(slice *discoveryv1.EndpointSlice) bool { return slice.Name == ref.Name }
			have.Slices = append(slices.DeleteFunc(have.Slices, isBefore), object)
		}
	}
	if have.Service != nil && m.hasRemoved(have.Service) {
		have.Service = nil
	}
	if other != nil && m.hasRemoved(other) { // and the cache does not have that yet
		other = nil
	}
	have.Slices = slices.DeleteFunc(have.Slices, func(slice *discoveryv1.EndpointSlice) bool { return m.hasRemoved(slice) })
	return have, other
}

func (a *ahead) hasRemoved(object metav1.Object) bool {
	uid, removed := a.removed[desired.RefOf(object)]
	return removed && uid == object.GetUID()
}

func (a *ahead) discard(key types.NamespacedName, ref desired.Ref) {
	delete(a.written[key], ref)
	if len(a.written[key]) == 0 {
		delete(a.written, key)
	}
}

// writing notes that a write begins. The returned function ends it.
func (m *memory) writing(ref desired.Ref) (end func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.inFlight[ref] = ""
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.inFlight, ref)
	}
}

// wrote notes what the API server has after a write. It is called while the write is in flight: an object that a user deletes before
// its response is here would be taken for one that is there, permanently.
func (m *memory) wrote(key types.NamespacedName, object metav1.Object) {
	ref := desired.RefOf(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	if uid := m.inFlight[ref]; uid != "" && uid == object.GetUID() {
		return
	}
	if m.written[key] == nil {
		m.written[key] = map[desired.Ref]metav1.Object{}
	}
	m.written[key][ref] = object
}

// removing notes that a copy is about to be deleted: the event may come before the response.
func (m *memory) removing(key types.NamespacedName, object metav1.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed[desired.RefOf(object)] = object.GetUID()
	m.discard(key, desired.RefOf(object))
}

// caughtUp notes what the caches have of an object, and reports whether that is what Groundskeeper wrote last.
func (m *memory) caughtUp(key types.NamespacedName, object metav1.Object) bool {
	ref := desired.RefOf(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	written := m.written[key][ref]
	if written == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), written.GetResourceVersion())
	if err != nil || order >= 0 || object.GetUID() != written.GetUID() {
		m.discard(key, ref)
	}
	return err == nil && order == 0 && object.GetUID() == written.GetUID()
}

// notRemoved notes that an object that was to be deleted is not there any more by the caches, or still there because that failed.
func (m *memory) notRemoved(key types.NamespacedName, object metav1.Object) {
	ref := desired.RefOf(object)
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.removed, ref)
	if _, inFlight := m.inFlight[ref]; inFlight {
		m.inFlight[ref] = object.GetUID()
	}
	if written := m.written[key][ref]; written != nil && written.GetUID() == object.GetUID() {
		m.discard(key, ref)
	}
}
