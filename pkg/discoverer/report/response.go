// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
)

// Response is what a request has shown about whether a backend responds.
type Response int

const (
	// Unclear means that the request failed for another reason than silence: it could not be sent, or its response could not be read. The
	// backend may serve.
	Unclear Response = iota
	// Responded means that the backend has responded, be it with an error.
	Responded
	// Limited means that the backend has rejected the request because there are too many.
	Limited
	// Silent means that there was no response at all.
	Silent
)

// unlimited returns Responded for Limited, which differs only in its reason.
func (r Response) unlimited() Response {
	if r == Limited {
		return Responded
	}
	return r
}

// IsSilence reports whether an error shows that nothing responds at an address: the connection is rejected, closed or reset, there is no
// route, or nothing comes before a timeout. It is a list of what silence is: by any other error, of which there is no complete list, no
// traffic is moved away. That a proxy is silent shows nothing of the backend, nor that a DNS server is.
func IsSilence(err error) bool {
	var dns *net.DNSError
	if err == nil || errors.As(err, &dns) || errors.Is(err, context.Canceled) || isOfProxy(err) {
		return false
	}
	var network net.Error
	silence := []error{
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.ETIMEDOUT,
		context.DeadlineExceeded, os.ErrDeadlineExceeded, io.EOF, io.ErrUnexpectedEOF,
	}
	return slices.ContainsFunc(silence, func(silent error) bool { return errors.Is(err, silent) }) ||
		errors.As(err, &network) && network.Timeout()
}

// isOfProxy reports whether an error is that of a connection to a proxy.
func isOfProxy(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && slices.Contains([]string{"proxyconnect", "socks connect"}, operation.Op)
}
