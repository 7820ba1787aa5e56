// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package console

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	midonetv1 "groundskeeper.io/groundskeeper/pkg/apis/midonet/v1"
	"groundskeeper.io/groundskeeper/pkg/plugin/report"
)

// pageSize is the number of objects per page of a list: with more, two complete copies of many objects would be in memory.
const pageSize = 2000

// follower keeps the objects of a kind in the store current.
type follower struct {
	options Options
	kind    Kind
	store   *store
	client  client.WithWatch
	// version is where the next watch begins, "" requires a list.
	version string
}

// run lists and watches until ctx is done. Unlike an informer it reports to the store what it is not allowed to read, and since
// when the server does not respond.
func (f *follower) run(ctx context.Context) {
	pauses := wait.Backoff{Duration: 200 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 8, Cap: 5 * time.Second}.
		DelayWithReset(clock.RealClock{}, time.Minute)
	_ = pauses.Until(ctx, true, true, func(ctx context.Context) (bool, error) { // it ends with ctx
		err := f.round(ctx)
		switch {
		case err == nil, ctx.Err() != nil:
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			f.version = ""
		default:
			f.version = "" // whether the server has the same history when it responds again is unknown
			f.store.failed(f.kind.Title, err)
			if meta.IsNoMatchError(err) {
				f.reconnect()
			}
		}
		return false, nil //nolint:nilerr // errors are reported, and end nothing
	})
}

// reconnect discards what the client has cached about the kinds that are served.
func (f *follower) reconnect() {
	if fresh, err := f.options.Connect(); err == nil {
		f.client = fresh
	}
}

// round watches once, after a list if it is necessary.
func (f *follower) round(ctx context.Context) error {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return err
		}
	}
	raw := &metav1.ListOptions{ResourceVersion: f.version, AllowWatchBookmarks: true}
	events, err := f.client.Watch(ctx, f.kind.List(), &client.ListOptions{Namespace: f.options.Namespace, Raw: raw})
	if err != nil {
		return err
	}
	defer events.Stop()
	f.store.reached(f.kind.Title)
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, ok := <-events.ResultChan():
			if !ok {
				return nil
			}
			if err := f.apply(event); err != nil {
				return err
			}
		}
	}
}

func (f *follower) apply(event watch.Event) error {
	if event.Type == watch.Error {
		return apierrors.FromObject(event.Object)
	}
	object, ok := event.Object.(client.Object)
	if !ok {
		return fmt.Errorf("watch %s: got a %T", f.kind.Title, event.Object)
	}
	f.version = object.GetResourceVersion()
	switch event.Type {
	case watch.Added, watch.Modified:
		f.store.set(f.kind.Title, trimmed(object))
	case watch.Deleted:
		f.store.remove(f.kind.Title, object)
	}
	return nil
}

// list replaces the objects of the kind in the store. The page shows the first ones while others are still read.
func (f *follower) list(ctx context.Context) error {
	listing := f.store.list(f.kind.Title)
	version, err := report.Pages(ctx, f.client, f.kind.List(), func(page []client.Object) {
		for _, object := range page {
			trimmed(object)
		}
		listing.add(page)
	}, client.InNamespace(f.options.Namespace), client.Limit(pageSize))
	if err != nil {
		return err
	}
	f.version = version
	listing.done()
	return nil
}

// trimmed removes what no finding needs from an object that is cached.
func trimmed(object client.Object) client.Object {
	object.SetManagedFields(nil)
	if t, ok := object.(*midonetv1.Translation); ok {
		t.Resources = nil
	}
	return object
}
