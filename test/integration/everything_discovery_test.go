// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"

	gimbalv1 "groundskeeper.io/groundskeeper/pkg/apis/gimbal/v1"
)

// bornLabel has a separate number on each Service that a user creates. Discoverers copy it, so that a copy shows of which of the
// Services with one name it is.
const bornLabel = "born"

// remotes are the Services of the workload cluster that discoverers copy.
type remotes struct {
	*life
	v      *discovered
	living map[string]*remoteService
	// made numbers Services and addresses.
	made int
	// protected are copies whose deletion fails the test, by UID.
	protected sets.Set[types.UID]
	copied    int
}

// remoteService is a Service, its EndpointSlices by the address that each has from its creation to its deletion, and the copies of both
// that were seen, by the same address, that of the Service by "".
type remoteService struct {
	*corev1.Service
	slices map[string]*discoveryv1.EndpointSlice
	copies map[string]client.Object
}

// discovered creates, changes, deletes and recreates Services of the workload cluster with their EndpointSlices. The copies of those that
// live are not deleted, and in the end there are no others.
func (l *life) discovered() {
	v := *l.copied
	v.t = l.T
	s := &remotes{life: l, v: &v, living: map[string]*remoteService{}, protected: sets.New[types.UID]()}
	check := s.foreign()
	for l.proceed(time.Duration(l.random.IntN(800)) * time.Millisecond) {
		s.protect()
		names := slices.Sorted(maps.Keys(s.living))
		if name := fmt.Sprintf("web-%d", l.random.IntN(12)); s.living[name] == nil && (len(names) < 5 || l.random.IntN(4) == 0) {
			s.add(name)
			continue
		}
		remote := s.living[names[l.random.IntN(len(names))]]
		switch l.random.IntN(8) {
		case 0:
			s.remove(remote)
		case 1:
			s.remove(remote)
			s.add(remote.Name)
		case 2, 3:
			s.addSlice(remote)
		case 4:
			s.removeSlice(remote)
		default:
			for range 1 + l.random.IntN(3) { // at times it changes faster than the discoverer follows
				s.change(remote)
			}
		}
		check()
	}
	patiently(l.T, func(ctx context.Context) error { return v.differs(ctx, v.ns) })
	s.protect()
	want := len(s.living)
	for _, remote := range s.living {
		want += len(remote.slices)
	}
	if len(s.protected) != want {
		l.Errorf("%d copies of living Services and EndpointSlices were seen, want %d", len(s.protected), want)
	}
	check()
	v.status("Synced")
	l.Logf("%d steps: %d Services and EndpointSlices live, %d copies of living ones were never deleted", l.steps, want, s.copied)
}

// foreign makes a Service and an EndpointSlice of a user of this cluster, one with a name like that of a copy. The returned function
// fails the test unless they are what they were, byte for byte.
func (s *remotes) foreign() (check func()) {
	service, slice := s.v.service(s.v.name+"-mine"), s.v.slice(s.v.name+"-mine", "a", "10.9.9.9")
	service.Spec.Selector = nil
	s.v.create(s.c, service, slice)
	s.ledger.protect("a user of this cluster made it", service, slice)
	content := func() string {
		now := []client.Object{&corev1.Service{}, &discoveryv1.EndpointSlice{}}
		for i, object := range []client.Object{service, slice} {
			if err := s.c.Get(s.Context(), client.ObjectKeyFromObject(object), now[i]); err != nil {
				s.Fatal(err)
			}
		}
		text, err := json.MarshalIndent(now, "", " ")
		if err != nil {
			s.Fatal(err)
		}
		return string(text)
	}
	before := content()
	return func() {
		if now := content(); now != before {
			s.Fatalf("what a user of this cluster made was changed:\n%s\nwas:\n%s", now, before)
		}
	}
}

// address returns one that no other EndpointSlice has.
func (s *remotes) address() string {
	s.made++
	return fmt.Sprintf("10.%d.%d.%d", 64+s.made>>16, s.made>>8&255, s.made&255)
}

func (s *remotes) add(name string) {
	s.made++
	service := s.v.service(name)
	service.Labels[bornLabel] = fmt.Sprint(s.made)
	remote := &remoteService{Service: service, slices: map[string]*discoveryv1.EndpointSlice{}, copies: map[string]client.Object{}}
	if s.random.IntN(3) == 0 { // the endpoints may be there first
		s.addSlice(remote)
	}
	s.v.create(s.w, service)
	s.living[name] = remote
	s.addSlice(remote)
}

