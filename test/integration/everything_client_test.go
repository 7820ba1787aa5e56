// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package integration

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// patience is how long a client repeats a request, and how long a test of killed processes waits for a state. A client that lost its
// server retries less and less often, up to a minute apart, and several servers may be lost one after the other.
const patience = 5 * time.Minute

// patiently waits until a condition holds, and reports its last complaint when it does not.
func patiently(t *testing.T, condition func(ctx context.Context) error) {
	t.Helper()
	if err := within(t, patience, condition); err != nil {
		t.Fatal(err)
	}
}

// patientClient returns a client whose requests are repeated until a server responds, as long as servers are killed and started. A
// response that was lost leaves open what happened: after a repetition, a created object that exists and a deleted object that does
// not exist are no errors.
func patientClient(c client.WithWatch) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			return repeat(ctx, func(bool) error { return c.Get(ctx, key, obj, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return repeat(ctx, func(bool) error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			wanted := obj.DeepCopyObject().(client.Object)
			return repeat(ctx, func(repeated bool) error {
				err := c.Create(ctx, obj, opts...)
				if repeated && apierrors.IsAlreadyExists(err) && wanted.GetName() != "" {
					return c.Get(ctx, client.ObjectKeyFromObject(wanted), obj)
				}
				return err
			})
		},
		Delete: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.DeleteOption) error {
			return repeat(ctx, func(repeated bool) error {
				err := c.Delete(ctx, obj, opts...)
				if repeated {
					err = client.IgnoreNotFound(err)
				}
				return err
			})
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			return repeat(ctx, func(bool) error { return c.Update(ctx, obj, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return repeat(ctx, func(bool) error { return c.Patch(ctx, obj, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, obj runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return repeat(ctx, func(bool) error { return c.Apply(ctx, obj, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, name string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			return repeat(ctx, func(bool) error { return c.SubResource(name).Update(ctx, obj, opts...) })
		},
	})
}

// repeat sends a request until the response is final. Each attempt has a deadline, which the kube-apiserver of a test reaches only
// when what it needs was killed.
func repeat(ctx context.Context, request func(repeated bool) error) error {
	repeated := false
	var last error
	err := wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = request(repeated)
		repeated = true
		return final(last), nil
	})
	if err != nil && !final(last) {
		return errors.Join(err, fmt.Errorf("no server responds: %w", last))
	}
	return last
}

// final reports whether a response remains the same when the request is repeated: the server did what it was requested, or knows
// why not. A kube-apiserver that has just started also rejects what it cannot authorize or admit yet, and one that has lost its etcd
// calls a Service invalid for which it cannot allocate an address.
func final(err error) bool {
	if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "failed to allocate") {
		return false
	}
	return err == nil || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsInvalid(err) ||
		apierrors.IsBadRequest(err) || apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}
