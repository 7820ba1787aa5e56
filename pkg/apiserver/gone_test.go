// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/go-logr/logr/funcr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// TestIsGone checks that clients that are gone cause no error in the log, and that every other error does.
func TestIsGone(t *testing.T) {
	write := func(cause error) error {
		return &net.OpError{Op: "write", Net: "tcp", Err: &os.SyscallError{Syscall: "write", Err: cause}}
	}
	pipe, reset := write(syscall.EPIPE), write(syscall.ECONNRESET)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	const event = "Failed to encode watch event"
	for name, test := range map[string]struct {
		ctx     context.Context
		err     error
		message string
		logged  bool
	}{
		"a watcher that closed":             {t.Context(), pipe, event, false},
		"a watcher that was killed":         {t.Context(), reset, event, false},
		"a watcher over HTTP/2":             {t.Context(), errors.New("http2: stream closed"), event, false},
		"a watcher that canceled":           {canceled, context.Canceled, event, false},
		"a watcher before a flush":          {canceled, errors.New("any"), "Failed to flush watch response", false},
		"a list that is not read":           {t.Context(), fmt.Errorf("apiserver was unable to write a application/json response: %w", pipe), "Unhandled Error", false},
		"its status":                        {t.Context(), fmt.Errorf("apiserver received an error that is not an metav1.Status: %#v: %v", pipe, pipe), "Unhandled Error", false}, //nolint:errorlint // as the library
		"an object that cannot be encoded":  {canceled, errors.New("unable to encode watch object"), event, true},
		"a flush that fails":                {t.Context(), errors.New("any"), "Failed to flush watch response", true},
		"a watch of the kube-apiserver":     {t.Context(), reset, "Failed to watch", true},
		"a response that cannot be encoded": {t.Context(), errors.New("apiserver was unable to write a application/json response: no kind"), "Unhandled Error", true},
		"no error":                          {canceled, nil, event, true},
	} {
		t.Run(name, func(t *testing.T) {
			if logged := !isGone(test.ctx, test.err, test.message); logged != test.logged {
				t.Errorf("logged: %t, want %t: %q, %v", logged, test.logged, test.message, test.err)
			}
		})
	}
}

// TestIgnoreGoneClients checks that what the library reports goes through the judgment.
func TestIgnoreGoneClients(t *testing.T) {
	before := utilruntime.ErrorHandlers[0]
	t.Cleanup(func() { utilruntime.ErrorHandlers[0] = before })
	IgnoreGoneClients()
	var logged []string
	ctx := klog.NewContext(t.Context(), funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}))
	utilruntime.HandleErrorWithContext(ctx, syscall.EPIPE, "Failed to encode watch event")
	if len(logged) > 0 {
		t.Errorf("logged for a watcher that is gone: %q", logged)
	}
	utilruntime.HandleErrorWithContext(ctx, errors.New("no encoder"), "Failed to encode watch event")
	if len(logged) != 1 {
		t.Errorf("logged for another error: %q, want one line", logged)
	}
}
