// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

// Package linearizability checks a history of requests about objects that compete for one reserved name: that there is an order in
// which a single server could have handled them one after the other, each between its begin and its end, with these responses.
// Whether a request without a response was done is open, and so is when. https://doi.org/10.1145/78969.78972
package linearizability

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// Verb is what a request does.
type Verb string

// Each verb is about one of the objects. Update and Confirm change what exists, Apply creates what does not.
const (
	Create Verb = "create"
	// Update replaces the object that was read with a resource version.
	Update Verb = "update"
	Apply  Verb = "apply"
	// Confirm sets the confirmation of the deletion, and Revoke removes it.
	Confirm Verb = "confirm"
	Revoke  Verb = "revoke"
	// Delete deletes the object with a uid, if its deletion is confirmed. It exists until Finish removes its finalizer.
	Delete Verb = "delete"
	Finish Verb = "finish"
	Get    Verb = "get"
)

// Request is one request.
type Request struct {
	Verb Verb
	// Object is the index of the object.
	Object int
	// UID and Version are preconditions, "" for none.
	UID, Version string
	// Value is what Create, Update and Apply write.
	Value string
}

// Result is how a request ended.
type Result string

// Unknown is no response, or one that leaves open whether the request was done. With each other error it was not done.
const (
	OK      Result = "ok"
	Unknown Result = "unknown"
	// Exists: there is an object of this name. Reserved: another object has the reserved name. Unconfirmed: the deletion is not
	// confirmed. Conflict: a precondition does not hold.
	Exists      Result = "exists"
	Reserved    Result = "reserved"
	Unconfirmed Result = "unconfirmed"
	Conflict    Result = "conflict"
	NotFound    Result = "not found"
)

// Response is the result of a request and, of one that succeeded, the object after it.
type Response struct {
	Result Result
	Object Object
}

// Object is what can be observed of an object; the zero Object does not exist. A UID or Version that no response has had yet is "".
type Object struct {
	Exists              bool
	UID, Version, Value string
	Confirmed, Deleting bool
}

// MaxObjects is how many objects compete for a name at most.
const MaxObjects = 3

// State has all objects that compete for a name. At most one of them exists.
type State [MaxObjects]Object

// Model returns the sequential specification.
func Model() porcupine.Model {
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{State{}} },
		Step: func(state, input, output any) []any {
			var next []any
			for _, s := range step(state.(State), input.(Request), output.(Response)) {
				next = append(next, s)
			}
			return next
		},
		DescribeOperation: func(input, output any) string { return describe(input.(Request), output.(Response)) },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return model.ToModel()
}

// step returns the states that may follow a request with this response; none: it cannot have had this response.
func step(before State, request Request, response Response) []State {
	have := before[request.Object]
	after, result := handle(before, request)
	switch {
	case response.Result == Unknown && result != OK:
		return []State{before}
	case response.Result == Unknown:
		after.Version = "" // even where nothing else changed: it may have changed what is not observed, such as a condition
		return []State{before, before.with(request.Object, after)}
	case response.Result == Conflict && have.Exists && mayConflict(have, request):
		return []State{before}
	case request.Verb == Finish && !have.Exists && response == Response{Result: OK}:
		// Of several requests that remove the last finalizer, all succeed, as Kubernetes' registry has it.
		return []State{before}
	case response.Result != result:
		return nil
	case result != OK:
		return []State{before}
	}
	if !after.isObservedAs(response.Object) || !versionsAgree(have, after, response.Object) ||
		request.Verb == Get && have.Version != "" && have != response.Object {
		return nil
	}
	return []State{before.with(request.Object, response.Object)}
}

// with returns the state with another object.
func (s State) with(index int, object Object) State {
	s[index] = object
	return s
}

// handle returns what one server does: the object after a request that succeeds. Its version is that before the request.
func handle(state State, request Request) (Object, Result) {
	have := state[request.Object]
	after := have
	switch request.Verb {
	case Create, Apply:
		if !have.Exists {
			if state.reserved() {
				return Object{}, Reserved
			}
			return Object{Exists: true, Value: request.Value}, OK
		}
		if request.Verb == Create {
			return Object{}, Exists
		}
		after.Value = request.Value
		return after, OK
	}
	switch {
	case !have.Exists:
		return Object{}, NotFound
	case request.UID != "" && have.UID != "" && request.UID != have.UID,
		request.Version != "" && have.Version != "" && request.Version != have.Version:
		return Object{}, Conflict
	}
	switch request.Verb {
	case Update:
		after.Value = request.Value
	case Confirm:
		after.Confirmed = true
	case Revoke:
		after.Confirmed = false
	case Delete:
		if !have.Confirmed && !have.Deleting {
			return Object{}, Unconfirmed
		}
		after.Deleting = true
	case Finish:
		if have.Deleting {
			after = Object{}
		}
	}
	return after, OK
}

// reserved reports whether an object has the name.
func (s State) reserved() bool {
	for _, object := range s {
		if object.Exists {
			return true
		}
	}
	return false
}

// mayConflict reports whether a request fails for a precondition that cannot be judged: the uid or version is not known.
func mayConflict(have Object, request Request) bool {
	return request.UID != "" && have.UID == "" || request.Version != "" && have.Version == ""
}

// isObservedAs reports whether an object can be the one that a response has, its version left out.
func (o Object) isObservedAs(seen Object) bool {
	if o.UID == "" {
		o.UID = seen.UID
	}
	o.Version = seen.Version
	return o == seen
}

// versionsAgree reports whether the version of a response can be that of an object after a request. One that changes something gives
// it another version. One that changes nothing here may change what is not observed, such as a condition.
func versionsAgree(before, after, seen Object) bool {
	return !after.Exists || before.Version == "" || after == before || seen.Version != before.Version
}

func describe(request Request, response Response) string {
	text := fmt.Sprintf("%s %d", request.Verb, request.Object)
	for _, part := range []struct{ name, value string }{{"uid", request.UID}, {"version", request.Version}, {"value", request.Value}} {
		if part.value != "" {
			text += fmt.Sprintf(" %s=%s", part.name, part.value)
		}
	}
	text += ": " + string(response.Result)
	if response.Result == OK && response.Object.Exists {
		text += fmt.Sprintf(" %+v", response.Object)
	}
	return text
}
