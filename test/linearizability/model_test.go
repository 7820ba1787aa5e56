// SPDX-FileCopyrightText: The Groundskeeper authors
// SPDX-License-Identifier: Apache-2.0

package linearizability

import (
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// call returns a request from one time to another, 0: without a response.
func call(from, to int64, request Request, response Response) porcupine.Operation {
	if to == 0 {
		to = math.MaxInt64
	}
	return porcupine.Operation{Call: from, Return: to, Input: request, Output: response}
}

func object(uid, version, value string) Object {
	return Object{Exists: true, UID: uid, Version: version, Value: value}
}

func confirmed(o Object) Object { o.Confirmed = true; return o }
func deleting(o Object) Object  { o.Deleting = true; return o }

var (
	unknown  = Response{Result: Unknown}
	notFound = Response{Result: NotFound}
)

func ok(o Object) Response { return Response{OK, o} }

// Responses that a correct server cannot give are found, and those that it can give are accepted.
func TestModel(t *testing.T) {
	a := object("u1", "1", "a")
	created := call(1, 2, Request{Verb: Create, Value: "a"}, ok(a))
	for name, test := range map[string]struct {
		calls []porcupine.Operation
		legal bool
	}{
		"created and read":                         {[]porcupine.Operation{created, call(3, 4, Request{Verb: Get}, ok(a))}, true},
		"read before it is created":                {[]porcupine.Operation{created, call(1, 2, Request{Verb: Get}, notFound)}, true},
		"not found after it was created":           {[]porcupine.Operation{created, call(3, 4, Request{Verb: Get}, notFound)}, false},
		"created twice":                            {[]porcupine.Operation{created, call(3, 4, Request{Verb: Create, Value: "b"}, ok(object("u2", "2", "b")))}, false},
		"exists":                                   {[]porcupine.Operation{created, call(3, 4, Request{Verb: Create}, Response{Result: Exists})}, true},
		"reserved":                                 {[]porcupine.Operation{created, call(3, 4, Request{Verb: Create, Object: 1}, Response{Result: Reserved})}, true},
		"reserved, and no object has the name":     {[]porcupine.Operation{call(3, 4, Request{Verb: Create, Object: 1}, Response{Result: Reserved})}, false},
		"two have the name":                        {[]porcupine.Operation{created, call(1, 4, Request{Verb: Apply, Object: 1, Value: "b"}, ok(object("u2", "2", "b")))}, false},
		"applied":                                  {[]porcupine.Operation{created, call(3, 4, Request{Verb: Apply, Value: "b"}, ok(object("u1", "2", "b")))}, true},
		"applied without a change":                 {[]porcupine.Operation{created, call(3, 4, Request{Verb: Apply, Value: "a"}, ok(a))}, true},
		"read in a version that was not written":   {[]porcupine.Operation{created, call(3, 4, Request{Verb: Get}, ok(object("u1", "2", "a")))}, false},
		"changed without another version":          {[]porcupine.Operation{created, call(3, 4, Request{Verb: Apply, Value: "b"}, ok(object("u1", "1", "b")))}, false},
		"updated":                                  {[]porcupine.Operation{created, call(3, 4, Request{Verb: Update, Version: "1", Value: "b"}, ok(object("u1", "2", "b")))}, true},
		"updated what is older":                    {[]porcupine.Operation{created, call(3, 4, Request{Verb: Update, Version: "0", Value: "b"}, ok(object("u1", "2", "b")))}, false},
		"update of what is older":                  {[]porcupine.Operation{created, call(3, 4, Request{Verb: Update, Version: "0", Value: "b"}, Response{Result: Conflict})}, true},
		"conflict with nothing":                    {[]porcupine.Operation{created, call(3, 4, Request{Verb: Update, Version: "1", Value: "b"}, Response{Result: Conflict})}, false},
		"deleted without confirmation":             {[]porcupine.Operation{created, call(3, 4, Request{Verb: Delete}, ok(deleting(object("u1", "2", "a"))))}, false},
		"not confirmed":                            {[]porcupine.Operation{created, call(3, 4, Request{Verb: Delete}, Response{Result: Unconfirmed})}, true},
		"another is deleted":                       {[]porcupine.Operation{created, call(3, 4, Request{Verb: Delete, UID: "u0"}, ok(deleting(object("u1", "2", "a"))))}, false},
		"lost, and done":                           {[]porcupine.Operation{call(1, 0, Request{Verb: Create, Value: "a"}, unknown), call(3, 4, Request{Verb: Get}, ok(a))}, true},
		"lost, and not done":                       {[]porcupine.Operation{call(1, 0, Request{Verb: Create, Value: "a"}, unknown), call(3, 4, Request{Verb: Get}, notFound)}, true},
		"lost, and done late":                      {[]porcupine.Operation{call(1, 0, Request{Verb: Create, Value: "a"}, unknown), call(3, 4, Request{Verb: Get}, notFound), call(5, 6, Request{Verb: Get}, ok(a))}, true},
		"lost, and done before it began":           {[]porcupine.Operation{call(5, 0, Request{Verb: Create, Value: "a"}, unknown), call(3, 4, Request{Verb: Get}, ok(a))}, false},
		"lost, done and then not found":            {[]porcupine.Operation{call(1, 0, Request{Verb: Create, Value: "a"}, unknown), call(3, 4, Request{Verb: Get}, ok(a)), call(5, 6, Request{Verb: Get}, notFound)}, false},
		"lost update, and then one of the version": {[]porcupine.Operation{created, call(3, 0, Request{Verb: Update, Version: "1", Value: "b"}, unknown), call(5, 6, Request{Verb: Update, Version: "1", Value: "c"}, Response{Result: Conflict})}, true},
		"lost, and what is not observed changed":   {[]porcupine.Operation{created, call(3, 0, Request{Verb: Apply, Value: "a"}, unknown), call(5, 6, Request{Verb: Get}, ok(object("u1", "2", "a")))}, true},
		"confirmed, deleted, finished, another": {[]porcupine.Operation{
			created, call(3, 4, Request{Verb: Confirm}, ok(confirmed(object("u1", "2", "a")))),
			call(5, 6, Request{Verb: Delete, UID: "u1"}, ok(deleting(confirmed(object("u1", "3", "a"))))),
			call(7, 8, Request{Verb: Finish, UID: "u1"}, ok(Object{})), call(9, 10, Request{Verb: Create, Object: 1, Value: "b"}, ok(object("u2", "5", "b"))),
		}, true},
		"finished twice at the same time": {[]porcupine.Operation{
			created, call(3, 4, Request{Verb: Confirm}, ok(confirmed(object("u1", "2", "a")))), call(5, 6, Request{Verb: Delete}, ok(deleting(confirmed(object("u1", "3", "a"))))),
			call(7, 9, Request{Verb: Finish}, ok(Object{})), call(8, 10, Request{Verb: Finish}, ok(Object{})),
		}, true},
		"revoked, and deleted": {[]porcupine.Operation{
			created, call(3, 4, Request{Verb: Confirm}, ok(confirmed(object("u1", "2", "a")))), call(5, 6, Request{Verb: Revoke}, ok(object("u1", "3", "a"))),
			call(7, 8, Request{Verb: Delete}, ok(deleting(confirmed(object("u1", "4", "a"))))),
		}, false},
		"the name is free too early": {[]porcupine.Operation{
			created, call(3, 4, Request{Verb: Confirm}, ok(confirmed(object("u1", "2", "a")))),
			call(5, 6, Request{Verb: Delete}, ok(deleting(confirmed(object("u1", "3", "a"))))),
			call(7, 8, Request{Verb: Create, Object: 1, Value: "b"}, ok(object("u2", "4", "b"))),
		}, false},
	} {
		if legal := porcupine.CheckOperations(Model(), test.calls); legal != test.legal {
			t.Errorf("%s: legal %t, want %t", name, legal, test.legal)
		}
	}
}

// server handles requests one after the other, as the model does, and can be made to break it.
type server struct {
	mu       sync.Mutex
	state    State
	versions int
	// stale lets every read come from before the last write.
	stale bool
	past  State
}

func (s *server) do(request Request) Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	after, result := handle(s.state, request)
	if result != OK {
		return Response{Result: result}
	}
	if request.Verb == Get {
		if s.stale && s.past[request.Object].Exists {
			return ok(s.past[request.Object])
		}
		return ok(after)
	}
	if after != s.state[request.Object] {
		s.past = s.state
		s.versions++
		if after.Exists {
			after.Version = string(rune('A' + s.versions))
		}
		if after.Exists && after.UID == "" {
			after.UID = "uid of " + after.Version
		}
		s.state[request.Object] = after
	}
	return ok(after)
}

