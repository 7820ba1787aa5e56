// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pauses returns those between two watches: a server that ends each watch immediately is not polled continuously.
func pauses() wait.DelayFunc {
	return wait.Backoff{Duration: 100 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 10, Cap: 10 * time.Second}.
		DelayWithReset(clock.RealClock{}, time.Minute)
}

// patience is how long the API server may be unavailable before the watch ends: longer than an upgrade takes.
const patience = 5 * time.Minute

// follow calls a function with an object each time it changes, until the function returns an error, the object is deleted or
// another one has its name (the error given), or ctx is done. A watch that breaks is begun again. While the API server
// is unavailable, lost is called for each failed request.
func follow[T any, P interface {
	*T
	client.Object
}](ctx context.Context, c client.WithWatch, object P, list client.ObjectList, notify func(P) error, lost func(error), deleted error) error {
	key, uid := client.ObjectKeyFromObject(object), object.GetUID()
	same := func(now P) error {
		if now.GetUID() != uid {
			return deleted
		}
		return notify(now)
	}
	round := func(ctx context.Context) error {
		now := P(new(T)) // in one that was read before, fields would stay that are absent now
		err := c.Get(ctx, key, now)
		if apierrors.IsNotFound(err) {
			return deleted
		}
		if err != nil {
			return err
		}
		if err := same(now); err != nil {
			return err
		}
		return watchOnce(ctx, c, now, list, same, deleted)
	}
	responded := time.Now()
	return pauses().Until(ctx, true, true, func(ctx context.Context) (bool, error) {
		err := round(ctx)
		switch {
		case err == nil:
			responded = time.Now()
		case ctx.Err() == nil && isPassing(err) && time.Since(responded) < patience:
			lost(err)
		default:
			return false, err
		}
		return false, nil
	})
}

// isPassing reports whether an error is temporary: the API server is unavailable or overloaded.
func isPassing(err error) bool {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return true
	}
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsInternalError(err) ||
		apierrors.IsServerTimeout(err) || apierrors.IsTimeout(err)
}

// watchOnce watches an object from the version that is given until the watch ends. No error means that.
func watchOnce[P client.Object](
	ctx context.Context, c client.WithWatch, object P, list client.ObjectList, notify func(P) error, deleted error,
) error {
	options := &client.ListOptions{
		Namespace:     object.GetNamespace(),
		FieldSelector: fields.OneTermEqualSelector(metav1.ObjectNameField, object.GetName()),
		Raw:           &metav1.ListOptions{ResourceVersion: object.GetResourceVersion()},
	}
	events, err := c.Watch(ctx, list, options)
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case event, ok := <-events.ResultChan():
			if !ok || event.Type == watch.Error {
				return nil
			}
			now, isObject := event.Object.(P)
			if !isObject || event.Type == watch.Bookmark {
				continue
			}
			if err := notify(now); err != nil {
				return err
			}
			if event.Type == watch.Deleted {
				return deleted
			}
		}
	}
}
