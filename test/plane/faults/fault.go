// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"maps"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Kind is how a request fails.
type Kind int

const (
	// RequestLost ends the connection before the API server gets the request.
	RequestLost Kind = iota
	// ResponseLost ends the connection after the API server has done it, and before the client knows.
	ResponseLost
	// HalfResponse ends the connection in the middle of the response.
	HalfResponse
	// TooManyRequests is status 429, with a second to wait.
	TooManyRequests
	// InternalError is status 500.
	InternalError
	// GatewayTimeout is status 504.
	GatewayTimeout
)

// Kinds are all of them.
var Kinds = []Kind{RequestLost, ResponseLost, HalfResponse, TooManyRequests, InternalError, GatewayTimeout}

// String implements fmt.Stringer.
func (k Kind) String() string {
	return [...]string{"request lost", "response lost", "half a response", "429", "500", "504"}[k]
}

// Request is what a fault is chosen by.
type Request = request.RequestInfo

// fault makes requests fail.
type fault struct {
	kind  Kind
	match func(*Request) bool
	// skip is how many requests pass before, times how many fail then; less than 0: all.
	skip, times int
}

// Fail makes requests of which match is true fail: the first skip of them pass, then times fail, all if times is less than 0.
// The returned function ends it.
func (p *Proxy) Fail(kind Kind, match func(*Request) bool, skip, times int) (end func()) {
	f := &fault{kind: kind, match: match, skip: skip, times: times}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, f)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.faults = slices.DeleteFunc(p.faults, func(other *fault) bool { return other == f })
	}
}

// FailWrite makes the n-th write from now on fail, the first being 1. Events and Leases do not count.
func (p *Proxy) FailWrite(kind Kind, n int) (end func()) { return p.Fail(kind, isWrite, n-1, 1) }

// faultOf returns how a request fails, nil that it does not.
func (p *Proxy) faultOf(info *request.RequestInfo) *fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		switch {
		case f.times == 0 || !f.match(info):
		case f.skip > 0:
			f.skip--
		default:
			f.times--
			return f
		}
	}
	return nil
}

// before fails a request that the API server does not get, and reports whether it is one.
func (f *fault) before(w http.ResponseWriter) bool {
	switch f.kind {
	case RequestLost:
		panic(http.ErrAbortHandler) // ends the connection
	case TooManyRequests:
		w.Header().Set("Retry-After", "1")
		respond(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "a fault of the test")
	case InternalError:
		respond(w, http.StatusInternalServerError, metav1.StatusReasonInternalError, "a fault of the test")
	case GatewayTimeout:
		respond(w, http.StatusGatewayTimeout, metav1.StatusReasonTimeout, "a fault of the test")
	default:
		return false
	}
	return true
}

// after fails a request that the API server has responded to, and reports whether it did.
func (f *fault) after(w http.ResponseWriter, response *http.Response) bool {
	switch f.kind {
	case ResponseLost:
		panic(http.ErrAbortHandler)
	case HalfResponse:
		var body bytes.Buffer
		_, _ = io.CopyN(&body, response.Body, 1<<20)
		maps.Copy(w.Header(), response.Header)
		w.WriteHeader(response.StatusCode)
		_, _ = w.Write(body.Bytes()[:body.Len()/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	return false
}

// respond sends the status that an API server sends.
func respond(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Message: message, Code: int32(code), //nolint:gosec // a status code
	})
}

func pemOf(certificate *x509.Certificate) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
}