// drive lets clients make random requests.
func drive(s *server, requests int) *History {
	history := NewHistory()
	var clients sync.WaitGroup
	for client := range 3 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(client)))
			verbs := []Verb{Create, Apply, Confirm, Revoke, Delete, Finish, Get}
			for i := range requests {
				request := Request{Verb: verbs[random.IntN(len(verbs))], Object: random.IntN(MaxObjects), Value: string(rune('a' + i))}
				history.Do(client, request, s.do)
			}
		})
	}
	clients.Wait()
	return history
}

// A history of random requests to a correct server passes, also with lost responses; one with old reads does not, and what is
// reported is small.
func TestHistory(t *testing.T) {
	if err := drive(&server{}, 100).Check(time.Minute); err != nil {
		t.Error(err)
	}
	s := &server{}
	history := NewHistory()
	for i := range 200 {
		request := Request{Verb: []Verb{Create, Confirm, Get, Delete, Finish, Get}[i%6], Object: i / 6 % 2, Value: string(rune('a' + i%26))}
		history.Do(0, request, func(request Request) Response {
			response := s.do(request)
			if i%41 == 7 {
				return unknown
			}
			return response
		})
	}
	if err := history.Check(time.Minute); err != nil {
		t.Error(err)
	}
	err := drive(&server{stale: true}, 100).Check(time.Minute)
	if err == nil {
		t.Fatal("old reads were accepted")
	}
	if lines := strings.Count(err.Error(), "\n"); lines > 40 {
		t.Errorf("%d requests are reported, want few:%v", lines, err)
	}
}
