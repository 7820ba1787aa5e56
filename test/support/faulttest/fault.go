// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package faulttest checks a loop that deletes at every fault. It records the requests of the loop's whole life, and then runs
// that life again for each of them and each Fault: the request or its response is lost, the request is rejected, the process is
// killed or loses its Lease, or another client recreates what is about to be deleted. Whatever happens, the loop has to finish once
// the faults end, and must not have done what the oracles of this package prohibit.
//
// A life consists of requests to memory and of a fake clock, so that hundreds of them take seconds. The proxy in test/plane/faults
// does the same to a process on a real control plane.
package faulttest

import (
	"errors"
	"io"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Fault is how a request fails, or what happens at the time of a request.
type Fault int

const (
	// RequestLost ends the connection before the system gets the request.
	RequestLost Fault = iota
	// ResponseLost ends the connection after the system has done it.
	ResponseLost
	// HalfResponse ends the connection in the middle of the response. Without a connection it is a response that cannot be decoded.
	HalfResponse
	// TooManyRequests is status 429.
	TooManyRequests
	// InternalError is status 500.
	InternalError
	// GatewayTimeout is status 504.
	GatewayTimeout
	// Conflict is a write of an object that another client wrote in the meantime.
	Conflict
	// KilledBefore ends the process before it sends the request. Another one follows.
	KilledBefore
	// KilledAfter ends the process before it gets the response. Another one follows.
	KilledAfter
	// Deposed takes the Lease away from the process during the request, which succeeds. Another process follows.
	Deposed
	// Recreated has another client delete the object that is to be deleted, and create its own with the same name.
	Recreated
	// Frozen keeps the cache of the process unchanged from the request on, for a while.
	Frozen
	// Uneven keeps all of the cache unchanged, except for the kind that the loop is about.
	Uneven
)

// none is no fault.
const none Fault = -1

var faultNames = [...]string{
	"request lost", "response lost", "half a response", "429", "500", "504", "conflict", "killed before", "killed after", "deposed", "recreated", "frozen", "uneven",
}

// String implements fmt.Stringer.
func (f Fault) String() string {
	if f == none {
		return "no fault"
	}
	return faultNames[f]
}

// Faults returns all of them.
func Faults() []Fault {
	var all []Fault
	for f := range Fault(len(faultNames)) {
		all = append(all, f)
	}
	return all
}

// concerns reports whether a fault at a request differs from the others there.
func (f Fault) concerns(r *Request, fenced bool) bool {
	switch f {
	case ResponseLost, KilledAfter:
		return r.Write
	case Conflict:
		return r.Write && r.object && r.Verb != "create"
	case Deposed:
		return fenced
	case Recreated:
		return r.recreate != nil
	case Frozen, Uneven:
		return r.cached
	default:
		return true
	}
}

var (
	errEnded = errors.New("the process has ended")
	errReset = errors.New("connection reset by peer")
)

// prevents reports whether the system does not get the request.
func (f Fault) prevents() bool {
	switch f {
	case RequestLost, TooManyRequests, InternalError, GatewayTimeout, Conflict, KilledBefore:
		return true
	default:
		return false
	}
}

// err is what the process gets, nil what the system responds.
func (f Fault) err(r *Request) error {
	resource := schema.GroupResource{Resource: "objects"}
	switch f {
	case RequestLost, ResponseLost:
		return errReset
	case HalfResponse:
		return io.ErrUnexpectedEOF
	case TooManyRequests:
		return apierrors.NewTooManyRequests("a fault of the test", 1)
	case InternalError:
		return apierrors.NewInternalError(errors.New("a fault of the test"))
	case GatewayTimeout:
		return apierrors.NewTimeoutError("a fault of the test", 1)
	case Conflict:
		return apierrors.NewConflict(resource, r.Object, errors.New("a fault of the test"))
	case KilledBefore, KilledAfter:
		return errEnded
	default:
		return nil
	}
}

// status is the status code of a response, 0 for a connection that ends.
func (f Fault) status() int {
	switch f {
	case TooManyRequests:
		return http.StatusTooManyRequests
	case InternalError:
		return http.StatusInternalServerError
	case GatewayTimeout:
		return http.StatusGatewayTimeout
	default:
		return 0
	}
}
