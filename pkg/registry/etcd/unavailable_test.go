// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/storage"
)

// failing is a storage whose methods return an error.
type failing struct {
	storage.Interface
	err error
}

func (r failing) Create(context.Context, string, runtime.Object, runtime.Object, uint64) error {
	return r.err
}

func (r failing) GuaranteedUpdate(context.Context, string, runtime.Object, bool, *storage.Preconditions, storage.UpdateFunc, runtime.Object) error {
	return r.err
}

func (r failing) Delete(context.Context, string, runtime.Object, *storage.Preconditions, storage.ValidateObjectFunc, runtime.Object, storage.DeleteOptions) error {
	return r.err
}

func (r failing) Get(context.Context, string, storage.GetOptions, runtime.Object) error {
	return r.err
}

func (r failing) GetList(context.Context, string, storage.ListOptions, runtime.Object) error {
	return r.err
}

// While etcd does not respond, reads return 503 with Retry-After, and writes 504, because their outcome is unknown.
func TestErrorsOfUnavailableEtcd(t *testing.T) {
	for name, test := range map[string]struct {
		err         error
		unavailable bool
	}{
		"nothing":                   {nil, false},
		"no leader":                 {rpctypes.ErrNoLeader, true},
		"timed out":                 {rpctypes.ErrTimeoutDueToLeaderFail, true},
		"wrapped":                   {fmt.Errorf("reading: %w", rpctypes.ErrTimeout), true},
		"connection lost":           {status.Error(codes.Unavailable, "error reading from server: EOF"), true},
		"compacted":                 {rpctypes.ErrCompacted, false},
		"too large":                 {rpctypes.ErrRequestTooLarge, false},
		"canceled":                  {context.Canceled, false},
		"an object's":               {storage.NewKeyNotFoundError("key", 1), false},
		"admission's":               {apierrors.NewInternalError(errors.New("webhook")), false},
		"another error":             {errors.New("other"), false},
		"a deadline's":              {context.DeadlineExceeded, false},
		"a status of Groundskeeper": {apierrors.NewServiceUnavailable("other"), false},
	} {
		t.Run(name, func(t *testing.T) {
			s, ctx := available{failing{err: test.err}}, t.Context()
			for what, err := range map[string]error{
				"create": s.Create(ctx, "", nil, nil, 0),
				"update": s.GuaranteedUpdate(ctx, "", nil, false, nil, nil, nil),
				"delete": s.Delete(ctx, "", nil, nil, nil, nil, storage.DeleteOptions{}),
				"get":    s.Get(ctx, "", storage.GetOptions{}, nil),
				"list":   s.GetList(ctx, "", storage.ListOptions{}, nil),
			} {
				if !test.unavailable {
					if !errors.Is(err, test.err) {
						t.Errorf("%s: %v became %v", what, test.err, err)
					}
					continue
				}
				var response *apierrors.StatusError
				if !errors.As(err, &response) {
					t.Errorf("%s: %T: %v", what, err, err)
					continue
				}
				after, repeats := apierrors.SuggestsClientDelay(err)
				switch what {
				case "get", "list":
					if response.ErrStatus.Code != http.StatusServiceUnavailable || !repeats || after != retryAfterSeconds {
						t.Errorf("%s: %+v", what, response.ErrStatus)
					}
				default:
					if response.ErrStatus.Code != http.StatusGatewayTimeout || repeats {
						t.Errorf("%s: %+v", what, response.ErrStatus)
					}
				}
			}
		})
	}
}
