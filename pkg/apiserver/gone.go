// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package apiserver

import (
	"context"
	"errors"
	"slices"
	"strings"
	"syscall"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

// IgnoreGoneClients keeps errors about clients that are gone out of the log: whoever watches ends that by closing the connection, and no
// operator has to act. It replaces the library's handler that logs, for the whole process.
func IgnoreGoneClients() { utilruntime.ErrorHandlers[0] = logUnlessGone }

func logUnlessGone(ctx context.Context, err error, message string, keysAndValues ...any) {
	if isGone(ctx, err, message) {
		klog.FromContext(ctx).V(4).Info("The client closed its connection", "err", err, "while", message)
		return
	}
	// As the library's handler does: the line is that of the caller of HandleError.
	klog.LoggerWithName(klog.FromContext(ctx).WithCallDepth(3), "UnhandledError").Error(err, message, keysAndValues...)
}

// isGone reports whether an error of the library is that the client of a response is gone. Errors of other connections, such as those to
// the kube-apiserver, have other messages.
func isGone(ctx context.Context, err error, message string) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	closed := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) ||
		slices.ContainsFunc([]string{
			": write: broken pipe", ": write: connection reset by peer", "http2: stream closed", "client disconnected",
		}, func(end string) bool { return strings.HasSuffix(text, end) })
	switch message {
	case "Failed to encode watch event":
		// An object that cannot be encoded is an error, also if the client does not wait for it.
		return closed || ctx.Err() != nil && errors.Is(err, ctx.Err())
	case "Failed to flush watch response", "Failed to flush watch response after initial events", "Failed to close watch response writer":
		return closed || ctx.Err() != nil
	}
	return closed && (strings.HasPrefix(text, "apiserver was unable to write a ") ||
		strings.HasPrefix(text, "apiserver received an error that is not an metav1.Status: "))
}
