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

// ahead are the discoverer's own writes that the caches may not have yet. Without them, an object that changes twice in a short
// time would be written from its outdated state, and the API server would reject the write.
type ahead struct {
	written map[types.NamespacedName]map[desired.Ref]metav1.Object
	removed map[desired.Ref]types.UID
	// inFlight are writes whose responds are not here yet, each with the object of its name that went meanwhile.
	inFlight map[desired.Ref]types.UID
}

// existing returns the copy of a source, if it exists. The caches are read under the lock: an event that is handled in between would
// end a write's being ahead, and what had been read of the caches before would lack it.
func (r *Replica) existing(key types.NamespacedName) existing {
	r.mu.Lock()
	defer r.mu.Unlock()
	var have existing
	found := r.local.slices.Indexed(key.Namespace, key.String())
	service, cached := r.local.services.Get(key.Namespace, desired.CopyName(r.Backend, key.Name))
	if cached {
		if owner, own := desired.ServiceSource(r.Backend, service); own && owner == key {
			have.Service = service
		}
	}
	if !cached {
		have.Service = r.legacy[key]
	}
	for ref, object := range r.ahead.written[key] {
		switch object := object.(type) {
		case *corev1.Service:
			have.Service = object
		case *discoveryv1.EndpointSlice:
			found = append(slices.DeleteFunc(found, func(slice *discoveryv1.EndpointSlice) bool { return slice.Name == ref.Name }), object)
		}
	}
	if have.Service != nil && r.ahead.hasRemoved(have.Service) {
		have.Service = nil
	}
	have.Slices = slices.DeleteFunc(found, func(slice *discoveryv1.EndpointSlice) bool { return r.ahead.hasRemoved(slice) })
	return have
}

// holder returns the Service that has the name of a copy, nil when there is none. One that Groundskeeper deleted is none, even if the
// cache does not have its deletion yet.
func (r *Replica) holder(service *corev1.Service) *corev1.Service {
	r.mu.Lock()
	defer r.mu.Unlock()
	holder, ok := r.local.services.Get(service.Namespace, service.Name)
	if !ok || r.ahead.hasRemoved(holder) {
		return nil
	}
	return holder
}

func (a *ahead) hasRemoved(object metav1.Object) bool {
	uid, removed := a.removed[refOf(object)]
	return removed && uid == object.GetUID()
}

func (a *ahead) discard(key types.NamespacedName, ref desired.Ref) {
	delete(a.written[key], ref)
	if len(a.written[key]) == 0 {
		delete(a.written, key)
	}
}

// writing notes that a write begins. The returned function ends it.
func (r *Replica) writing(ref desired.Ref) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead.inFlight[ref] = ""
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.ahead.inFlight, ref)
	}
}

// wrote notes what the API server has after a write, unless the caches have it already. It is called while the write is in flight:
// an object that a user deletes before its response is here, would be taken for one that is there, permanently.
func (r *Replica) wrote(key types.NamespacedName, object metav1.Object) {
	ref := refOf(object)
	r.mu.Lock()
	if uid := r.ahead.inFlight[ref]; uid != "" && uid == object.GetUID() {
		r.mu.Unlock()
		return
	}
	if r.ahead.written[key] == nil {
		r.ahead.written[key] = map[desired.Ref]metav1.Object{}
	}
	r.ahead.written[key][ref] = object
	r.mu.Unlock()
	// The event may have been handled before the lines above.
	if cached := r.cached(ref); cached != nil {
		r.caughtUp(key, cached)
	}
}

// removing notes that a copy is about to be deleted: the event may come before the response.
func (r *Replica) removing(key types.NamespacedName, object metav1.Object) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ahead.removed[refOf(object)] = object.GetUID()
	r.ahead.discard(key, refOf(object))
}

// caughtUp notes what the caches have of an object, and reports whether that is what Groundskeeper wrote last.
func (r *Replica) caughtUp(key types.NamespacedName, object metav1.Object) bool {
	ref := refOf(object)
	r.mu.Lock()
	defer r.mu.Unlock()
	written := r.ahead.written[key][ref]
	if written == nil {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(object.GetResourceVersion(), written.GetResourceVersion())
	if err != nil || order >= 0 || object.GetUID() != written.GetUID() {
		r.ahead.discard(key, ref)
	}
	return err == nil && order == 0 && object.GetUID() == written.GetUID()
}

// isDeleted notes that an object has been deleted, or not deleted by Groundskeeper after all.
func (r *Replica) isDeleted(key types.NamespacedName, object metav1.Object) {
	ref := refOf(object)
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ahead.removed, ref)
	if _, inFlight := r.ahead.inFlight[ref]; inFlight {
		r.ahead.inFlight[ref] = object.GetUID()
	}
	if written := r.ahead.written[key][ref]; written != nil && written.GetUID() == object.GetUID() {
		r.ahead.discard(key, ref)
	}
}

// cached returns a copy as the caches have it, nil when they have not.
func (r *Replica) cached(ref desired.Ref) metav1.Object {
	switch ref.Kind {
	case desired.KindService:
		if service, ok := r.local.services.Get(ref.Namespace, ref.Name); ok {
			return service
		}
	case desired.KindSlice:
		if slice, ok := r.local.slices.Get(ref.Namespace, ref.Name); ok {
			return slice
		}
	}
	return nil
}