// addSlice makes an EndpointSlice, often under a name that another one had.
func (s *remotes) addSlice(remote *remoteService) {
	names := sets.New[string]()
	for _, slice := range remote.slices {
		names.Insert(slice.Name)
	}
	address := s.address()
	for i := range 3 {
		if slice := s.v.slice(remote.Name, fmt.Sprint(i), address); !names.Has(slice.Name) {
			s.v.create(s.w, slice)
			remote.slices[address] = slice
			return
		}
	}
}

func (s *remotes) removeSlice(remote *remoteService) {
	for _, address := range slices.Sorted(maps.Keys(remote.slices)) {
		s.release(remote, address)
		s.v.delete(s.w, remote.slices[address])
		delete(remote.slices, address)
		return
	}
}

// remove deletes a Service and its EndpointSlices, in a random order.
func (s *remotes) remove(remote *remoteService) {
	doomed := []client.Object{remote.Service}
	for _, address := range slices.Sorted(maps.Keys(remote.slices)) {
		doomed = append(doomed, remote.slices[address])
	}
	for key := range remote.copies {
		s.release(remote, key)
	}
	s.random.Shuffle(len(doomed), func(i, j int) { doomed[i], doomed[j] = doomed[j], doomed[i] })
	s.v.delete(s.w, doomed...)
	delete(s.living, remote.Name)
}

// change changes the ports of a Service, or the endpoints of an EndpointSlice.
func (s *remotes) change(remote *remoteService) {
	addresses := slices.Sorted(maps.Keys(remote.slices))
	i := s.random.IntN(len(addresses) + 1)
	patiently(s.T, func(ctx context.Context) error {
		if i == len(addresses) {
			if err := s.w.Get(ctx, client.ObjectKeyFromObject(remote.Service), remote.Service); err != nil {
				return err
			}
			remote.Spec.Ports[0].Port = int32(80 + s.random.IntN(1000))
			return s.w.Update(ctx, remote.Service)
		}
		slice := remote.slices[addresses[i]]
		if err := s.w.Get(ctx, client.ObjectKeyFromObject(slice), slice); err != nil {
			return err
		}
		slice.Endpoints = append(slice.Endpoints[:1:1], s.v.slice("", "", s.address()).Endpoints...)
		slice.Endpoints[0].Conditions.Ready = new(s.random.IntN(2) == 0)
		return s.w.Update(ctx, slice)
	})
}

// protect has the test fail when a copy is deleted that the discoverer made of, or adapted to, what lives. An EndpointSlice is not
// protected before its Service is: until the discoverer knows that, it deletes all that the earlier Service of this name had.
func (s *remotes) protect() {
	options := []client.ListOption{client.InNamespace(s.v.ns), client.MatchingLabels{gimbalv1.LabelBackend: s.v.name}}
	services, parts := &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}
	for _, list := range []client.ObjectList{services, parts} {
		if err := s.c.List(s.Context(), list, options...); err != nil {
			s.Fatal(err)
		}
	}
	seen := func(remote *remoteService, key string, copied client.Object) {
		if earlier := remote.copies[key]; earlier != nil && earlier.GetUID() != copied.GetUID() {
			s.Errorf("%T %s was recreated: UID %s, then %s", copied, copied.GetName(), earlier.GetUID(), copied.GetUID())
		} else if earlier == nil {
			remote.copies[key] = copied
			s.protected.Insert(copied.GetUID())
			s.copied++
			s.ledger.protect("its original lives in the remote cluster", copied)
		}
	}
	for i := range services.Items {
		copied := &services.Items[i]
		if remote := s.living[copied.Labels[gimbalv1.LabelService]]; remote != nil && copied.Labels[bornLabel] == remote.Labels[bornLabel] {
			seen(remote, "", copied)
		}
	}
	for i := range parts.Items {
		copied := &parts.Items[i]
		remote := s.living[copied.Labels[gimbalv1.LabelService]]
		if remote == nil || remote.copies[""] == nil {
			continue
		}
		for _, endpoint := range copied.Endpoints {
			if remote.slices[endpoint.Addresses[0]] != nil {
				seen(remote, endpoint.Addresses[0], copied)
			}
		}
	}
}

// release allows the deletion of a copy, because the deletion of its original is next.
func (s *remotes) release(remote *remoteService, key string) {
	if copied := remote.copies[key]; copied != nil {
		s.ledger.release(copied)
		s.protected.Delete(copied.GetUID())
		delete(remote.copies, key)
	}
}
