// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// retryAfterSeconds is when clients read again. A new leader of etcd is elected within two seconds.
const retryAfterSeconds = 1

// available informs clients that they may try again while etcd does not respond: it has no leader, or a member went with the
// request. The library returns such an error as an internal one (500), which clients take for final.
type available struct {
	storage.Interface
}

// readAgain returns the error of a read: 503 with Retry-After, which clients repeat automatically.
func readAgain(err error) error {
	if !unavailable(err) {
		return err
	}
	again := apierrors.NewServiceUnavailable("etcd does not respond: " + err.Error())
	again.ErrStatus.Details = &metav1.StatusDetails{RetryAfterSeconds: retryAfterSeconds}
	return again
}

// openWrite returns the error of a write: 504 (Timeout) reports that it is open whether it was done. Repeated blindly, a creation
// that was done would come back as AlreadyExists, so that is for the client to decide.
func openWrite(err error) error {
	if !unavailable(err) {
		return err
	}
	return apierrors.NewTimeoutError("etcd does not respond, and the write may have succeeded: "+err.Error(), 0)
}

// unavailable reports whether etcd could not respond.
func unavailable(err error) bool {
	if err == nil {
		return false
	}
	if e := (rpctypes.EtcdError{}); errors.As(err, &e) {
		return e.Code() == codes.Unavailable
	}
	s, ok := status.FromError(err)
	return ok && s.Code() == codes.Unavailable
}

// Create implements storage.Interface.
func (a available) Create(ctx context.Context, key string, obj, out runtime.Object, ttl uint64) error {
	return openWrite(a.Interface.Create(ctx, key, obj, out, ttl))
}

// GuaranteedUpdate implements storage.Interface.
func (a available) GuaranteedUpdate(ctx context.Context, key string, destination runtime.Object, ignoreNotFound bool,
	preconditions *storage.Preconditions, tryUpdate storage.UpdateFunc, cached runtime.Object) error {
	return openWrite(a.Interface.GuaranteedUpdate(ctx, key, destination, ignoreNotFound, preconditions, tryUpdate, cached))
}

// Delete implements storage.Interface.
func (a available) Delete(ctx context.Context, key string, out runtime.Object, preconditions *storage.Preconditions,
	validate storage.ValidateObjectFunc, cached runtime.Object, opts storage.DeleteOptions) error {
	return openWrite(a.Interface.Delete(ctx, key, out, preconditions, validate, cached, opts))
}

// Get implements storage.Interface.
func (a available) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	return readAgain(a.Interface.Get(ctx, key, opts, out))
}

// GetList implements storage.Interface.
func (a available) GetList(ctx context.Context, key string, opts storage.ListOptions, list runtime.Object) error {
	return readAgain(a.Interface.GetList(ctx, key, opts, list))
}
