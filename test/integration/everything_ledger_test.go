// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gvr "k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	fake "groundskeeper.io/groundskeeper/test/fakes/openstack"
)

// ledger knows what has to live, by UID, and notices when any of it is deleted. It resumes its watches after each loss of a server,
// and compares what it lists then with what it knew, so that no deletion passes unseen.
type ledger struct {
	t     *testing.T
	cloud *fake.Server
	// events counts what happened to objects that Groundskeeper's controllers write.
	events atomic.Int64
	stop   context.CancelFunc
	ended  func()

	mu sync.Mutex
	// protected are the objects that live, resources the IDs of those in OpenStack.
	protected map[types.UID]string
	resources map[string]string
	lost      []error
	created   map[string]int
	deleted   map[string]int
	early     map[types.UID]bool // deleted before they were protected
}

// written are the resources that Groundskeeper's controllers write, watched those that may be protected only.
func written() []gvr.GroupVersionResource {
	return []gvr.GroupVersionResource{
		{Group: "core.gardener.cloud", Version: "v1beta1", Resource: "projects"},
		{Group: "kubernikus.sap.cc", Version: "v1", Resource: "klusters"},
		{Group: "gimbal.heptio.com", Version: "v1", Resource: "discoverybackends"},
		{Group: "midonet.org", Version: "v1", Resource: "translations"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Resource: "httproutes"},
	}
}

func watched() []gvr.GroupVersionResource {
	return []gvr.GroupVersionResource{
		{Version: "v1", Resource: "namespaces"}, {Version: "v1", Resource: "persistentvolumes"}, {Version: "v1", Resource: "persistentvolumeclaims"},
		{Version: "v1", Resource: "services"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "nodes"},
		{Group: "discovery.k8s.io", Version: "v1", Resource: "endpointslices"},
		{Group: "projectcontour.io", Version: "v1", Resource: "httpproxies"},
	}
}

// newLedger starts to watch, and returns when it knows all objects.
func newLedger(t *testing.T, config *rest.Config, cloud *fake.Server) *ledger {
	t.Helper()
	l := &ledger{t: t, cloud: cloud, protected: map[types.UID]string{}, resources: map[string]string{}, created: map[string]int{}, deleted: map[string]int{}, early: map[types.UID]bool{}}
	informers := metadatainformer.NewSharedInformerFactory(metadata.NewForConfigOrDie(config), 0)
	for _, resource := range written() {
		l.follow(informers.ForResource(resource).Informer(), resource.Resource, true)
	}
	for _, resource := range watched() {
		l.follow(informers.ForResource(resource).Informer(), resource.Resource, false)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	l.stop, l.ended = cancel, informers.Shutdown
	informers.Start(ctx.Done())
	t.Cleanup(l.close)
	for resource, synced := range informers.WaitForCacheSync(t.Context().Done()) {
		if !synced {
			t.Fatalf("%s are not listed", resource)
		}
	}
	clear(l.created) // by the start of the plane
	return l
}

func (l *ledger) close() {
	l.stop()
	l.ended()
}

func (l *ledger) follow(informer cache.SharedIndexInformer, resource string, counts bool) {
	count := func() {
		if counts {
			l.events.Add(1)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) {
			count()
			l.mu.Lock()
			defer l.mu.Unlock()
			l.created[resource]++
		},
		UpdateFunc: func(before, now any) {
			count()
			old, current := before.(*metav1.PartialObjectMetadata), now.(*metav1.PartialObjectMetadata)
			if old.UID != current.UID { // it was recreated while nothing could be watched
				l.vanished(old, resource, "was deleted")
				l.mu.Lock()
				l.created[resource]++
				l.mu.Unlock()
			}
			if current.DeletionTimestamp != nil {
				l.violated(current, resource, "is being deleted")
			}
		},
		DeleteFunc: func(last any) {
			count()
			if unknown, ok := last.(cache.DeletedFinalStateUnknown); ok {
				last = unknown.Obj
			}
			l.vanished(last.(*metav1.PartialObjectMetadata), resource, "was deleted")
		},
	})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *ledger) vanished(object *metav1.PartialObjectMetadata, resource, how string) {
	l.violated(object, resource, how)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted[resource]++
	l.early[object.UID] = true
}

// violated records that a living object is not left alone.
func (l *ledger) violated(object *metav1.PartialObjectMetadata, resource, how string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if why, lives := l.protected[object.UID]; lives {
		l.lost = append(l.lost, fmt.Errorf("%s %s/%s %s, but it lives: %s", resource, object.Namespace, object.Name, how, why))
		delete(l.protected, object.UID)
	}
}

// protect records that objects live, and why, until they are released.
func (l *ledger) protect(why string, objects ...client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range objects {
		if l.early[object.GetUID()] {
			l.lost = append(l.lost, fmt.Errorf("%T %s/%s was deleted, but it lives: %s", object, object.GetNamespace(), object.GetName(), why))
			continue
		}
		l.protected[object.GetUID()] = why
	}
}

// release records that objects may be deleted from now on.
func (l *ledger) release(objects ...client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, object := range objects {
		delete(l.protected, object.GetUID())
	}
}

// keep records that a resource of OpenStack has to stay; discard, that it may be deleted.
func (l *ledger) keep(id, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resources[id] = what
}

func (l *ledger) discard(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.resources, id)
}

// check fails the test for everything that lives and was deleted.
func (l *ledger) check(t *testing.T) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	left := inCloud(l.cloud)
	for id, what := range l.resources {
		if left[id] == "" {
			l.lost = append(l.lost, fmt.Errorf("%s was deleted from OpenStack, but it is not of a deleted cluster", what))
			delete(l.resources, id)
		}
	}
	if err := errors.Join(l.lost...); err != nil {
		t.Error(err)
	}
	l.lost = nil
}

// balances complains unless OpenStack has exactly what has to stay.
func (l *ledger) balances() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs []error
	left := inCloud(l.cloud)
	for id, what := range l.resources {
		if left[id] == "" {
			errs = append(errs, fmt.Errorf("%s is missing", what))
		}
	}
	for id, what := range left {
		if l.resources[id] == "" {
			errs = append(errs, fmt.Errorf("%s is left over", what))
		}
	}
	return errors.Join(errs...)
}
